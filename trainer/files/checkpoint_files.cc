#include "trainer/files/checkpoint_files.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "trainer/files/checkpoint_parts.h"
#include "trainer/files/file_io.h"
#include "trainer/files/safetensors.h"

namespace goss::trainer {

namespace {

constexpr const char* kFormat = "gossamer-optim";
constexpr const char* kVersion = "3";
constexpr std::size_t kMaxRanks = std::size_t{1} << 20;

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw IncompatibleCheckpoint(fmt::format(text, std::forward<Args>(args)...));
}

std::string modelPath(const std::string& path) { return path + "/model.safetensors"; }
std::string momentsPath(const std::string& path) { return path + "/optim.safetensors"; }
std::string configPath(const std::string& path) { return path + "/config.json"; }
std::string checksumsPath(const std::string& path) { return path + "/checksums.json"; }
std::string replicaPath(const std::string& path, std::size_t replica) {
  return fmt::format("{}/replica-{:04}.safetensors", path, replica);
}

nlohmann::ordered_json llamaConfig(const ModelConfig& c) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"num_hidden_layers", c.layers},
          {"hidden_size", c.channels},
          {"intermediate_size", c.mlpWidth()},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", c.heads},
          {"max_position_embeddings", c.context},
          {"vocab_size", c.vocab},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"attention_dropout", 0.0},
          {"tie_word_embeddings", true},
          {"torch_dtype", "float32"}};
}

std::vector<float> readTensors(const SafetensorsFile& file, const ParameterTable& table, const std::string& prefix) {
  std::vector<float> values(table.count());
  for (const Parameter& parameter : table.parameters()) {
    file.read(prefix + parameter.name, parameter.shape, values.data() + parameter.offset);
  }
  return values;
}

/// Refuses a model of another shape by its number of tensors, before single tensors are read.
void checkNames(const SafetensorsFile& file, std::size_t expected) {
  if (file.names().size() != expected) {
    refuse("{} has {} tensors, but this model has {}: it is a checkpoint of another model", file.path(),
           file.names().size(), expected);
  }
}

struct ConfigSize {
  const char* gpt2_key;
  const char* llama_key;
  const char* flag;
  std::size_t ModelConfig::*value;
  [[nodiscard]] const char* keyOf(const ModelConfig& config) const { return config.isLlama() ? llama_key : gpt2_key; }
};
constexpr ConfigSize kConfigSizes[] = {{"n_layer", "num_hidden_layers", "--layers", &ModelConfig::layers},
                                       {"n_embd", "hidden_size", "--channels", &ModelConfig::channels},
                                       {"n_head", "num_attention_heads", "--heads", &ModelConfig::heads},
                                       {"n_positions", "max_position_embeddings", "--context", &ModelConfig::context},
                                       {"vocab_size", "vocab_size", "--vocab", &ModelConfig::vocab}};

std::string metadataValue(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) refuse("{} has no metadata '{}'; goss-train did not write it", file.path(), key);
  return found->second;
}

std::size_t parseNumber(const std::string& text, const std::string& path) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{} is damaged: '{}' in its metadata is no number", path, text);
  return value;
}

std::string checksumOf(const std::string& path) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
  const InputFile file(path);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> hash(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(hash.get());
  std::vector<char> block(std::min(file.size(), kBlockBytes));
  for (std::size_t done = 0; done < file.size(); done += block.size()) {
    const std::size_t bytes = std::min(block.size(), file.size() - done);
    file.read(done, block.data(), bytes);
    XXH3_64bits_update(hash.get(), block.data(), bytes);
  }
  return fmt::format("{:016x}", XXH3_64bits_digest(hash.get()));
}

/// Verifies every file that was written, before any content is used.
void verifyChecksums(const std::string& path) {
  const nlohmann::json checksums = nlohmann::json::parse(readText(checksumsPath(path)), nullptr, false);
  if (!checksums.is_object() || checksums.empty()) fail("{} is damaged: it is not JSON", checksumsPath(path));
  for (const auto& [name, expected] : checksums.items()) {
    const std::string file = fmt::format("{}/{}", path, name);
    if (name.find('/') != std::string::npos || expected != checksumOf(file))
      fail("{} is damaged: its checksum is not the one in checksums.json", file);
  }
}

/// The caller has set the size of replica.ranks.
void readReplica(const std::string& path, const ParameterTable& table, ReplicaState& replica, bool is_first) {
  const SafetensorsFile file(path);
  checkNames(file, (is_first ? 0 : 3 * table.parameters().size()) + 2 * replica.ranks.size());
  if (!is_first) {
    replica.parameters = readTensors(file, table, "model/");
    replica.first_moments = readTensors(file, table, "exp_avg/");
    replica.second_moments = readTensors(file, table, "exp_avg_sq/");
  }
  for (std::size_t i = 0; i < replica.ranks.size(); ++i) {
    replica.ranks[i].sync = file.readBytes(fmt::format("sync/{}", i));
    replica.ranks[i].activations = file.readBytes(fmt::format("activations/{}", i));
  }
}

} // namespace

std::string configText(const ModelConfig& c) {
  if (c.isLlama()) return llamaConfig(c).dump(2) + "\n";
  const nlohmann::ordered_json config = {{"architectures", {"GPT2LMHeadModel"}},
                                         {"model_type", "gpt2"},
                                         {"activation_function", "gelu_new"},
                                         {"layer_norm_epsilon", 1e-5},
                                         {"n_layer", c.layers},
                                         {"n_embd", c.channels},
                                         {"n_head", c.heads},
                                         {"n_positions", c.context},
                                         {"n_ctx", c.context},
                                         {"n_inner", 4 * c.channels},
                                         {"vocab_size", c.vocab},
                                         {"attn_pdrop", 0.0},
                                         {"embd_pdrop", 0.0},
                                         {"resid_pdrop", 0.0},
                                         {"tie_word_embeddings", true},
                                         {"torch_dtype", "float32"}};
  return config.dump(2) + "\n";
}

// The number of heads shows in no tensor's shape, and for every other size this error names the flag.
void checkConfig(const std::string& path, const ModelConfig& expected) {
  const ModelConfig found = readModelConfig(path);
  if (found.arch != expected.arch) {
    refuse("{} is of another model: it is {}, so give --arch {}", configPath(path), found.isLlama() ? "llama" : "gpt2",
           found.isLlama() ? "llama" : "gpt2");
  }
  for (const ConfigSize& size : kConfigSizes) {
    if (found.*size.value != expected.*size.value) {
      refuse("{} is of another model: its {} is {}, but {} is {}", configPath(path), size.keyOf(found),
             found.*size.value, size.flag, expected.*size.value);
    }
  }
}

ModelConfig readModelConfig(const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(readText(configPath(path)), nullptr, false);
  if (!json.is_object()) fail("{} is damaged: it is not JSON", configPath(path));
  const std::string type = json.value("model_type", nlohmann::json()).dump();
  if (type != "\"gpt2\"" && type != "\"llama\"")
    fail("{}: its model_type is {}; there are gpt2 and llama", configPath(path), type);
  ModelConfig config;
  if (type == "\"llama\"") config.arch = Architecture::llama;
  for (const ConfigSize& size : kConfigSizes) {
    const auto found = json.find(size.keyOf(config));
    if (found == json.end() || !found->is_number_unsigned())
      fail("{} is damaged: it has no number {}", configPath(path), size.keyOf(config));
    config.*size.value = found->get<std::size_t>();
  }
  return config;
}

bool isVersion3(const std::string& path) { return std::filesystem::exists(checksumsPath(path)); }

TrainingState readVersion3(const std::string& path, const ModelConfig& config, const ParameterTable& table) {
  verifyChecksums(path);
  checkConfig(path, config);
  const SafetensorsFile model(modelPath(path));
  const SafetensorsFile moments(momentsPath(path));
  if (metadataValue(moments, "format") != kFormat || metadataValue(moments, "version") != kVersion)
    refuse("{} is of another format or version than {} {}", moments.path(), kFormat, kVersion);
  checkNames(model, table.parameters().size());
  checkNames(moments, 2 * table.parameters().size());
  TrainingState state;
  state.step = parseNumber(metadataValue(moments, "step"), moments.path());
  state.settings = metadataValue(moments, "settings");
  state.sync = metadataValue(moments, "sync");
  state.parameters = readTensors(model, table, "");
  state.first_moments = readTensors(moments, table, "exp_avg/");
  state.second_moments = readTensors(moments, table, "exp_avg_sq/");
  state.grid = metadataValue(moments, "grid");
  const std::size_t replicas = parseNumber(metadataValue(moments, "replicas"), moments.path());
  const std::size_t ranks = parseNumber(metadataValue(moments, "ranks_of_a_replica"), moments.path());
  if (ranks > kMaxRanks) fail("{} is damaged: {} ranks cannot hold one model", moments.path(), ranks);
  for (std::size_t i = 0; i < replicas; ++i) {
    ReplicaState& replica = i == 0 ? state : state.others.emplace_back();
    replica.ranks.resize(ranks);
    readReplica(replicaPath(path, i), table, replica, i == 0);
  }
  return state;
}

std::vector<float> readParameters(const std::string& path, const ModelConfig& config, const ParameterTable& table) {
  if (isVersion3(path)) return readVersion3(path, config, table).parameters;
  const CheckpointIndex index = readIndex(path);
  checkConfig(path, config);
  return readCopy(path, index, 0, table, {kModelPiece}).parameters;
}

} // namespace goss::trainer

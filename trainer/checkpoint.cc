#include "trainer/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "trainer/error.h"
#include "trainer/file_io.h"
#include "trainer/safetensors.h"

namespace goss::trainer {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "gossamer-optim";
constexpr const char* kVersion = "1";
constexpr const char* kPrefix = "step-";
constexpr const char* kTemporary = ".writing";
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxSyncBytes = std::size_t{1} << 40;

std::string rankPath(const std::string& path, std::size_t rank) {
  return fmt::format("{}/rank-{:04}.safetensors", path, rank);
}

std::string syncPath(const std::string& path, std::size_t rank) {
  return fmt::format("{}/rank-{:04}.sync", path, rank);
}

std::string huggingFaceConfig(const ModelConfig& c) {
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

void appendEntries(std::vector<SafetensorsEntry>& entries, const ParameterTable& table, const std::string& prefix,
                   const std::vector<float>& values) {
  for (const Parameter& parameter : table.parameters()) {
    entries.push_back({prefix + parameter.name, parameter.shape, values.data() + parameter.offset});
  }
}

std::vector<float> readTensors(const SafetensorsFile& file, const ParameterTable& table, const std::string& prefix) {
  std::vector<float> values(table.count());
  for (const Parameter& parameter : table.parameters()) {
    file.read(prefix + parameter.name, parameter.shape, values.data() + parameter.offset);
  }
  return values;
}

/// A model of another shape is named as such before single tensors are looked at.
void checkNames(const SafetensorsFile& file, std::size_t expected) {
  if (file.names().size() != expected) {
    fail("{} has {} tensors, but this model has {}: it is a checkpoint of another model", file.path(),
         file.names().size(), expected);
  }
}

std::string readText(const std::string& path, std::size_t most) {
  const InputFile file(path);
  std::string text(std::min(file.size(), most), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

void writeText(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

/// The number of heads shows in no tensor's shape, and every other size is named best by its flag.
void checkConfig(const std::string& path, const ModelConfig& c) {
  const nlohmann::json json = nlohmann::json::parse(readText(path, kMaxConfigBytes), nullptr, false);
  if (!json.is_object()) fail("{} is damaged: it is not JSON", path);
  struct Size {
    const char* key;
    const char* flag;
    std::size_t value;
  };
  const Size sizes[] = {{"n_layer", "--layers", c.layers},
                        {"n_embd", "--channels", c.channels},
                        {"n_head", "--heads", c.heads},
                        {"n_positions", "--context", c.context},
                        {"vocab_size", "--vocab", c.vocab}};
  for (const Size& size : sizes) {
    const auto found = json.find(size.key);
    if (found == json.end() || !found->is_number_unsigned()) fail("{} is damaged: it has no number {}", path, size.key);
    if (const auto value = found->get<std::size_t>(); value != size.value) {
      fail("{} is of another model: its {} is {}, but {} is {}", path, size.key, value, size.flag, size.value);
    }
  }
}

std::string metadataValue(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) fail("{} has no metadata '{}'; goss-train did not write it", file.path(), key);
  return found->second;
}

std::size_t parseNumber(const std::string& text, const std::string& path) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{} says step '{}', which is no number", path, text);
  return value;
}

} // namespace

CheckpointStore::CheckpointStore(std::string directory, std::size_t keep)
    : directory_(std::move(directory)), keep_(keep) {}

void CheckpointStore::prepare() const {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error) fail("cannot create the checkpoint directory {}: {}", directory_, error.message());
  const std::string probe = directory_ + "/.probe";
  OutputFile(probe).commit();
  fs::remove(probe, error);
}

void CheckpointStore::save(const ModelConfig& config, const ParameterTable& table, const TrainingState& state) const {
  const std::string temporary = directory_ + "/" + kTemporary;
  std::error_code ignored;
  try {
    fs::remove_all(temporary); // what a crash may have left
    fs::create_directory(temporary);
    writeFiles(temporary, config, table, state);
    syncDirectory(temporary);
    const std::string name = freshName(state.step);
    fs::rename(temporary, directory_ + "/" + name);
    syncDirectory(directory_);
    replaceFile(directory_ + "/latest", name + "\n");
    syncDirectory(directory_);
    removeOld(name);
  } catch (const std::exception& error) { // Error, or filesystem_error, which names the path and the reason as well
    fs::remove_all(temporary, ignored);
    fail("the checkpoint of step {} was not written: {}; earlier checkpoints are untouched", state.step, error.what());
  }
}

void CheckpointStore::writeFiles(const std::string& path, const ModelConfig& config, const ParameterTable& table,
                                 const TrainingState& state) const {
  std::vector<SafetensorsEntry> model;
  appendEntries(model, table, "", state.parameters);
  writeSafetensors(path + "/model.safetensors", std::move(model), {{"format", "pt"}});
  std::vector<SafetensorsEntry> moments;
  appendEntries(moments, table, "exp_avg/", state.first_moments);
  appendEntries(moments, table, "exp_avg_sq/", state.second_moments);
  const bool differ = !state.sync_state.empty();
  writeSafetensors(path + "/optim.safetensors", std::move(moments),
                   {{"format", kFormat},
                    {"version", kVersion},
                    {"step", fmt::to_string(state.step)},
                    {"settings", state.settings},
                    {"sync", state.sync},
                    {"ranks", fmt::to_string(differ ? state.others.size() + 1 : 0)}});
  if (differ) writeReplicas(path, table, state);
  writeText(path + "/config.json", huggingFaceConfig(config));
}

void CheckpointStore::writeReplicas(const std::string& path, const ParameterTable& table,
                                    const TrainingState& state) const {
  writeText(syncPath(path, 0), state.sync_state);
  for (std::size_t i = 0; i < state.others.size(); ++i) {
    const ReplicaState& replica = state.others[i];
    std::vector<SafetensorsEntry> entries;
    appendEntries(entries, table, "model/", replica.parameters);
    appendEntries(entries, table, "exp_avg/", replica.first_moments);
    appendEntries(entries, table, "exp_avg_sq/", replica.second_moments);
    writeSafetensors(rankPath(path, i + 1), std::move(entries), {{"format", kFormat}, {"version", kVersion}});
    writeText(syncPath(path, i + 1), replica.sync_state);
  }
}

void CheckpointStore::readReplicas(const std::string& path, const ParameterTable& table, std::size_t ranks,
                                   TrainingState& state) const {
  state.sync_state = readText(syncPath(path, 0), kMaxSyncBytes);
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    const SafetensorsFile file(rankPath(path, rank));
    checkNames(file, 3 * table.parameters().size());
    file.verifyChecksum();
    state.others.push_back({readTensors(file, table, "model/"), readTensors(file, table, "exp_avg/"),
                            readTensors(file, table, "exp_avg_sq/"), readText(syncPath(path, rank), kMaxSyncBytes)});
  }
}

/// A run that went back to an earlier checkpoint meets names that exist; they are never overwritten, since `latest` may
/// point there.
std::string CheckpointStore::freshName(std::size_t step) const {
  const std::string base = fmt::format("{}{:08}", kPrefix, step);
  std::string name = base;
  for (int n = 1; fs::exists(directory_ + "/" + name); ++n)
    name = fmt::format("{}.{}", base, n);
  return name;
}

std::optional<std::string> CheckpointStore::latestName() const {
  const std::string path = directory_ + "/latest";
  if (!fs::exists(path)) return std::nullopt;
  std::string name = readText(path, kMaxNameBytes);
  while (!name.empty() && name.back() == '\n')
    name.pop_back();
  if (!name.starts_with(kPrefix) || name.find('/') != std::string::npos || !fs::is_directory(directory_ + "/" + name)) {
    fail("{} names '{}', which is no checkpoint in that directory; write the name of one of its step-* folders into it",
         path, name);
  }
  return name;
}

std::optional<TrainingState> CheckpointStore::loadLatest(const ModelConfig& config, const ParameterTable& table) const {
  const std::optional<std::string> name = latestName();
  if (!name) return std::nullopt;
  const std::string path = directory_ + "/" + *name;
  checkConfig(path + "/config.json", config);
  const SafetensorsFile model(path + "/model.safetensors");
  const SafetensorsFile moments(path + "/optim.safetensors");
  if (metadataValue(moments, "format") != kFormat || metadataValue(moments, "version") != kVersion) {
    fail("{} is of another format or version than {} {}", moments.path(), kFormat, kVersion);
  }
  checkNames(model, table.parameters().size());
  checkNames(moments, 2 * table.parameters().size());
  model.verifyChecksum();
  moments.verifyChecksum();
  TrainingState state;
  state.step = parseNumber(metadataValue(moments, "step"), moments.path());
  state.settings = metadataValue(moments, "settings");
  state.parameters = readTensors(model, table, "");
  state.first_moments = readTensors(moments, table, "exp_avg/");
  state.second_moments = readTensors(moments, table, "exp_avg_sq/");
  if (moments.metadata().contains("sync")) { // of a version that knows of it
    state.sync = metadataValue(moments, "sync");
    const std::size_t ranks = parseNumber(metadataValue(moments, "ranks"), moments.path());
    if (ranks > 0) readReplicas(path, table, ranks, state);
  }
  return state;
}

/// Oldest first by name, which is by step; the latest stays whatever its name.
void CheckpointStore::removeOld(const std::string& latest) const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_)) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with(kPrefix) && name != latest) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  for (std::size_t i = 0; i + keep_ <= names.size(); ++i)
    fs::remove_all(directory_ + "/" + names[i]);
}

} // namespace goss::trainer

#include "trainer/files/pretrained.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/files/file_io.h"
#include "trainer/files/safetensors.h"

namespace goss::trainer {

namespace {

using Json = nlohmann::json;

constexpr const char* kPrefix = "transformer.";

/// A key whose value decides what a model computes: `wanted` is what this trainer does, `usual` what a file without the
/// key means.
struct Condition {
  const char* key;
  Json wanted;
  Json usual;
};

std::vector<Condition> conditionsOf(const ModelConfig& c) {
  if (c.isLlama()) {
    return {{"hidden_act", "silu", "silu"},
            {"rms_norm_eps", 1e-5, 1e-6},
            {"rope_theta", 10000.0, 10000.0},
            {"rope_scaling", nullptr, nullptr},
            {"head_dim", c.channels / c.heads, c.channels / c.heads},
            {"num_key_value_heads", c.heads, c.heads},
            {"intermediate_size", c.mlpWidth(), 11008},
            {"attention_bias", false, false},
            {"mlp_bias", false, false},
            {"tie_word_embeddings", true, false}};
  }
  return {{"activation_function", "gelu_new", "gelu_new"},
          {"layer_norm_epsilon", 1e-5, 1e-5},
          {"scale_attn_weights", true, true},
          {"scale_attn_by_inverse_layer_idx", false, false},
          {"add_cross_attention", false, false},
          {"tie_word_embeddings", true, true}};
}

std::string configPath(const std::string& folder) { return folder + "/config.json"; }

void require(const std::string& folder, const Condition& condition, const Json& found) {
  if (found == condition.wanted) return;
  fail("{}: {} is {}, but goss-train computes models with {}", configPath(folder), condition.key, found.dump(),
       condition.wanted.dump());
}

Json readConfig(const std::string& folder) {
  const InputFile file(configPath(folder));
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return Json::parse(text, nullptr, false);
}

/// The tensors of a file by the names of a ParameterTable, of those that it may have.
std::map<std::string, std::string> namesIn(const SafetensorsFile& file) {
  std::map<std::string, std::string> names;
  for (const std::string& name : file.names())
    names[name.starts_with(kPrefix) ? name.substr(std::string(kPrefix).size()) : name] = name;
  return names;
}

/// A constant that older files have among the weights: a mask or the frequencies of rotary positions.
bool isConstant(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || name.ends_with(".rotary_emb.inv_freq");
}

void checkNoOthers(const SafetensorsFile& file, const ParameterTable& table,
                   const std::map<std::string, std::string>& names) {
  std::set<std::string> known = {"lm_head.weight"};
  for (const Parameter& parameter : table.parameters())
    known.insert(parameter.name);
  for (const auto& [name, in_file] : names) {
    if (!known.contains(name) && !isConstant(name))
      fail("{} has the tensor {}, which is no part of this model", file.path(), in_file);
  }
}

} // namespace

ModelConfig readPretrainedConfig(const std::string& folder) {
  const ModelConfig config = readModelConfig(folder);
  checkModelConfig(config);
  const Json json = readConfig(folder);
  for (const Condition& condition : conditionsOf(config))
    require(folder, condition, json.value(condition.key, condition.usual));
  if (!config.isLlama()) {
    const Json inner = json.value("n_inner", Json());
    if (!inner.is_null()) require(folder, {"n_inner", config.mlpWidth(), {}}, inner);
  } else if (const Json rope = json.value("rope_parameters", Json()); rope.is_object()) { // where newer files have it
    require(folder, {"rope_theta", 10000.0, {}}, rope.value("rope_theta", Json(10000.0)));
    require(folder, {"rope_type", "default", {}}, rope.value("rope_type", Json("default")));
  }
  return config;
}

std::vector<float> readPretrainedWeights(const std::string& folder, const ModelConfig& config,
                                         const ParameterTable& table) {
  const std::size_t positions = readPretrainedConfig(folder).context;
  const SafetensorsFile file(folder + "/model.safetensors");
  const std::map<std::string, std::string> names = namesIn(file);
  checkNoOthers(file, table, names);
  const auto read = [&](const std::string& name, const std::vector<std::size_t>& shape) {
    const auto found = names.find(name);
    return file.readAsFloats(found == names.end() ? name : found->second, shape);
  };
  std::vector<float> values(table.count());
  for (const Parameter& parameter : table.parameters()) {
    std::vector<std::size_t> shape = parameter.shape;
    if (!config.isLlama() && parameter.offset == table.wpe()) shape[0] = positions;
    const std::vector<float> tensor = read(parameter.name, shape);
    std::copy_n(tensor.begin(), parameter.count, values.begin() + static_cast<std::ptrdiff_t>(parameter.offset));
  }
  if (names.contains("lm_head.weight")) {
    const std::vector<float> head = read("lm_head.weight", {config.vocab, config.channels});
    if (!std::equal(head.begin(), head.end(), values.begin() + static_cast<std::ptrdiff_t>(table.wte())))
      fail("{}: lm_head.weight is not the embedding, which goss-train ties to it", file.path());
  }
  return values;
}

} // namespace goss::trainer

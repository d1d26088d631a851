#include "trainer/files/pretrained.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
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

Json readJson(const std::string& path) { return Json::parse(readText(path), nullptr, false); }

/// The files of weights in a folder, and where each tensor is.
class WeightFiles {
 public:
  /// Opens model.safetensors, or the shards that model.safetensors.index.json names.
  explicit WeightFiles(const std::string& folder) {
    const std::string one = folder + "/model.safetensors", index = one + ".index.json";
    std::set<std::string> paths = {one};
    if (!std::filesystem::exists(one) && std::filesystem::exists(index)) paths = shardsOf(folder, index);
    for (const std::string& path : paths) {
      const SafetensorsFile& file = files_.emplace_back(path);
      for (const std::string& name : file.names())
        sources_[name.starts_with(kPrefix) ? name.substr(std::string(kPrefix).size()) : name] = {&file, name};
    }
  }

  [[nodiscard]] bool has(const std::string& name) const { return sources_.contains(name); }
  /// A tensor by its name in a ParameterTable.
  [[nodiscard]] std::vector<float> read(const std::string& name, const std::vector<std::size_t>& shape) const {
    const auto found = sources_.find(name);
    return found == sources_.end() ? files_.front().readAsFloats(name, shape) // which fails with the file's name
                                   : found->second.file->readAsFloats(found->second.name, shape);
  }
  /// Throws unless all tensors are parts of the model, or may be skipped.
  void checkNoOthers(const ParameterTable& table) const;
  [[nodiscard]] const std::string& path() const { return files_.front().path(); }

 private:
  struct Source {
    const SafetensorsFile* file;
    std::string name;
  };
  static std::set<std::string> shardsOf(const std::string& folder, const std::string& index) {
    std::set<std::string> paths;
    const Json json = readJson(index);
    const Json map = json.is_object() ? json.value("weight_map", Json::object()) : Json::object();
    for (const auto& [tensor, file] : map.items()) {
      if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
        fail("{}: the file of {} is {}, which is no name", index, tensor, file.dump());
      paths.insert(fmt::format("{}/{}", folder, file.get<std::string>()));
    }
    if (paths.empty()) fail("{} is damaged: it has no weight_map", index);
    return paths;
  }

  std::deque<SafetensorsFile> files_; // which do not move
  std::map<std::string, Source> sources_;
};

/// A constant that older files have among the weights: a mask or the frequencies of rotary positions.
bool isConstant(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") || name.ends_with(".rotary_emb.inv_freq");
}

void WeightFiles::checkNoOthers(const ParameterTable& table) const {
  std::set<std::string> known = {"lm_head.weight"};
  for (const Parameter& parameter : table.parameters())
    known.insert(parameter.name);
  for (const auto& [name, source] : sources_) {
    if (!known.contains(name) && !isConstant(name))
      fail("{} has the tensor {}, which is no part of this model", source.file->path(), source.name);
  }
}

} // namespace

ModelConfig readPretrainedConfig(const std::string& folder) {
  const ModelConfig config = readModelConfig(folder);
  checkModelConfig(config);
  const Json json = readJson(configPath(folder));
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
  const WeightFiles files(folder);
  files.checkNoOthers(table);
  std::vector<float> values(table.count());
  for (const Parameter& parameter : table.parameters()) {
    std::vector<std::size_t> shape = parameter.shape;
    if (!config.isLlama() && parameter.offset == table.wpe()) shape[0] = positions;
    const std::vector<float> tensor = files.read(parameter.name, shape);
    std::copy_n(tensor.begin(), parameter.count, values.begin() + static_cast<std::ptrdiff_t>(parameter.offset));
  }
  if (files.has("lm_head.weight")) {
    const std::vector<float> head = files.read("lm_head.weight", {config.vocab, config.channels});
    if (!std::equal(head.begin(), head.end(), values.begin() + static_cast<std::ptrdiff_t>(table.wte())))
      fail("{}: lm_head.weight is not the embedding, which goss-train ties to it", files.path());
  }
  return values;
}

} // namespace goss::trainer

#include "trainer/model/parameter_table.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/base/random.h"

namespace goss::trainer {

namespace {

constexpr float kInitStd = 0.02f;
/// Far above any model this trainer can hold, and low enough that no product of sizes below overflows.
constexpr std::size_t kMaxLayers = 1000;
constexpr std::size_t kMaxSize = std::size_t{1} << 20;

void checkSize(const char* flag, std::size_t value, std::size_t most) {
  if (value == 0 || value > most) fail("{} must be between 1 and {}, not {}", flag, most, value);
}

/// The deviation with which projections into the residual stream begin.
float residualStd(const ModelConfig& config) { return kInitStd / std::sqrt(2.0f * static_cast<float>(config.layers)); }

} // namespace

void checkModelConfig(const ModelConfig& config) {
  checkSize("--layers", config.layers, kMaxLayers);
  checkSize("--channels", config.channels, kMaxSize);
  checkSize("--heads", config.heads, config.channels);
  checkSize("--context", config.context, kMaxSize);
  checkSize("--vocab", config.vocab, std::size_t{65536});
  if (config.channels % config.heads != 0) {
    fail("--heads {} must divide --channels {}", config.heads, config.channels);
  }
  if (config.isLlama() && config.channels / config.heads % 2 != 0) {
    fail("--arch llama turns pairs of channels: --channels {} / --heads {} must be even", config.channels,
         config.heads);
  }
}

ParameterTable::ParameterTable(const ModelConfig& config) {
  checkModelConfig(config);
  addEmbeddings(config);
  addPositions(config);
  for (std::size_t layer = 0; layer < config.layers; ++layer)
    addBlock(config, layer);
  addFinalNorm(config);
}

ParameterTable::ParameterTable(const ModelConfig& config, std::size_t first_layer, std::size_t last_layer,
                               bool has_embeddings, bool has_final_norm) {
  checkModelConfig(config);
  if (has_embeddings) addPositions(config);
  for (std::size_t layer = first_layer; layer < last_layer; ++layer)
    addBlock(config, layer);
  if (has_final_norm) addFinalNorm(config);
  if (has_embeddings) addEmbeddings(config);
}

void ParameterTable::addEmbeddings(const ModelConfig& config) {
  wte_ = add(config.isLlama() ? "model.embed_tokens.weight" : "wte.weight", {config.vocab, config.channels}, kInitStd);
}

void ParameterTable::addPositions(const ModelConfig& config) {
  if (!config.isLlama()) wpe_ = add("wpe.weight", {config.context, config.channels}, kInitStd);
}

void ParameterTable::addFinalNorm(const ModelConfig& config) {
  lnf_weight_ = add(config.isLlama() ? "model.norm.weight" : "ln_f.weight", {config.channels}, 0.0f, 1.0f);
  if (!config.isLlama()) add("ln_f.bias", {config.channels}, 0.0f); // a norm's bias follows its weight
}

std::size_t ParameterTable::add(std::string name, std::vector<std::size_t> shape, float init_std, float init_value) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.offset = count_;
  parameter.count = 1;
  for (const std::size_t extent : shape)
    parameter.count *= extent;
  parameter.shape = std::move(shape);
  parameter.layer = static_cast<int>(blocks_.size()); // blocks are appended when they are complete
  parameter.init_std = init_std;
  parameter.init_value = init_value;
  count_ += parameter.count;
  parameters_.push_back(std::move(parameter));
  return parameters_.back().offset;
}

void ParameterTable::addBlock(const ModelConfig& config, std::size_t layer) {
  const std::size_t first = parameters_.size();
  const BlockOffsets block = config.isLlama() ? addLlamaBlock(config, layer) : addGpt2Block(config, layer);
  for (std::size_t i = first; i < parameters_.size(); ++i)
    parameters_[i].is_in_block = true;
  blocks_.push_back(block);
}

BlockOffsets ParameterTable::addGpt2Block(const ModelConfig& config, std::size_t layer) {
  const std::size_t channels = config.channels;
  const auto name = [layer](const char* tensor) { return fmt::format("h.{}.{}", layer, tensor); };
  BlockOffsets block{};
  block.ln1_weight = add(name("ln_1.weight"), {channels}, 0.0f, 1.0f);
  block.ln1_bias = add(name("ln_1.bias"), {channels}, 0.0f);
  block.qkv_weight = add(name("attn.c_attn.weight"), {channels, 3 * channels}, kInitStd);
  block.qkv_bias = add(name("attn.c_attn.bias"), {3 * channels}, 0.0f);
  block.att_weight = add(name("attn.c_proj.weight"), {channels, channels}, residualStd(config));
  block.att_bias = add(name("attn.c_proj.bias"), {channels}, 0.0f);
  block.ln2_weight = add(name("ln_2.weight"), {channels}, 0.0f, 1.0f);
  block.ln2_bias = add(name("ln_2.bias"), {channels}, 0.0f);
  block.fc_weight = add(name("mlp.c_fc.weight"), {channels, 4 * channels}, kInitStd);
  block.fc_bias = add(name("mlp.c_fc.bias"), {4 * channels}, 0.0f);
  block.out_weight = add(name("mlp.c_proj.weight"), {4 * channels, channels}, residualStd(config));
  block.out_bias = add(name("mlp.c_proj.bias"), {channels}, 0.0f);
  return block;
}

BlockOffsets ParameterTable::addLlamaBlock(const ModelConfig& config, std::size_t layer) {
  const std::size_t channels = config.channels, width = config.mlpWidth();
  const auto name = [layer](const char* tensor) { return fmt::format("model.layers.{}.{}.weight", layer, tensor); };
  BlockOffsets block{};
  block.ln1_weight = add(name("input_layernorm"), {channels}, 0.0f, 1.0f);
  block.qkv_weight = add(name("self_attn.q_proj"), {channels, channels}, kInitStd);
  add(name("self_attn.k_proj"), {channels, channels}, kInitStd);
  add(name("self_attn.v_proj"), {channels, channels}, kInitStd);
  block.att_weight = add(name("self_attn.o_proj"), {channels, channels}, residualStd(config));
  block.ln2_weight = add(name("post_attention_layernorm"), {channels}, 0.0f, 1.0f);
  block.fc_weight = add(name("mlp.gate_proj"), {width, channels}, kInitStd);
  add(name("mlp.up_proj"), {width, channels}, kInitStd);
  block.out_weight = add(name("mlp.down_proj"), {channels, width}, residualStd(config));
  return block;
}

std::vector<float> ParameterTable::initialValues(std::uint64_t seed) const {
  std::vector<float> values(count_);
  for (std::size_t tensor = 0; tensor < parameters_.size(); ++tensor) {
    const Parameter& parameter = parameters_[tensor];
    for (std::size_t i = 0; i < parameter.count; ++i) {
      float value = parameter.init_value;
      if (parameter.init_std != 0.0f) {
        const std::uint64_t bits1 = randomBits(seed, RandomStream::parameters, tensor, 2 * i);
        const std::uint64_t bits2 = randomBits(seed, RandomStream::parameters, tensor, 2 * i + 1);
        value = parameter.init_std * static_cast<float>(randomNormal(bits1, bits2));
      }
      values[parameter.offset + i] = value;
    }
  }
  return values;
}

} // namespace goss::trainer

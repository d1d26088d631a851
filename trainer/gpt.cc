#include "trainer/gpt.h"

#include "trainer/error.h"

namespace goss::trainer {

Gpt::Gpt(const ModelConfig& config, std::size_t max_batch, Ops& ops)
    : config_(config),
      table_(config),
      max_batch_(max_batch),
      ops_(ops),
      parameters_(ops, table_.count()),
      tokens_(ops, max_batch * config.context),
      targets_(ops, max_batch * config.context),
      last_(ops, max_batch * config.context * config.channels),
      lnf_(ops, max_batch * config.context * config.channels),
      lnf_mean_(ops, max_batch * config.context),
      lnf_rstd_(ops, max_batch * config.context),
      logits_(ops, max_batch * config.context * config.vocab),
      losses_(ops, max_batch * config.context),
      dresidual_(ops, max_batch * config.context * config.channels),
      dnorm_(ops, max_batch * config.context * config.channels),
      dwide_(ops, max_batch * config.context * 4 * config.channels) {
  blocks_.reserve(config.layers);
  for (std::size_t layer = 0; layer < config.layers; ++layer)
    blocks_.push_back(makeBlock(max_batch * config.context));
}

Gpt::BlockActivations Gpt::makeBlock(std::size_t rows) const {
  const std::size_t channels = config_.channels;
  const auto tensor = [this](std::size_t count) { return Buffer<float>(ops_, count); };
  return {tensor(rows * channels),
          tensor(rows * channels),
          tensor(rows),
          tensor(rows),
          tensor(rows * 3 * channels),
          tensor(rows * config_.heads * config_.context),
          tensor(rows * channels),
          tensor(rows * channels),
          tensor(rows * channels),
          tensor(rows),
          tensor(rows),
          tensor(rows * 4 * channels),
          tensor(rows * 4 * channels)};
}

void Gpt::setParameters(std::span<const float> host) {
  if (host.size() != table_.count())
    fail("the model has {} parameters, but {} were given", table_.count(), host.size());
  parameters_.upload(host);
}

float* Gpt::blockOutput(std::size_t layer) {
  return layer + 1 < blocks_.size() ? blocks_[layer + 1].input.data() : last_.data();
}

void Gpt::linear(const float* x, std::size_t weight, float* y, std::size_t in, std::size_t out) {
  ops_.gemm({.m = rows_, .n = out, .k = in}, x, parameters() + weight, y);
}

void Gpt::linearGrad(const LinearGrad& l, float* gradient) {
  ops_.gemm({.trans_b = true, .m = rows_, .n = l.in, .k = l.out}, l.dy, parameters() + l.weight, l.dx);
  ops_.gemm({.trans_a = true, .m = l.in, .n = l.out, .k = rows_}, l.x, l.dy, gradient + l.weight);
  ops_.biasGrad(gradient + l.bias, l.dy, rows_, l.out);
}

void Gpt::forward(std::span<const std::int32_t> tokens) {
  batch_ = tokens.size() / config_.context;
  rows_ = tokens.size();
  if (batch_ == 0 || batch_ > max_batch_ || rows_ % config_.context != 0) {
    fail("a pass takes 1 to {} samples of {} tokens, not {} tokens", max_batch_, config_.context, tokens.size());
  }
  const float* p = parameters();
  tokens_.upload(tokens);
  ops_.embed({batch_, config_.context, config_.channels}, tokens_.data(), p + table_.wte(), p + table_.wpe(),
             blocks_[0].input.data());
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
    forwardBlock(layer, blockOutput(layer));
  ops_.layerNorm(
      {last_.data(), p + table_.lnfWeight(), p + table_.lnfBias(), lnf_.data(), lnf_mean_.data(), lnf_rstd_.data()},
      rows_, config_.channels);
  // logits[rows, V] = lnf[rows, C] * wte[V, C]^T
  ops_.gemm({.trans_b = true, .m = rows_, .n = config_.vocab, .k = config_.channels}, lnf_.data(), p + table_.wte(),
            logits_.data());
}

void Gpt::forwardBlock(std::size_t layer, float* output) {
  const std::size_t channels = config_.channels;
  const BlockOffsets& at = table_.block(layer);
  BlockActivations& a = blocks_[layer];
  const float* p = parameters();
  ops_.layerNorm(
      {a.input.data(), p + at.ln1_weight, p + at.ln1_bias, a.ln1.data(), a.ln1_mean.data(), a.ln1_rstd.data()}, rows_,
      channels);
  linear(a.ln1.data(), at.qkv_weight, a.qkv.data(), channels, 3 * channels);
  ops_.addBias(a.qkv.data(), p + at.qkv_bias, rows_, 3 * channels);
  ops_.attention(attentionShape(), {a.qkv.data(), a.probs.data(), a.attended.data()});
  linear(a.attended.data(), at.att_weight, a.middle.data(), channels, channels);
  ops_.addBiasResidual(a.middle.data(), p + at.att_bias, a.input.data(), rows_, channels);

  ops_.layerNorm(
      {a.middle.data(), p + at.ln2_weight, p + at.ln2_bias, a.ln2.data(), a.ln2_mean.data(), a.ln2_rstd.data()}, rows_,
      channels);
  linear(a.ln2.data(), at.fc_weight, a.fc.data(), channels, 4 * channels);
  ops_.biasGelu(a.fc.data(), p + at.fc_bias, a.gelu.data(), rows_, 4 * channels);
  linear(a.gelu.data(), at.out_weight, output, 4 * channels, channels);
  ops_.addBiasResidual(output, p + at.out_bias, a.middle.data(), rows_, channels);
}

std::vector<double> Gpt::losses(std::span<const std::int32_t> targets, bool with_gradient, float grad_scale) {
  if (targets.size() != rows_) fail("{} targets for {} tokens", targets.size(), rows_);
  targets_.upload(targets);
  ops_.softmaxXent({rows_, config_.vocab, with_gradient, grad_scale},
                   {logits_.data(), targets_.data(), losses_.data()});
  const std::vector<float> tokens = losses_.download();
  std::vector<double> samples(batch_, 0.0);
  for (std::size_t row = 0; row < rows_; ++row)
    samples[row / config_.context] += static_cast<double>(tokens[row]);
  return samples;
}

void Gpt::backward(float* gradient, const GradientReady& ready) {
  const std::size_t channels = config_.channels;
  const float* p = parameters();
  // dlnf[rows, C] = dlogits[rows, V] * wte[V, C]; the first of the two parts of dwte[V, C] = dlogits^T * lnf.
  ops_.gemm({.m = rows_, .n = channels, .k = config_.vocab}, logits_.data(), p + table_.wte(), dnorm_.data());
  ops_.gemm({.trans_a = true, .m = config_.vocab, .n = channels, .k = rows_}, logits_.data(), lnf_.data(),
            gradient + table_.wte());
  ops_.fill(dresidual_.data(), 0.0f, rows_ * channels);
  ops_.layerNormGrad({dnorm_.data(), last_.data(), p + table_.lnfWeight(), lnf_mean_.data(), lnf_rstd_.data(),
                      dresidual_.data(), gradient + table_.lnfWeight(), gradient + table_.lnfBias()},
                     rows_, channels);
  if (ready) ready(table_.lnfWeight());
  for (std::size_t layer = blocks_.size(); layer-- > 0;)
    backwardBlock(layer, gradient, ready);
  ops_.embedGrad({batch_, config_.context, channels}, tokens_.data(), dresidual_.data(), gradient + table_.wte(),
                 gradient + table_.wpe());
  if (ready) ready(0);
}

// dresidual_ holds the gradient of the block's output on entry and of its input on return: both residual connections
// add what flows back through the layer norms to what passes by.
void Gpt::backwardBlock(std::size_t layer, float* gradient, const GradientReady& ready) {
  const BlockOffsets& at = table_.block(layer);
  backwardMlp(at, blocks_[layer], gradient);
  if (ready) ready(at.ln2_weight);
  backwardAttention(at, blocks_[layer], gradient);
  if (ready) ready(at.ln1_weight);
}

void Gpt::backwardMlp(const BlockOffsets& at, BlockActivations& a, float* gradient) {
  const std::size_t channels = config_.channels;
  linearGrad({a.gelu.data(), dresidual_.data(), dwide_.data(), at.out_weight, at.out_bias, 4 * channels, channels},
             gradient);
  ops_.geluGrad(dwide_.data(), a.fc.data(), rows_, 4 * channels);
  linearGrad({a.ln2.data(), dwide_.data(), dnorm_.data(), at.fc_weight, at.fc_bias, channels, 4 * channels}, gradient);
  ops_.layerNormGrad({dnorm_.data(), a.middle.data(), parameters() + at.ln2_weight, a.ln2_mean.data(),
                      a.ln2_rstd.data(), dresidual_.data(), gradient + at.ln2_weight, gradient + at.ln2_bias},
                     rows_, channels);
}

void Gpt::backwardAttention(const BlockOffsets& at, BlockActivations& a, float* gradient) {
  const std::size_t channels = config_.channels;
  linearGrad({a.attended.data(), dresidual_.data(), dnorm_.data(), at.att_weight, at.att_bias, channels, channels},
             gradient);
  ops_.attentionGrad(attentionShape(), {dnorm_.data(), a.qkv.data(), a.probs.data(), dwide_.data()});
  linearGrad({a.ln1.data(), dwide_.data(), dnorm_.data(), at.qkv_weight, at.qkv_bias, channels, 3 * channels},
             gradient);
  ops_.layerNormGrad({dnorm_.data(), a.input.data(), parameters() + at.ln1_weight, a.ln1_mean.data(), a.ln1_rstd.data(),
                      dresidual_.data(), gradient + at.ln1_weight, gradient + at.ln1_bias},
                     rows_, channels);
}

std::vector<float> Gpt::logitsAt(std::size_t row) {
  if (row >= rows_) fail("position {} of {}", row, rows_);
  std::vector<float> host(config_.vocab);
  ops_.download(host.data(), logits_.data() + row * config_.vocab, host.size() * sizeof(float));
  return host;
}

} // namespace goss::trainer

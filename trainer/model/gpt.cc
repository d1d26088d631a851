#include "trainer/model/gpt.h"

#include "trainer/base/error.h"

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
      flow_(ops, config, max_batch * config.context),
      dnorm_(ops, max_batch * config.context * config.channels) {
  blocks_.reserve(config.layers);
  for (std::size_t layer = 0; layer < config.layers; ++layer)
    blocks_.emplace_back(ops, config, max_batch * config.context);
}

void Gpt::setParameters(std::span<const float> host) {
  if (host.size() != table_.count())
    fail("the model has {} parameters, but {} were given", table_.count(), host.size());
  parameters_.upload(host);
}

float* Gpt::blockOutput(std::size_t layer) {
  return layer + 1 < blocks_.size() ? blocks_[layer + 1].input.data() : last_.data();
}

BlockPass Gpt::passOf(std::size_t layer) { return {ops_, config_, table_.block(layer), parameters(), batch_}; }

void Gpt::forward(std::span<const std::int32_t> tokens) {
  batch_ = tokens.size() / config_.context;
  rows_ = tokens.size();
  if (batch_ == 0 || batch_ > max_batch_ || rows_ % config_.context != 0) {
    fail("a pass takes 1 to {} samples of {} tokens, not {} tokens", max_batch_, config_.context, tokens.size());
  }
  const float* p = parameters();
  tokens_.upload(tokens);
  ops_.embed({batch_, config_.context, config_.channels, config_.vocab}, tokens_.data(), p + table_.wte(),
             config_.isLlama() ? nullptr : p + table_.wpe(), blocks_[0].input.data());
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
    forwardBlock(passOf(layer), blocks_[layer], blockOutput(layer));
  forwardNorm(ops_, config_, {last_.data(), p + table_.lnfWeight(), lnf_.data(), lnf_mean_.data(), lnf_rstd_.data()},
              rows_);
  // logits[rows, V] = lnf[rows, C] * wte[V, C]^T
  ops_.gemm({.trans_b = true, .m = rows_, .n = config_.vocab, .k = config_.channels}, lnf_.data(), p + table_.wte(),
            logits_.data());
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
  // dlnf[rows, C] = dlogits[rows, V] * wte[V, C], and the first of the two parts of dwte[V, C] = dlogits^T * lnf.
  ops_.gemm({.m = rows_, .n = channels, .k = config_.vocab}, logits_.data(), p + table_.wte(), dnorm_.data());
  ops_.gemm({.trans_a = true, .m = config_.vocab, .n = channels, .k = rows_}, logits_.data(), lnf_.data(),
            gradient + table_.wte());
  ops_.fill(flow_.output.data(), 0.0f, rows_ * channels);
  normGrad(ops_, config_,
           {dnorm_.data(), last_.data(), p + table_.lnfWeight(), lnf_mean_.data(), lnf_rstd_.data(),
            flow_.output.data(), gradient + table_.lnfWeight()},
           rows_);
  if (ready) ready(table_.lnfWeight());
  for (std::size_t layer = blocks_.size(); layer-- > 0;)
    backwardBlock(layer, gradient, ready);
  ops_.embedGrad({batch_, config_.context, channels, config_.vocab}, tokens_.data(), flow_.output.data(),
                 gradient + table_.wte(), config_.isLlama() ? nullptr : gradient + table_.wpe());
  if (ready) ready(0);
}

// flow_.output holds the gradient of the block's output on entry and of its input on return.
void Gpt::backwardBlock(std::size_t layer, float* gradient, const GradientReady& ready) {
  const BlockPass pass = passOf(layer);
  BlockActivations& a = blocks_[layer];
  mlpInputGrad(pass, a, flow_, gradient + pass.at.ln2_weight, dnorm_.data());
  mlpWeightGrad(pass, a, flow_, gradient);
  if (ready) ready(pass.at.ln2_weight);
  attentionInputGrad(pass, a, flow_, {gradient + pass.at.ln1_weight, dnorm_.data(), flow_.output.data()});
  attentionWeightGrad(pass, a, flow_, gradient);
  if (ready) ready(pass.at.ln1_weight);
}

std::vector<float> Gpt::logitsAt(std::size_t row) {
  if (row >= rows_) fail("position {} of {}", row, rows_);
  std::vector<float> host(config_.vocab);
  ops_.download(host.data(), logits_.data() + row * config_.vocab, host.size() * sizeof(float));
  return host;
}

} // namespace goss::trainer

#include "trainer/model/gpt_block.h"

namespace goss::trainer {

namespace {

/// A projection y[rows, out] = x[rows, in] * w[in, out], by the flat offsets of its weight and bias.
struct Projection {
  std::size_t weight;
  std::size_t bias;
  std::size_t in;
  std::size_t out;
};

void project(const BlockPass& pass, const Projection& p, const float* x, float* y) {
  pass.ops.gemm({.m = pass.rows(), .n = p.out, .k = p.in}, x, pass.parameters + p.weight, y);
}

void inputGrad(const BlockPass& pass, const Projection& p, const float* dy, float* dx) {
  pass.ops.gemm({.trans_b = true, .m = pass.rows(), .n = p.in, .k = p.out}, dy, pass.parameters + p.weight, dx);
}

void weightGrad(const BlockPass& pass, const Projection& p, const float* x, const float* dy, float* gradient) {
  pass.ops.gemm({.trans_a = true, .m = p.in, .n = p.out, .k = pass.rows()}, x, dy, gradient + p.weight);
  pass.ops.biasGrad(gradient + p.bias, dy, pass.rows(), p.out);
}

Projection qkvOf(const BlockPass& pass) {
  const std::size_t c = pass.shape.channels;
  return {pass.at.qkv_weight, pass.at.qkv_bias, c, 3 * c};
}
Projection attOf(const BlockPass& pass) {
  const std::size_t c = pass.shape.channels;
  return {pass.at.att_weight, pass.at.att_bias, c, c};
}
Projection fcOf(const BlockPass& pass) {
  const std::size_t c = pass.shape.channels;
  return {pass.at.fc_weight, pass.at.fc_bias, c, 4 * c};
}
Projection outOf(const BlockPass& pass) {
  const std::size_t c = pass.shape.channels;
  return {pass.at.out_weight, pass.at.out_bias, 4 * c, c};
}

} // namespace

BlockActivations::BlockActivations(Ops& ops, const ModelConfig& config, std::size_t rows)
    : input(ops, rows * config.channels),
      ln1(ops, rows * config.channels),
      ln1_mean(ops, rows),
      ln1_rstd(ops, rows),
      qkv(ops, rows * 3 * config.channels),
      probs(ops, rows * config.heads * config.context),
      attended(ops, rows * config.channels),
      middle(ops, rows * config.channels),
      ln2(ops, rows * config.channels),
      ln2_mean(ops, rows),
      ln2_rstd(ops, rows),
      fc(ops, rows * 4 * config.channels),
      gelu(ops, rows * 4 * config.channels) {}

BlockGradients::BlockGradients(Ops& ops, const ModelConfig& config, std::size_t rows)
    : output(ops, rows * config.channels),
      fc(ops, rows * 4 * config.channels),
      middle(ops, rows * config.channels),
      qkv(ops, rows * 3 * config.channels) {}

void forwardBlock(const BlockPass& pass, BlockActivations& a, float* output) {
  const std::size_t rows = pass.rows();
  const std::size_t channels = pass.shape.channels;
  const float* p = pass.parameters;
  Ops& ops = pass.ops;
  ops.layerNorm({a.input.data(), p + pass.at.ln1_weight, p + pass.at.ln1_bias, a.ln1.data(), a.ln1_mean.data(),
                 a.ln1_rstd.data()},
                rows, channels);
  project(pass, qkvOf(pass), a.ln1.data(), a.qkv.data());
  ops.addBias(a.qkv.data(), p + pass.at.qkv_bias, rows, 3 * channels);
  ops.attention(pass.shape, {a.qkv.data(), a.probs.data(), a.attended.data()});
  project(pass, attOf(pass), a.attended.data(), a.middle.data());
  ops.addBiasResidual(a.middle.data(), p + pass.at.att_bias, a.input.data(), rows, channels);

  ops.layerNorm({a.middle.data(), p + pass.at.ln2_weight, p + pass.at.ln2_bias, a.ln2.data(), a.ln2_mean.data(),
                 a.ln2_rstd.data()},
                rows, channels);
  project(pass, fcOf(pass), a.ln2.data(), a.fc.data());
  ops.biasGelu(a.fc.data(), p + pass.at.fc_bias, a.gelu.data(), rows, 4 * channels);
  project(pass, outOf(pass), a.gelu.data(), output);
  ops.addBiasResidual(output, p + pass.at.out_bias, a.middle.data(), rows, channels);
}

// Both residual connections add the gradient that comes through the layer norm to the one that bypasses it.
void mlpInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* dnorm, float* scratch) {
  const std::size_t rows = pass.rows();
  const std::size_t channels = pass.shape.channels;
  inputGrad(pass, outOf(pass), g.output.data(), g.fc.data());
  pass.ops.geluGrad(g.fc.data(), a.fc.data(), rows, 4 * channels);
  inputGrad(pass, fcOf(pass), g.fc.data(), scratch);
  pass.ops.copy(g.middle.data(), g.output.data(), rows * channels);
  pass.ops.layerNormGrad({scratch, a.middle.data(), pass.parameters + pass.at.ln2_weight, a.ln2_mean.data(),
                          a.ln2_rstd.data(), g.middle.data(), dnorm, dnorm + channels},
                         rows, channels);
}

void mlpWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient) {
  weightGrad(pass, outOf(pass), a.gelu.data(), g.output.data(), gradient);
  weightGrad(pass, fcOf(pass), a.ln2.data(), g.fc.data(), gradient);
}

void attentionInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, const InputGradTargets& to) {
  const std::size_t rows = pass.rows();
  const std::size_t channels = pass.shape.channels;
  inputGrad(pass, attOf(pass), g.middle.data(), to.scratch);
  pass.ops.attentionGrad(pass.shape, {to.scratch, a.qkv.data(), a.probs.data(), g.qkv.data()});
  inputGrad(pass, qkvOf(pass), g.qkv.data(), to.scratch);
  pass.ops.copy(to.dinput, g.middle.data(), rows * channels);
  pass.ops.layerNormGrad({to.scratch, a.input.data(), pass.parameters + pass.at.ln1_weight, a.ln1_mean.data(),
                          a.ln1_rstd.data(), to.dinput, to.dnorm, to.dnorm + channels},
                         rows, channels);
}

void attentionWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient) {
  weightGrad(pass, attOf(pass), a.attended.data(), g.middle.data(), gradient);
  weightGrad(pass, qkvOf(pass), a.ln1.data(), g.qkv.data(), gradient);
}

} // namespace goss::trainer

#include "trainer/model/gpt_block.h"

namespace goss::trainer {

namespace {

/// A projection y[rows, out] = x[rows, in] * w, by the flat offsets of its weight and bias. gpt2's weights are [in,
/// out]; llama's are [out, in], and it has no biases.
struct Projection {
  std::size_t weight;
  std::size_t bias;
  std::size_t in;
  std::size_t out;
};

void project(const BlockPass& pass, const Projection& p, const float* x, float* y) {
  pass.ops.gemm({.trans_b = pass.config.isLlama(), .m = pass.rows(), .n = p.out, .k = p.in}, x,
                pass.parameters + p.weight, y);
}

void inputGrad(const BlockPass& pass, const Projection& p, const float* dy, float* dx) {
  pass.ops.gemm({.trans_b = !pass.config.isLlama(), .m = pass.rows(), .n = p.in, .k = p.out}, dy,
                pass.parameters + p.weight, dx);
}

void weightGrad(const BlockPass& pass, const Projection& p, const float* x, const float* dy, float* gradient) {
  if (pass.config.isLlama()) {
    pass.ops.gemm({.trans_a = true, .m = p.out, .n = p.in, .k = pass.rows()}, dy, x, gradient + p.weight);
    return;
  }
  pass.ops.gemm({.trans_a = true, .m = p.in, .n = p.out, .k = pass.rows()}, x, dy, gradient + p.weight);
  pass.ops.biasGrad(gradient + p.bias, dy, pass.rows(), p.out);
}

Projection qkvOf(const BlockPass& pass) {
  const std::size_t c = pass.config.channels;
  return {pass.at.qkv_weight, pass.at.qkv_bias, c, 3 * c};
}
Projection attOf(const BlockPass& pass) {
  const std::size_t c = pass.config.channels;
  return {pass.at.att_weight, pass.at.att_bias, c, c};
}
Projection fcOf(const BlockPass& pass) {
  return {pass.at.fc_weight, pass.at.fc_bias, pass.config.channels, pass.config.mlpInputs()};
}
Projection outOf(const BlockPass& pass) {
  return {pass.at.out_weight, pass.at.out_bias, pass.config.mlpWidth(), pass.config.channels};
}

/// y += x, and the bias of the projection that made y.
void addResidual(const BlockPass& pass, const Projection& p, const float* x, float* y) {
  if (pass.config.isLlama()) return pass.ops.axpy(1.0f, x, y, pass.rows() * p.out);
  pass.ops.addBiasResidual(y, pass.parameters + p.bias, x, pass.rows(), p.out);
}

void forwardQkv(const BlockPass& pass, BlockActivations& a) {
  const Projection qkv = qkvOf(pass);
  project(pass, qkv, a.ln1.data(), a.qkv.data());
  if (pass.config.isLlama()) return pass.ops.rotate(pass.shape(), a.qkv.data(), false);
  pass.ops.addBias(a.qkv.data(), pass.parameters + qkv.bias, pass.rows(), qkv.out);
}

void activate(const BlockPass& pass, BlockActivations& a) {
  const std::size_t width = pass.config.mlpWidth();
  if (pass.config.isLlama()) return pass.ops.swiglu(a.fc.data(), a.active.data(), pass.rows(), width);
  pass.ops.biasGelu(a.fc.data(), pass.parameters + pass.at.fc_bias, a.active.data(), pass.rows(), width);
}

/// g.output -> g.fc.
void activateGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g) {
  const std::size_t width = pass.config.mlpWidth();
  if (pass.config.isLlama()) {
    inputGrad(pass, outOf(pass), g.output.data(), g.active.data());
    return pass.ops.swigluGrad({g.active.data(), a.fc.data(), g.fc.data()}, pass.rows(), width);
  }
  inputGrad(pass, outOf(pass), g.output.data(), g.fc.data());
  pass.ops.geluGrad(g.fc.data(), a.fc.data(), pass.rows(), width);
}

} // namespace

void forwardNorm(Ops& ops, const ModelConfig& config, const NormTensors& t, std::size_t rows) {
  const std::size_t channels = config.channels;
  if (config.isLlama()) return ops.rmsNorm({t.x, t.weight, nullptr, t.y, nullptr, t.rstd}, rows, channels);
  ops.layerNorm({t.x, t.weight, t.weight + channels, t.y, t.mean, t.rstd}, rows, channels);
}

void normGrad(Ops& ops, const ModelConfig& config, const NormGradTensors& t, std::size_t rows) {
  const std::size_t channels = config.channels;
  if (config.isLlama())
    return ops.rmsNormGrad({t.dy, t.x, t.weight, nullptr, t.rstd, t.dx, t.dnorm, nullptr}, rows, channels);
  ops.layerNormGrad({t.dy, t.x, t.weight, t.mean, t.rstd, t.dx, t.dnorm, t.dnorm + channels}, rows, channels);
}

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
      fc(ops, rows * config.mlpInputs()),
      active(ops, rows * config.mlpWidth()) {}

BlockGradients::BlockGradients(Ops& ops, const ModelConfig& config, std::size_t rows)
    : output(ops, rows * config.channels),
      fc(ops, rows * config.mlpInputs()),
      active(ops, config.isLlama() ? rows * config.mlpWidth() : 0),
      middle(ops, rows * config.channels),
      qkv(ops, rows * 3 * config.channels) {}

void forwardBlock(const BlockPass& pass, BlockActivations& a, float* output) {
  const float* p = pass.parameters;
  Ops& ops = pass.ops;
  forwardNorm(ops, pass.config,
              {a.input.data(), p + pass.at.ln1_weight, a.ln1.data(), a.ln1_mean.data(), a.ln1_rstd.data()},
              pass.rows());
  forwardQkv(pass, a);
  ops.attention(pass.shape(), {a.qkv.data(), a.probs.data(), a.attended.data()});
  project(pass, attOf(pass), a.attended.data(), a.middle.data());
  addResidual(pass, attOf(pass), a.input.data(), a.middle.data());

  forwardNorm(ops, pass.config,
              {a.middle.data(), p + pass.at.ln2_weight, a.ln2.data(), a.ln2_mean.data(), a.ln2_rstd.data()},
              pass.rows());
  project(pass, fcOf(pass), a.ln2.data(), a.fc.data());
  activate(pass, a);
  project(pass, outOf(pass), a.active.data(), output);
  addResidual(pass, outOf(pass), a.middle.data(), output);
}

// Both residual connections add the gradient that comes through the norm to the one that bypasses it.
void mlpInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* dnorm, float* scratch) {
  activateGrad(pass, a, g);
  inputGrad(pass, fcOf(pass), g.fc.data(), scratch);
  pass.ops.copy(g.middle.data(), g.output.data(), pass.rows() * pass.config.channels);
  normGrad(pass.ops, pass.config,
           {scratch, a.middle.data(), pass.parameters + pass.at.ln2_weight, a.ln2_mean.data(), a.ln2_rstd.data(),
            g.middle.data(), dnorm},
           pass.rows());
}

void mlpWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient) {
  weightGrad(pass, outOf(pass), a.active.data(), g.output.data(), gradient);
  weightGrad(pass, fcOf(pass), a.ln2.data(), g.fc.data(), gradient);
}

void attentionInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, const InputGradTargets& to) {
  inputGrad(pass, attOf(pass), g.middle.data(), to.scratch);
  pass.ops.attentionGrad(pass.shape(), {to.scratch, a.qkv.data(), a.probs.data(), g.qkv.data()});
  if (pass.config.isLlama()) pass.ops.rotate(pass.shape(), g.qkv.data(), true);
  inputGrad(pass, qkvOf(pass), g.qkv.data(), to.scratch);
  pass.ops.copy(to.dinput, g.middle.data(), pass.rows() * pass.config.channels);
  normGrad(pass.ops, pass.config,
           {to.scratch, a.input.data(), pass.parameters + pass.at.ln1_weight, a.ln1_mean.data(), a.ln1_rstd.data(),
            to.dinput, to.dnorm},
           pass.rows());
}

void attentionWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient) {
  weightGrad(pass, attOf(pass), a.attended.data(), g.middle.data(), gradient);
  weightGrad(pass, qkvOf(pass), a.ln1.data(), g.qkv.data(), gradient);
}

} // namespace goss::trainer

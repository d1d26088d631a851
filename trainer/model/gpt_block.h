/// One transformer block: its forward pass, and its backward pass in the four parts that pipelines and data parallel
/// training put together differently.
#ifndef GOSS_TRAINER_MODEL_GPT_BLOCK_H_
#define GOSS_TRAINER_MODEL_GPT_BLOCK_H_

#include <cstddef>

#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// What one block keeps from its forward pass for its backward pass. rows = B * T.
struct BlockActivations {
  BlockActivations(Ops& ops, const ModelConfig& config, std::size_t rows);
  Buffer<float> input;    // [rows, C] residual stream on entry
  Buffer<float> ln1;      // [rows, C]
  Buffer<float> ln1_mean; // [rows], gpt2's
  Buffer<float> ln1_rstd; // [rows]
  Buffer<float> qkv;      // [rows, 3C]; llama: queries and keys turned by their positions
  Buffer<float> probs;    // [B, H, T, T]
  Buffer<float> attended; // [rows, C]
  Buffer<float> middle;   // [rows, C] residual stream after attention
  Buffer<float> ln2;      // [rows, C]
  Buffer<float> ln2_mean; // [rows], gpt2's
  Buffer<float> ln2_rstd; // [rows]
  Buffer<float> fc;       // [rows, ModelConfig::mlpInputs] before the activation function
  Buffer<float> active;   // [rows, F] behind it
};

/// Gradients that flow back through a block; the gradients of its weights are computed from them and the activations.
struct BlockGradients {
  BlockGradients(Ops& ops, const ModelConfig& config, std::size_t rows);
  Buffer<float> output; // [rows, C] residual stream on exit
  Buffer<float> fc;     // [rows, ModelConfig::mlpInputs] before the activation function
  Buffer<float> active; // [rows, F] behind it; empty in gpt2, whose function works in place
  Buffer<float> middle; // [rows, C] residual stream after attention
  Buffer<float> qkv;    // [rows, 3C]
};

/// A pass of B samples through one block of a model, which must outlive it.
struct BlockPass {
  Ops& ops;
  const ModelConfig& config;
  const BlockOffsets& at;
  const float* parameters; // the flat vector to which `at` holds offsets
  std::size_t batch;       // B
  [[nodiscard]] std::size_t rows() const { return batch * config.context; }
  [[nodiscard]] AttentionShape shape() const { return {batch, config.context, config.channels, config.heads}; }
};

/// The norm of the architecture, on rows of C channels.
struct NormTensors {
  const float* x;      // [rows, C]
  const float* weight; // [C], and in gpt2 [C] of the bias behind it
  float* y;            // [rows, C]
  float* mean;         // [rows], gpt2's
  float* rstd;         // [rows]
};
void forwardNorm(Ops& ops, const ModelConfig& config, const NormTensors& t, std::size_t rows);

struct NormGradTensors {
  const float* dy;     // [rows, C]
  const float* x;      // [rows, C]
  const float* weight; // [C]
  const float* mean;   // [rows], gpt2's
  const float* rstd;   // [rows]
  float* dx;           // [rows, C] +=
  float* dnorm;        // [ModelConfig::normParameters] =
};
void normGrad(Ops& ops, const ModelConfig& config, const NormGradTensors& t, std::size_t rows);

/// a.input -> output[rows, C].
void forwardBlock(const BlockPass& pass, BlockActivations& a, float* output);

/// g.output -> g.fc, g.middle; dnorm = gradient of the second norm's parameters. scratch[rows, C].
void mlpInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* dnorm, float* scratch);
/// g.output, g.fc -> the flat gradient at the projections of the MLP.
void mlpWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient);
/// g.middle -> g.qkv, dinput[rows, C]; dnorm of the first norm. scratch[rows, C]. dinput may be g.output.
struct InputGradTargets {
  float* dnorm;   // [ModelConfig::normParameters]
  float* scratch; // [rows, C]
  float* dinput;  // [rows, C]
};
void attentionInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, const InputGradTargets& to);
/// g.middle, g.qkv -> the flat gradient at the projections of the attention.
void attentionWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient);

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_GPT_BLOCK_H_

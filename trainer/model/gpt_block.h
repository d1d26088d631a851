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
  Buffer<float> ln1_mean; // [rows]
  Buffer<float> ln1_rstd; // [rows]
  Buffer<float> qkv;      // [rows, 3C]
  Buffer<float> probs;    // [B, H, T, T]
  Buffer<float> attended; // [rows, C]
  Buffer<float> middle;   // [rows, C] residual stream after attention
  Buffer<float> ln2;      // [rows, C]
  Buffer<float> ln2_mean; // [rows]
  Buffer<float> ln2_rstd; // [rows]
  Buffer<float> fc;       // [rows, 4C] before GELU
  Buffer<float> gelu;     // [rows, 4C]
};

/// Gradients that flow back through a block; the gradients of its weights are computed from them and the activations.
struct BlockGradients {
  BlockGradients(Ops& ops, const ModelConfig& config, std::size_t rows);
  Buffer<float> output; // [rows, C] residual stream on exit
  Buffer<float> fc;     // [rows, 4C] before GELU
  Buffer<float> middle; // [rows, C] residual stream after attention
  Buffer<float> qkv;    // [rows, 3C]
};

/// A pass of B samples through one block of a model.
struct BlockPass {
  Ops& ops;
  const BlockOffsets& at;
  const float* parameters; // the flat vector to which `at` holds offsets
  AttentionShape shape;
  [[nodiscard]] std::size_t rows() const { return shape.batch * shape.context; }
};

/// a.input -> output[rows, C].
void forwardBlock(const BlockPass& pass, BlockActivations& a, float* output);

/// g.output -> g.fc, g.middle; dnorm[2C] = gradient of the second layer norm's weight and bias. scratch[rows, C].
void mlpInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* dnorm, float* scratch);
/// g.output, g.fc -> the flat gradient at the projections of the MLP.
void mlpWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient);
/// g.middle -> g.qkv, dinput[rows, C]; dnorm[2C] of the first layer norm. scratch[rows, C]. dinput may be g.output.
struct InputGradTargets {
  float* dnorm;   // [2C]
  float* scratch; // [rows, C]
  float* dinput;  // [rows, C]
};
void attentionInputGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, const InputGradTargets& to);
/// g.middle, g.qkv -> the flat gradient at the projections of the attention.
void attentionWeightGrad(const BlockPass& pass, BlockActivations& a, BlockGradients& g, float* gradient);

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_GPT_BLOCK_H_

/// A language model with explicit forward and backward passes over the table of tensor operations.
#ifndef GOSS_TRAINER_MODEL_GPT_H_
#define GOSS_TRAINER_MODEL_GPT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"
#include "trainer/model/gpt_block.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// Pre-norm blocks of either Architecture, without dropout; gpt2's GELU is in the tanh form. B below is the number of
/// samples of the pass, at most `max_batch`; every sample has exactly `context` tokens. One thread at a time.
class Gpt {
 public:
  /// Called during backward with the flat offset from which on the gradient is final; offsets fall, the last one is 0.
  using GradientReady = std::function<void(std::size_t first_final)>;

  /// `ops` must outlive the model. Parameters are unspecified until setParameters.
  Gpt(const ModelConfig& config, std::size_t max_batch, Ops& ops);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const ParameterTable& table() const { return table_; }
  float* parameters() { return parameters_.data(); } ///< [table().count()], the backend's memory.
  void setParameters(std::span<const float> host);

  /// Runs tokens[B, T], each below vocab, and keeps the logits inside.
  void forward(std::span<const std::int32_t> tokens);
  /// After forward: the summed loss of each sample, [B], in nats. targets[B, T]. The logits are overwritten. With
  /// `with_gradient`, prepares backward for the gradient of grad_scale * (sum of all token losses).
  std::vector<double> losses(std::span<const std::int32_t> targets, bool with_gradient, float grad_scale = 1.0f);
  /// Called after losses(with_gradient): overwrites all of gradient[table().count()], the backend's memory. `ready` may
  /// be empty.
  void backward(float* gradient, const GradientReady& ready);
  /// After forward: the logits of one position, [V].
  [[nodiscard]] std::vector<float> logitsAt(std::size_t row);

 private:
  [[nodiscard]] BlockPass passOf(std::size_t layer);
  void backwardBlock(std::size_t layer, float* gradient, const GradientReady& ready);
  float* blockOutput(std::size_t layer);

  ModelConfig config_;
  ParameterTable table_;
  std::size_t max_batch_;
  Ops& ops_;
  std::size_t batch_ = 0; // B and rows of the last forward pass
  std::size_t rows_ = 0;

  Buffer<float> parameters_;     // [table_.count()]
  Buffer<std::int32_t> tokens_;  // [B, T]
  Buffer<std::int32_t> targets_; // [B, T]
  std::vector<BlockActivations> blocks_;
  Buffer<float> last_;     // [rows, C] residual stream after the last block
  Buffer<float> lnf_;      // [rows, C]
  Buffer<float> lnf_mean_; // [rows]
  Buffer<float> lnf_rstd_; // [rows]
  Buffer<float> logits_;   // [rows, V]; their gradient after losses()
  Buffer<float> losses_;   // [rows]
  BlockGradients flow_;    // gradients of the block whose turn it is
  Buffer<float> dnorm_;    // [rows, C] gradient of a layer norm's output
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_GPT_H_

/// A GPT with explicit forward and backward passes over the table of tensor operations.
#ifndef GOSS_TRAINER_GPT_H_
#define GOSS_TRAINER_GPT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trainer/buffer.h"
#include "trainer/model_config.h"
#include "trainer/ops.h"
#include "trainer/parameter_table.h"

namespace goss::trainer {

/// Pre-norm blocks, learned positions, GELU in the tanh form, output projection tied to the token embedding: GPT-2's
/// architecture (Radford et al. 2019) without dropout. B below is the number of samples of the pass, at most
/// `max_batch`; every sample has exactly `context` tokens. One thread at a time.
class Gpt {
 public:
  /// Called during backward with the flat offset from which on the gradient is final; offsets fall, the last one is 0.
  using GradientReady = std::function<void(std::size_t first_final)>;

  /// `ops` must outlive the model. Parameters are unspecified until setParameters.
  Gpt(const ModelConfig& config, std::size_t max_batch, Ops& ops);

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const ParameterTable& table() const { return table_; }
  [[nodiscard]] std::size_t maxBatch() const { return max_batch_; }
  float* parameters() { return parameters_.data(); } ///< [table().count()], the backend's memory.
  void setParameters(std::span<const float> host);

  /// tokens[B, T], each below vocab; leaves the logits inside.
  void forward(std::span<const std::int32_t> tokens);
  /// After forward: the summed loss of each sample, [B], in nats. targets[B, T]. The logits are gone afterwards.
  /// With `with_gradient`, prepares backward for the gradient of grad_scale * (sum of all token losses).
  std::vector<double> losses(std::span<const std::int32_t> targets, bool with_gradient, float grad_scale = 1.0f);
  /// After losses(with_gradient): overwrites all of gradient[table().count()], the backend's memory. `ready` may be
  /// empty.
  void backward(float* gradient, const GradientReady& ready);
  /// After forward: the logits of one position, [V].
  [[nodiscard]] std::vector<float> logitsAt(std::size_t row);

 private:
  /// What one block keeps from its forward pass for its backward pass. rows = B * T.
  struct BlockActivations {
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

  BlockActivations makeBlock(std::size_t rows) const;
  void forwardBlock(std::size_t layer, float* output);
  void backwardBlock(std::size_t layer, float* gradient, const GradientReady& ready);
  void backwardMlp(const BlockOffsets& at, BlockActivations& a, float* gradient);
  void backwardAttention(const BlockOffsets& at, BlockActivations& a, float* gradient);
  /// y[rows, out] = x[rows, in] * w[in, out]
  void linear(const float* x, std::size_t weight, float* y, std::size_t in, std::size_t out);
  struct LinearGrad {
    const float* x;     // [rows, in]
    const float* dy;    // [rows, out]
    float* dx;          // [rows, in] =
    std::size_t weight; // offsets of the weight [in, out] and the bias [out]
    std::size_t bias;
    std::size_t in;
    std::size_t out;
  };
  void linearGrad(const LinearGrad& l, float* gradient);
  float* blockOutput(std::size_t layer);
  [[nodiscard]] AttentionShape attentionShape() const {
    return {batch_, config_.context, config_.channels, config_.heads};
  }

  ModelConfig config_;
  ParameterTable table_;
  std::size_t max_batch_;
  Ops& ops_;
  std::size_t batch_ = 0; // B and rows of the last forward
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
  // Gradients of activations, reused by every block.
  Buffer<float> dresidual_; // [rows, C]
  Buffer<float> dnorm_;     // [rows, C] of a layer norm's output, or of the attention's
  Buffer<float> dwide_;     // [rows, 4C] of the GELU, or [rows, 3C] of qkv
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_GPT_H_

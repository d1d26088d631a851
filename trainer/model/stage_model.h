/// Some consecutive layers of a GPT, for pipelines: several micro-batches at a time, and the backward pass in two
/// halves.
#ifndef GOSS_TRAINER_MODEL_STAGE_MODEL_H_
#define GOSS_TRAINER_MODEL_STAGE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "trainer/base/share.h"
#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"
#include "trainer/model/gpt_block.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// The part of the model that a stage holds. The first stage has the embeddings; the last has the final layer norm and
/// the output projection, whose matrix is the first stage's token embedding.
struct StageRange {
  Share layers;
  bool is_first = false;
  bool is_last = false;
};

/// Runs the same operations on the same numbers as Gpt, and so gives the same bits. A micro-batch is held from its
/// forward to its weightGrad. Every call concerns one micro-batch, which the caller numbers as it likes; B is its
/// number of samples, at most `max_batch`. All activations and gradients that cross a call are host memory. One thread.
class StageModel {
 public:
  StageModel(const ModelConfig& config, const StageRange& range, std::size_t max_batch, Ops& ops);

  [[nodiscard]] const StageRange& range() const { return range_; }
  /// Tensors of this stage in a flat vector of its own. The token embedding, of the first stage only, comes last.
  [[nodiscard]] const ParameterTable& table() const { return table_; }
  /// Elements of the flat vector before the token embedding.
  [[nodiscard]] std::size_t ownCount() const { return range_.is_first ? table_.wte() : table_.count(); }
  [[nodiscard]] std::size_t embeddingCount() const { return config_.vocab * config_.channels; }
  [[nodiscard]] std::size_t boundaryCount(std::size_t batch) const {
    return batch * config_.context * config_.channels;
  }

  float* parameters() { return parameters_.data(); } ///< [table().count()], the backend's memory
  /// The matrix [V, C] of the last stage's output projection: its own copy, unless it is the first stage too.
  float* headWeight();

  /// The weights that forward, losses, inputGrad and weightGrad compute with, [table().count()] and [V, C], until the
  /// next call; null: the stage's own. Schedules without a flush take a micro-batch's backward pass through the older
  /// weights of its forward pass. `head` is for a last stage that is not the first. Both are lent.
  void use(const float* parameters, const float* head);

  /// First stage: tokens[B, T]; others: input[B, T, C]. output[B, T, C], except for the last stage, which keeps logits.
  void forward(int micro_batch, std::span<const std::int32_t> tokens, const float* input, float* output);
  /// Last stage, after forward: the summed loss of each sample, as Gpt::losses.
  std::vector<double> losses(int micro_batch, std::span<const std::int32_t> targets, bool with_gradient,
                             float grad_scale);
  /// Takes doutput[B, T, C], except in the last stage; gives dinput[B, T, C], except in the first.
  void inputGrad(int micro_batch, const float* doutput, float* dinput);
  /// Overwrites gradient[ownCount()], the backend's memory.
  void weightGrad(int micro_batch, float* gradient);
  /// Last stage, after inputGrad: dhead[V, C] = the output projection's part of the token embedding's gradient.
  void headGrad(int micro_batch, float* dhead);
  /// First stage, after inputGrad: adds the embedding's part of that gradient to dwte[V, C].
  void addEmbeddingGrad(int micro_batch, float* dwte);
  /// Number of micro-batches for which the stage has allocated memory: the most that it has held at once.
  [[nodiscard]] std::size_t allocated() const { return held_.size() + free_.size(); }
  /// Frees the memory of a micro-batch. The first stage's last call for that micro-batch.
  void release(int micro_batch);

 private:
  /// Memory of one micro-batch.
  struct Held {
    Held(const ModelConfig& config, const StageRange& range, std::size_t rows, Ops& ops);
    std::size_t batch = 0;
    Buffer<std::int32_t> tokens; // [B, T]
    std::vector<BlockActivations> blocks;
    std::vector<BlockGradients> flow;
    Buffer<float> dinput; // [rows, C]
    Buffer<float> dnorms; // [layers, 4C], then [2C] of the final layer norm
    // Only in the last stage:
    Buffer<float> last;     // [rows, C]
    Buffer<float> lnf;      // [rows, C]
    Buffer<float> lnf_mean; // [rows]
    Buffer<float> lnf_rstd; // [rows]
    Buffer<float> logits;   // [rows, V]; their gradient after losses
  };

  Held& of(int micro_batch);
  [[nodiscard]] BlockPass passOf(std::size_t local_layer, std::size_t batch);
  void projectHead(Held& h);
  [[nodiscard]] const float* weights() const { return used_ != nullptr ? used_ : parameters_.data(); }
  [[nodiscard]] const float* projection() const;
  [[nodiscard]] float* dnormsOf(Held& h, std::size_t local_layer) {
    return h.dnorms.data() + local_layer * 4 * config_.channels;
  }

  ModelConfig config_;
  StageRange range_;
  std::size_t max_batch_;
  Ops& ops_;
  ParameterTable table_;
  Buffer<float> parameters_;
  Buffer<float> head_weight_; // [V, C], empty unless this is the last stage and not the first
  const float* used_ = nullptr;
  const float* used_head_ = nullptr;
  Buffer<float> scratch_; // [rows, C]
  Buffer<std::int32_t> targets_;
  Buffer<float> losses_;
  std::map<int, std::unique_ptr<Held>> held_;
  std::vector<std::unique_ptr<Held>> free_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_STAGE_MODEL_H_

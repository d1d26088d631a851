/// The stages that one rank of a pipeline holds, and what it computes with them.
#ifndef GOSS_TRAINER_PIPELINE_PIPELINE_RANK_H_
#define GOSS_TRAINER_PIPELINE_PIPELINE_RANK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "trainer/model/gradient_tree.h"
#include "trainer/model/optimizer.h"
#include "trainer/model/stage_model.h"

namespace goss::trainer {

struct PipelineRankSetup {
  ModelConfig model;
  int stages = 1;
  std::vector<int> owned;        // this rank's stages, ascending
  std::size_t micro_batch = 1;   // samples of a micro-batch
  std::size_t micro_batches = 1; // micro-batches of a step
  OptimizerConfig optimizer;
};

/// Layers [first, last) of stage `stage` of `stages`: as even as they divide, the larger shares first.
StageRange stageRange(const ModelConfig& config, int stages, int stage);

/// Adds a step's gradients in the order of the micro-batches and in GradientTree's shape, so that they have the bits of
/// a single process with the same micro-batches. One thread.
class PipelineRank {
 public:
  struct Stage {
    Stage(const PipelineRankSetup& setup, int number, Ops& ops);
    int number;
    StageModel model;
    Optimizer optimizer;
    GradientTree tree;           // sums of everything but the token embedding
    GradientTree embedding_tree; // sums of the token embedding; one element where another stage has it
    Buffer<float> gradient;      // [table().count()] the sum over the step
    std::size_t done = 0;        // micro-batches whose weight gradients are in the tree
  };
  /// Fills inputs[B, T] and targets[B, T] of a micro-batch of the step.
  using Loader =
      std::function<void(std::size_t micro_batch, std::span<std::int32_t> inputs, std::span<std::int32_t> targets)>;

  PipelineRank(const PipelineRankSetup& setup, Ops& ops);

  std::vector<std::unique_ptr<Stage>>& stages() { return stages_; }
  /// The stage with the embeddings, or the one with the output projection; null where another rank has it.
  Stage* firstStage();
  Stage* lastStage();

  /// Steps whose actions may overlap; micro-batches are numbered over all of them.
  struct Span {
    std::size_t steps = 1;
    std::size_t update_every = 0;                  // micro-batches whose gradients make one update; 0: all of a step
    std::set<std::pair<int, int>> recomputed = {}; // (stage, micro-batch) that keep only their input until recompute()
  };
  /// Called before the actions of `span`; `loader` must stay valid until they are done.
  void begin(Loader loader, float grad_scale, const Span& span);
  // The actions of a schedule. Boundaries are host memory, as StageModel's.
  void forward(int stage, int micro_batch, const float* input, float* output);
  /// Computes the activations again, for a forward pass that kept its input only.
  void recompute(int stage, int micro_batch);
  void inputGrad(int stage, int micro_batch, const float* doutput, float* dinput);
  void weightGrad(int stage, int micro_batch);
  /// Loss of each sample of the span, [steps * micro_batches * B]; zeros where another rank has the last stage.
  [[nodiscard]] const std::vector<double>& losses() const { return losses_; }
  /// The output projection's part of the token embedding's gradient, by micro-batch; [V, C] each, host memory.
  std::vector<std::vector<float>>& headGrads() { return head_grads_; }
  /// On the rank of the first stage, in the order of the micro-batches: adds the embedding's part to head_grad.
  void addHeadGrad(std::size_t micro_batch, std::span<const float> head_grad);
  /// After all micro-batches: gradient of the stage = their sum; the next micro-batch begins another sum.
  void finishGradient(Stage& stage);
  Stage& at(int stage);

 private:
  void pass(Stage& stage, int micro_batch, const float* input, float* output);
  void addToTree(GradientTree& tree, std::size_t micro_batch, std::size_t count) const;

  PipelineRankSetup setup_;
  Ops& ops_;
  std::vector<std::unique_ptr<Stage>> stages_;
  Loader loader_;
  float grad_scale_ = 0;
  std::size_t update_every_ = 1;
  std::set<std::pair<int, int>> recomputed_;
  std::map<std::pair<int, int>, std::vector<float>> kept_inputs_; // inputs kept until recompute(), host memory
  std::vector<double> losses_;
  std::vector<std::vector<float>> head_grads_; // [micro_batches of the span], on the last stage's rank
  std::vector<std::int32_t> inputs_;           // [B, T]
  std::vector<std::int32_t> targets_;          // [B, T]
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_PIPELINE_RANK_H_

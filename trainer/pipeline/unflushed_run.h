/// Steps of a pipeline that is not flushed between them: PipeDream and PipeDream-2BW.
#ifndef GOSS_TRAINER_PIPELINE_UNFLUSHED_RUN_H_
#define GOSS_TRAINER_PIPELINE_UNFLUSHED_RUN_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "trainer/model/lr_schedule.h"
#include "trainer/model/weight_stash.h"
#include "trainer/pipeline/pipeline_grid.h"
#include "trainer/pipeline/pipeline_rank.h"

namespace goss::trainer {

struct UnflushedSetup {
  PipelineGrid& grid; // prepared for as many batches as the run has steps
  PipelineRank& rank;
  Ops& ops;
  PipelineRankSetup shape;
  LrSchedule schedule;
  std::size_t first_step = 0;
  std::size_t steps = 1;
  std::function<void()> between_steps = [] {};
};

/// Runs the grid's schedule once. Every stage updates its own weights, by its own AdamW, when the gradients of an
/// update are complete: after every micro-batch with PipeDream, after every batch with 2BW. The backward pass of a
/// micro-batch uses the weights of its forward pass, which differ between stages.
///
/// The token embedding of the first stage is also the output projection of the last one. A micro-batch is projected
/// with the version that embedded it, so that both uses see one matrix, and its two gradients are added in the first
/// stage's next update. The last stage's part of the gradient is sent after the micro-batch, and every new version of
/// the matrix before the micro-batches that use it: neither makes a rank wait longer.
///
/// The weights are a function of the data and the schedule alone: PipeDream's is w(t+1) = w(t) - AdamW(gradient of
/// micro-batch t at w_s(max(0, t - (p - s - 1))) in stage s), 2BW's w(t+1) = w(t) - AdamW(gradient of batch t at
/// w(max(0, t - 1))). One thread; errors of the library are thrown as Error.
class UnflushedRun {
 public:
  explicit UnflushedRun(const UnflushedSetup& setup);

  /// Called on the ranks of the first stage, in order, with the loss of a step, summed over its tokens and all
  /// pipelines.
  using StepDone = std::function<void(double loss)>;
  /// Collective over the grid: runs the schedule once. `loader` numbers micro-batches over all steps.
  void run(const PipelineRank::Loader& loader, const StepDone& step_done);
  /// Seconds in the schedule's actions, including updates.
  [[nodiscard]] double computedSeconds() const { return computed_s_; }

 private:
  void act(const goss_pipeline_action& action, const void* input, void* output);
  void afterWeightGrad(PipelineRank::Stage& stage, std::size_t micro_batch);
  void update(PipelineRank::Stage& stage, const goss_pipeline_action& action);
  void endStep(std::size_t step);
  const float* headFor(std::size_t micro_batch);
  void receiveHead();
  void doneWithHead(std::size_t micro_batch);
  [[nodiscard]] int updates() const { return static_cast<int>(head_versions_.size() / update_every_); }
  void takeLastHead();
  [[nodiscard]] std::size_t headElems() const { return setup_.shape.model.vocab * setup_.shape.model.channels; }

  UnflushedSetup setup_;
  PipelineGrid& grid_;
  PipelineRank& rank_;
  std::size_t update_every_ = 1; // micro-batches of an update
  std::map<int, WeightStash> stashes_;
  // [micro-batch] version of the matrix that embeds and projects it
  std::vector<int> head_versions_;
  std::map<int, std::unique_ptr<Buffer<float>>> heads_; // received versions, on the last stage's rank
  // [version] remaining actions of the last stage's rank that use it
  std::vector<int> head_uses_;
  int newest_head_ = 0;
  std::vector<double> step_losses_;
  StepDone step_done_;
  double computed_s_ = 0;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_UNFLUSHED_RUN_H_

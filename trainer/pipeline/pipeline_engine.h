/// Training steps of ranks that hold stages of the model instead of all of it.
#ifndef GOSS_TRAINER_PIPELINE_PIPELINE_ENGINE_H_
#define GOSS_TRAINER_PIPELINE_PIPELINE_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/loop/step_engine.h"
#include "trainer/pipeline/pipeline_grid.h"
#include "trainer/pipeline/pipeline_rank.h"
#include "trainer/pipeline/stage_replicas.h"
#include "trainer/ranks/group.h"

namespace goss::trainer {

/// A copy of `options` with the sizes of micro-batches that --micro-batches asks for. `ranks` is the world's size.
TrainOptions withMicroBatches(const TrainOptions& options, std::size_t ranks);

/// Pipeline parallel training. Same data, same sums and same updates as ReplicaEngine: with one pipeline, the weights
/// have the bits of a single process with the same micro-batches, whatever the schedule. Several pipelines share the
/// micro-batches and add their gradients; with --islands or --sync the pipelines of an island do so, and a synchronizer
/// keeps the islands together, stage by stage. The token embedding, which the output projection shares, belongs to the
/// first stage: the last stage sends its part of the gradient and gets the new weights.
class PipelineEngine : public StepEngine {
 public:
  /// The ranks of the world, for the sums of the trainer and for the pipelines' communicators.
  struct Ranks {
    Group& group;
    goss_comm_t world;
  };
  /// Collective, as ReplicaEngine's. All that it refers to must outlive the engine. Throws Error.
  PipelineEngine(const TrainOptions& options, const Dataset& data, const Ranks& ranks, Ops& ops, Report& report);

  [[nodiscard]] const ParameterTable& table() const override { return table_; }
  [[nodiscard]] std::string sync() const override { return sync_ ? sync_->spec() : run_.options.sync; }
  [[nodiscard]] std::string grid() const override;
  void start(const CheckpointStart& start) override;
  void reportStart() override;
  bool train() override;
  void synchronize() override;
  double validationLoss() override;
  /// The first island's whole model on rank 0, empty vectors elsewhere.
  TrainingState state() override;
  [[nodiscard]] RankShare heldBy(int rank) const override;
  [[nodiscard]] bool keepsOwn() const override { return run_.group.size() > 1; }
  ReplicaState ownState() override;
  void finish() override;
  Gpt& model() override { return *whole_model_; }
  void describe() override;
  [[nodiscard]] std::string warning() const override;
  void abort(const std::string& reason) override;

 private:
  using Clock = std::chrono::steady_clock;
  void checkAgreement();
  void checkUnflushed() const;
  void checkDrains() const;
  void compressBoundaries();
  bool trainStep();
  bool trainWithoutFlush();
  [[nodiscard]] std::size_t stepsUntilEvent() const;
  /// Loads micro-batch `micro_batch` of this pipeline in `step`.
  void load(std::size_t step, std::size_t micro_batch, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const;
  void act(const goss_pipeline_action& action, const void* input, void* output);
  void exchangeHeadGradients();
  double updateParameters(double lr);
  void shareHeadWeight();
  void validateStage(PipelineRank::Stage& stage, std::vector<double>& losses);
  [[nodiscard]] ParameterTable tableOf(int stage) const;
  void gatherFirstIsland(ReplicaState& whole, bool with_moments);
  [[nodiscard]] std::size_t boundaryElems(std::size_t batch) const {
    return batch * run_.options.model.context * run_.options.model.channels;
  }
  [[nodiscard]] std::size_t microBatches() const; ///< of one pipeline and step
  /// Number, within its step, of the first sample of this pipeline's micro-batch.
  [[nodiscard]] std::size_t firstSample(std::size_t micro_batch) const {
    return (static_cast<std::size_t>(grid_.replica()) * microBatches() + micro_batch) * run_.options.micro_batch;
  }

  PipelineGrid grid_;
  ParameterTable table_; // the table of the whole model
  PipelineRank rank_;
  std::optional<StageReplicas> sync_; // between islands; declared after the memory that it is lent
  Windows windows_;
  std::vector<std::vector<std::vector<float>>> sent_; // [stage of this rank][sample] during a validation
  double computed_s_ = 0;                             // time in the schedule's actions
  std::unique_ptr<Gpt> whole_model_;                  // on rank 0 after finish(), to generate the sample
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_PIPELINE_ENGINE_H_

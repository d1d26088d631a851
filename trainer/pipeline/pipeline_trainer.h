/// The training loop of a rank that holds stages of the model instead of all of it.
#ifndef GOSS_TRAINER_PIPELINE_PIPELINE_TRAINER_H_
#define GOSS_TRAINER_PIPELINE_PIPELINE_TRAINER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/base/time_limit.h"
#include "trainer/data/dataset.h"
#include "trainer/files/training_state.h"
#include "trainer/model/lr_schedule.h"
#include "trainer/pipeline/pipeline_grid.h"
#include "trainer/pipeline/pipeline_rank.h"
#include "trainer/pipeline/stage_replicas.h"
#include "trainer/ranks/group.h"
#include "trainer/run/report.h"
#include "trainer/run/run_card.h"
#include "trainer/run/run_checkpoints.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {

/// The sizes of micro-batches that --micro-batches asks for, filled into a copy of `options`. `ranks` is the world's.
TrainOptions withMicroBatches(const TrainOptions& options, std::size_t ranks);

/// Pipeline parallel training. Same data, same sums and same updates as Trainer: with one pipeline, the weights have
/// the bits of a single process with the same micro-batches, whatever the schedule. Several pipelines share the
/// micro-batches and add their gradients; with --islands or --sync those of an island do, and a synchronizer keeps the
/// islands together, stage by stage. The token embedding, which the output projection shares, belongs to the first
/// stage: the last one sends its part of the gradient and gets the new weights.
class PipelineTrainer {
 public:
  /// Collective, as Trainer's. `world` joins the same ranks as `group`; both, and the other references, must outlive
  /// the trainer. Throws Error.
  PipelineTrainer(const TrainOptions& options, const Dataset& data, Group& group, goss_comm_t world, Ops& ops,
                  Report& report);

  /// Collective, as Trainer::run.
  void run();
  /// Mean loss of each step of this run, in nats a token.
  [[nodiscard]] const std::vector<double>& lossHistory() const { return card_.losses; }
  /// Collective: mean loss over the validation samples.
  double validationLoss();
  /// Collective: the first island's whole model on rank 0, empty vectors elsewhere.
  TrainingState state();

 private:
  using Clock = std::chrono::steady_clock;
  void checkAgreement();
  void checkUnflushed() const;
  void checkDrains() const;
  void compressBoundaries();
  [[nodiscard]] std::string grid() const;
  void startParameters();
  void noteStart();
  void runSteps();
  bool trainStep();
  bool trainWithoutFlush();
  [[nodiscard]] std::size_t stepsUntilEvent() const;
  /// Micro-batch `micro_batch` of this pipeline in `step`.
  void load(std::size_t step, std::size_t micro_batch, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const;
  void act(const goss_pipeline_action& action, const void* input, void* output);
  void exchangeHeadGradients();
  void endSync();
  double updateParameters(double lr);
  void shareHeadWeight();
  void validateStage(PipelineRank::Stage& stage, std::vector<double>& losses);
  void validate();
  void gatherIsland(int island, ReplicaState& whole);
  void saveCheckpoint();
  void finish();
  [[nodiscard]] std::size_t boundaryElems(std::size_t batch) const {
    return batch * options_.model.context * options_.model.channels;
  }
  [[nodiscard]] std::size_t microBatches() const; ///< of one pipeline
  /// Number in its step of the first sample of this pipeline's micro-batch.
  [[nodiscard]] std::size_t firstSample(std::size_t micro_batch) const {
    return (static_cast<std::size_t>(grid_.replica()) * microBatches() + micro_batch) * options_.micro_batch;
  }

  TrainOptions options_;
  const Dataset& data_;
  Group& group_;
  Ops& ops_;
  Report& report_;
  PipelineGrid grid_;
  ParameterTable table_; // of the whole model
  PipelineRank rank_;
  std::optional<StageReplicas> sync_; // between islands; after what it is lent
  LrSchedule schedule_;
  std::string settings_;
  std::vector<std::int32_t> prompt_;
  Windows windows_;
  std::size_t step_ = 0;
  RunCheckpoints checkpoints_;
  TimeLimit time_limit_;
  std::vector<std::vector<std::vector<float>>> sent_; // [stage of this rank][sample] during a validation
  double computed_s_ = 0;                             // in the schedule's actions
  RunCard card_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_PIPELINE_TRAINER_H_

/// The interface between the training loop and the two ways to train: every rank holds the whole model, or stages of a
/// pipeline.
#ifndef GOSS_TRAINER_LOOP_STEP_ENGINE_H_
#define GOSS_TRAINER_LOOP_STEP_ENGINE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "trainer/base/stop_request.h"
#include "trainer/base/time_limit.h"
#include "trainer/compute/ops.h"
#include "trainer/data/dataset.h"
#include "trainer/files/training_state.h"
#include "trainer/model/gpt.h"
#include "trainer/model/lr_schedule.h"
#include "trainer/ranks/group.h"
#include "trainer/run/report.h"
#include "trainer/run/run_card.h"
#include "trainer/run/run_checkpoints.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {

/// State that the loop and its engine share. The references must outlive it.
struct TrainingRun {
  /// `checked` has passed checkTrainOptions().
  TrainingRun(TrainOptions checked, const Dataset& dataset, Group& ranks, Ops& backend, Report& reporter)
      : options(std::move(checked)),
        data(dataset),
        group(ranks),
        ops(backend),
        report(reporter),
        schedule{options.lr, options.lr * options.final_lr, options.warmup, options.steps},
        settings(trajectorySettings(options, data.fingerprint())),
        time_limit(options.time_limit_s) {}

  /// Local: whether this rank wants the run to stop after this step.
  [[nodiscard]] bool wantsStop() const { return stop_requested != 0 || (group.rank() == 0 && time_limit.isOver()); }
  [[nodiscard]] bool isValidationDue() const { return options.val_every != 0 && step % options.val_every == 0; }
  [[nodiscard]] bool isCheckpointDue() const {
    return options.checkpoint_every != 0 && step % options.checkpoint_every == 0;
  }

  TrainOptions options;
  const Dataset& data;
  Group& group;
  Ops& ops;
  Report& report;
  LrSchedule schedule;
  std::string settings; // trajectorySettings of this run
  std::size_t step = 0; // steps done
  TimeLimit time_limit;
  RunCard card;
  // where steps of one call of train() overlap, called between them: goes on with a checkpoint that is being written
  std::function<void()> between_steps = [] {};
};

/// Trains steps and holds the model. TrainingLoop calls the methods in the order of their declaration, from one thread.
/// Collective unless a comment says otherwise; failures throw Error.
class StepEngine {
 public:
  explicit StepEngine(TrainingRun run) : run_(std::move(run)) {}
  virtual ~StepEngine() = default;
  StepEngine(const StepEngine&) = delete;
  StepEngine& operator=(const StepEngine&) = delete;

  /// Local: the state shared with the loop.
  [[nodiscard]] TrainingRun& run() { return run_; }
  /// Local: the tensors of the whole model.
  [[nodiscard]] virtual const ParameterTable& table() const = 0;
  /// Local: canonical spec of the synchronizer that keeps the copies together.
  [[nodiscard]] virtual std::string sync() const = 0;
  /// Local: how the ranks share the model. Equal texts: every rank can continue with its own state.
  [[nodiscard]] virtual std::string grid() const = 0;
  /// Takes the parameters and moments with which the run begins.
  virtual void start(const CheckpointStart& start) = 0;
  /// Local: reports the sizes of the model and its grid.
  virtual void reportStart() = 0;

  /// Trains a step, or several that overlap: advances run().step, and reports those whose losses are known. False: the
  /// run should stop here.
  virtual bool train() = 0;
  /// Called before a validation, a checkpoint or the end: waits for the losses of all steps and reports them. Returns
  /// as train().
  virtual bool finishSteps() { return true; }
  /// Called after the last step of the schedule: afterwards all copies of the model hold the same parameters.
  virtual void synchronize() = 0;
  /// Mean loss over the validation samples, in nats a token.
  virtual double validationLoss() = 0;
  /// The state of one copy of the model, in the order of the parameter table; rank 0's holds all of it.
  virtual TrainingState state() = 0;
  /// Local: what rank `rank` holds of the model.
  [[nodiscard]] virtual RankShare heldBy(int rank) const = 0;
  /// Local: whether ranks differ in what they hold or keep, so that others than rank 0 have something to save.
  [[nodiscard]] virtual bool keepsOwn() const = 0;
  /// Local: this rank's share of the model, and in `ranks` what the rank keeps beside it.
  virtual ReplicaState ownState() = 0;

  /// Called after the last step of this run.
  virtual void finish() {}
  /// Local, on rank 0, after finish(): a model that generates text.
  virtual Gpt& model() = 0;
  /// Local, on rank 0: writes into run().card the synchronizer, the traffic and the time waited.
  virtual void describe() = 0;
  /// Local, on rank 0: a warning for the user, or "".
  [[nodiscard]] virtual std::string warning() const = 0;
  /// Local, when a step has failed: makes the pending calls of all ranks fail with `reason`.
  virtual void abort(const std::string& /*reason*/) {}

 protected:
  TrainingRun run_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_LOOP_STEP_ENGINE_H_

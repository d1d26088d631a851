/// A run's checkpoints, as the training loops use them.
#ifndef GOSS_TRAINER_RUN_CHECKPOINTS_H_
#define GOSS_TRAINER_RUN_CHECKPOINTS_H_

#include <cstddef>
#include <optional>
#include <string>

#include "trainer/checkpoint_writer.h"
#include "trainer/group.h"
#include "trainer/parameter_table.h"
#include "trainer/report.h"
#include "trainer/train_options.h"

namespace goss::trainer {

/// Rank 0 alone reads and writes files; a checkpoint needs no shared file system. Methods throw Error.
class RunCheckpoints {
 public:
  /// Local, and nothing is read or written yet. The references must outlive this.
  RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report);

  /// Local, after the ranks have agreed to run: rank 0 checks that the directory can hold a checkpoint of this model.
  /// What rank 0 starts with, which is the latest checkpoint if there is one and --resume was given, or else the seed's
  /// parameters. The others get vectors of the same sizes. `settings` is this run's trajectorySettings.
  TrainingState load(const std::string& settings);
  /// Local: makes a state in which the ranks differ one that all share, and says so: the mean of their parameters and
  /// moments, which is what an exchange would make of them. Nothing is left of the synchronizers' states.
  void share(TrainingState& state);
  /// Collective, once, after load: the step to start at.
  std::size_t begin(std::size_t step);
  /// The same on all ranks: whether a checkpoint of this step is to be made.
  [[nodiscard]] bool isDue(std::size_t step) const { return saves_ && saved_step_ != step; }
  /// Whether this rank gives save() a state.
  [[nodiscard]] bool isWriter() const { return writer_.has_value(); }
  /// Local: writes in the background, after waiting for the checkpoint before. Ranks that are no writers give an empty
  /// state.
  void save(std::size_t step, TrainingState state);
  /// Local: reports what has been written, and throws if it could not be. Never waits.
  void poll();
  /// As poll, after waiting. Before the end of a run.
  void finish();

 private:
  const TrainOptions& options_;
  const ParameterTable& table_;
  Group& group_;
  Report& report_;
  bool saves_ = false; // rank 0 writes checkpoints
  std::size_t saved_step_ = 0;
  std::optional<CheckpointWriter> writer_; // rank 0 only; last, for its thread uses the others
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_CHECKPOINTS_H_

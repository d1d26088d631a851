/// A run's checkpoints, as the training loops use them.
#ifndef GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_
#define GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trainer/files/checkpoint_writer.h"
#include "trainer/model/parameter_table.h"
#include "trainer/ranks/group.h"
#include "trainer/run/report.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {

/// Rank 0 alone reads and writes files; a checkpoint needs no shared file system. Methods throw Error.
class RunCheckpoints {
 public:
  /// Local, and nothing is read or written yet. The references must outlive this.
  RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report);

  /// Collective, once: what this rank starts with. A checkpoint of the same synchronizer and grid gives each rank its
  /// own again. Of another one all ranks get the mean of the copies' parameters and moments, which is what an exchange
  /// would make of them, and what the synchronizers of all ranks kept, if the method is the same.
  struct Start {
    std::size_t step = 0;
    ReplicaState model; // without `ranks`
    SavedSync sync;
    std::string activations; // this rank's own
  };
  Start start(const std::string& settings, const std::string& sync, const std::string& grid);
  /// Collective, of a state to save: rank 0 gets what the ranks keep. replicas[i] is a copy that as many consecutive
  /// ranks hold; only rank 0's `replicas` counts.
  void gatherRanks(RankState mine, const std::vector<ReplicaState*>& replicas);
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
  TrainingState load(const std::string& settings);
  void forgetActivations(TrainingState& state, const std::string& of);
  std::vector<std::string> share(TrainingState& state, const std::string& sync);
  void distribute(TrainingState& state, bool is_own, Start& mine);

  const TrainOptions& options_;
  const ParameterTable& table_;
  Group& group_;
  Report& report_;
  bool saves_ = false; // rank 0 writes checkpoints
  std::size_t saved_step_ = 0;
  std::optional<CheckpointWriter> writer_; // rank 0 only; last, for its thread uses the others
};

/// Rank 0 and rank `peer`: a copy's vectors, which have their final sizes on both ends.
void moveVectors(Group& group, ReplicaState& replica, int peer, Group::Direction direction);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_

/// The checkpoints of a run, as the training loops use them.
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

/// Only rank 0 reads and writes files; a checkpoint needs no shared file system. Methods throw Error.
class RunCheckpoints {
 public:
  /// Local; neither reads nor writes yet. The references must outlive this object.
  RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report);

  /// Collective, once: the state with which this rank starts. From a checkpoint of the same synchronizer and grid each
  /// rank gets its own state again. From any other checkpoint all ranks get the mean of the copies' parameters and
  /// moments, as an exchange would compute it, and, if the method is the same, the states of all ranks' synchronizers.
  struct Start {
    std::size_t step = 0;
    ReplicaState model; // without `ranks`
    SavedSync sync;
    std::string activations; // this rank's own
  };
  Start start(const std::string& settings, const std::string& sync, const std::string& grid);
  /// Collective, for a state to save: rank 0 collects the ranks' states. replicas[i] is a copy that as many consecutive
  /// ranks hold; only rank 0's `replicas` counts.
  void gatherRanks(RankState mine, const std::vector<ReplicaState*>& replicas);
  /// Whether a checkpoint of this step is to be made; the same on all ranks.
  [[nodiscard]] bool isDue(std::size_t step) const { return saves_ && saved_step_ != step; }
  /// Whether this rank passes a state to save().
  [[nodiscard]] bool isWriter() const { return writer_.has_value(); }
  /// Local: writes in the background, after waiting for the checkpoint before. Ranks that do not write pass an empty
  /// state.
  void save(std::size_t step, TrainingState state);
  /// Local: reports a checkpoint that was written, and throws if writing failed. Never waits.
  void poll();
  /// As poll, after waiting. Called before the end of a run.
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
  std::optional<CheckpointWriter> writer_; // rank 0 only; declared last, because its thread uses the other members
};

/// Collective: whether all ranks hold the same bits of a vector, which only its hash crosses the network to tell.
bool areEqual(Group& group, const std::vector<float>& vector);

/// Called by rank 0 and rank `peer`: moves a copy's vectors, which have their final sizes on both ends.
void moveVectors(Group& group, ReplicaState& replica, int peer, Group::Direction direction);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_

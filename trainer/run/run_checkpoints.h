/// The checkpoints of a run, as the training loops use them.
#ifndef GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_
#define GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/files/checkpoint.h"
#include "trainer/files/checkpoint_writer.h"
#include "trainer/model/parameter_table.h"
#include "trainer/ranks/group.h"
#include "trainer/run/checkpoint_start.h"
#include "trainer/run/report.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {

/// What a rank gives to save: of the run, the same on all ranks, and of its own.
struct Snapshot {
  std::size_t step = 0;
  std::string settings, sync, grid;          // as in TrainingState
  std::function<RankShare(int rank)> shares; // of any rank
  ReplicaState own;                          // in the order of the rank's share; `ranks` has what the rank keeps
};

/// Every rank writes what no rank before it holds, in the background. Methods throw Error.
class RunCheckpoints {
 public:
  /// Local; neither reads nor writes yet. The references must outlive this object.
  RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report);

  /// Collective, once: the state with which this rank starts. `keeps_own`: ranks but 0 have something to save.
  CheckpointStart start(const CheckpointSetting& setting, bool keeps_own);
  /// Whether a checkpoint of this step is to be made; the same on all ranks.
  [[nodiscard]] bool isDue(std::size_t step) const { return saves_ && saved_step_ != step; }
  /// Collective: begins to write a checkpoint, after waiting for the one before. Only hashes cross.
  void save(Snapshot snapshot);
  /// Local: goes on with the checkpoint that is being written, reports it when it is whole, and throws if writing
  /// failed. Never waits.
  void poll() { advance(false); }
  /// As poll, until nothing remains to be done by this rank. Called before the end of a run.
  void finish();

 private:
  /// How far the newest checkpoint is on this rank. Rank 0 waits for the parts of other ranks, which send it a word:
  /// what went wrong, or nothing.
  enum class Phase { idle, writing, waiting, committing };
  void advance(bool waits);
  void write(std::string name, std::vector<std::string> names, CheckpointIndex index, Snapshot snapshot);

  const TrainOptions& options_;
  const ParameterTable& table_;
  Group& group_;
  Report& report_;
  bool saves_ = false; // rank 0 has a directory
  std::size_t saved_step_ = 0;
  std::optional<CheckpointStore> store_; // where this rank has a directory
  Phase phase_ = Phase::idle;
  std::set<int> awaited_;        // on rank 0: ranks whose parts are not known to be on the disk
  std::function<void()> commit_; // on rank 0
  CheckpointWriter writer_;      // declared last, because its thread uses the other members
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_

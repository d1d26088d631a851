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

/// How the ranks of a run hold its state; the same on all ranks.
struct Holdings {
  std::function<RankShare(int rank)> share_of;
  bool differ = true; // StepEngine::keepsOwn; false: every rank holds what rank 0 holds, and rank 0 alone saves
};

/// The state to save. Only `own` differs between ranks.
struct Snapshot {
  std::size_t step = 0;
  CheckpointSetting setting;
  std::function<ReplicaState()> own; // StepEngine::ownState; called only where this rank may have something to write
};

/// Every rank writes, in the background, what no rank of a lower number holds. Methods throw Error.
class RunCheckpoints {
 public:
  /// Local; neither reads nor writes yet. The references must outlive this object.
  RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report);

  /// Collective, once: the state with which this rank starts. Refuses a directory that cannot be written, or that has
  /// no space for the vectors that this rank will write.
  CheckpointStart start(const CheckpointSetting& setting, Holdings holdings);
  /// Whether a checkpoint of this step is to be made; the same on all ranks.
  [[nodiscard]] bool isDue(std::size_t step) const { return saves_ && saved_step_ != step; }
  /// Collective: begins to write a checkpoint, after waiting for the one before. Ranks exchange hashes alone, and
  /// nothing where all hold the same.
  void save(const Snapshot& snapshot);
  /// Local: goes on with the checkpoint that is being written, reports it when it is complete, and throws if writing
  /// failed. Never waits.
  void poll() { advance(false); }
  /// As poll, until nothing remains to be done by this rank. Called before the end of a run.
  void finish();

 private:
  /// How far the newest checkpoint is on this rank. Each rank that has written its part sends rank 0 a text: what went
  /// wrong, or nothing. Rank 0 commits the checkpoint when it has all of them.
  enum class Phase { idle, writing, waiting, committing };
  void advance(bool waits);
  [[nodiscard]] std::vector<PieceHashes> hashesOfAll(const RankShare& share, const ReplicaState& own);
  void write(std::string name, std::vector<std::string> names, CheckpointIndex index, ReplicaState own);

  const TrainOptions& options_;
  const ParameterTable& table_;
  Group& group_;
  Report& report_;
  bool saves_ = false; // rank 0 has a directory
  std::size_t saved_step_ = 0;
  Holdings holdings_;                    // as start() got them
  std::optional<CheckpointStore> store_; // where this rank has a directory
  Phase phase_ = Phase::idle;
  std::set<int> awaited_;        // on rank 0: ranks that have not yet told that their parts are on the disk
  std::function<void()> commit_; // on rank 0: makes the checkpoint the latest
  CheckpointWriter writer_;      // declared last, because its thread uses the other members
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_RUN_CHECKPOINTS_H_

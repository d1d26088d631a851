/// Finds the state with which a run begins: a checkpoint's, or a new one.
#ifndef GOSS_TRAINER_RUN_CHECKPOINT_START_H_
#define GOSS_TRAINER_RUN_CHECKPOINT_START_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/files/checkpoint.h"
#include "trainer/model/parameter_table.h"
#include "trainer/ranks/group.h"
#include "trainer/run/report.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {

/// What decides whether a rank goes on with its own state: members of TrainingState, the same on all ranks.
struct CheckpointSetting {
  std::string settings, sync, grid;
};

/// The state with which a rank starts.
struct CheckpointStart {
  std::size_t step = 0;
  // Vectors of the whole table, without `ranks`. Where a rank goes on with its own state only its share is valid.
  ReplicaState model;
  SavedSync sync;
  std::string activations; // this rank's own
};

/// Loads the latest checkpoint that is complete. If it was written with the same synchronizer and grid, each rank reads
/// its own state again; a vector that another rank wrote into a directory that this rank does not see is sent by that
/// rank. From any other checkpoint all ranks get the mean of the copies' parameters and moments, as an exchange would
/// compute it, and, if the method is the same, the states of all ranks' synchronizers. Rank 0 alone reads then, and
/// must see all files.
class CheckpointLoader {
 public:
  /// `store` is where this rank has a directory, or null. The references must outlive this object.
  CheckpointLoader(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report,
                   CheckpointStore* store);
  /// Collective, once. Throws Error that names the file and the reason.
  CheckpointStart load(const CheckpointSetting& setting);

 private:
  enum class Kind : std::uint64_t { none, whole, own };
  /// On rank 0: a checkpoint to try. Every rank reads its part of one of Kind::own; rank 0 has read one of Kind::whole.
  struct FoundCheckpoint {
    Kind kind = Kind::none;
    std::string name;
    TrainingState state; // of Kind::whole
    std::string index;   // of Kind::own: the text of the index
  };
  /// What a rank could read of its part.
  struct OwnPart {
    CheckpointStart start;
    std::array<bool, kVectors> is_missing{}; // vectors that another rank wrote, and that this rank does not see
    std::string error;                       // why the checkpoint cannot be used, or empty
  };
  [[nodiscard]] TrainingState newState() const;
  FoundCheckpoint next();
  FoundCheckpoint read(const std::string& name) const;
  OwnPart readOwn(const std::string& name, const CheckpointIndex& index, bool with_activations);
  std::optional<CheckpointStart> startOwn(const FoundCheckpoint& candidate);
  std::string firstError(std::string error);
  void sendMissing(const CheckpointIndex& index, std::size_t piece, OwnPart& part);
  CheckpointStart startWhole(TrainingState state);
  void noteUse(std::size_t step, const std::string& settings);
  void noteForgotten(const std::string& of);
  std::vector<std::string> mergeCopies(TrainingState& state);
  void distributeCopies(TrainingState& state);
  RankState distributeRanks(TrainingState& state);

  const TrainOptions& options_;
  const ParameterTable& table_;
  Group& group_;
  Report& report_;
  CheckpointStore* store_;
  CheckpointSetting setting_;        // as load() got it
  std::vector<std::string> names_;   // on rank 0: checkpoints that were not tried
  std::vector<std::string> damaged_; // on rank 0: file and reason of each that could not be used
};

/// Collective: returns rank 0's text on every rank.
std::string broadcastText(Group& group, std::string text);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_CHECKPOINT_START_H_

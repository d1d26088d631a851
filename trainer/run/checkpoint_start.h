/// The state with which a run begins: of a checkpoint, or new.
#ifndef GOSS_TRAINER_RUN_CHECKPOINT_START_H_
#define GOSS_TRAINER_RUN_CHECKPOINT_START_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/files/checkpoint.h"
#include "trainer/model/parameter_table.h"
#include "trainer/ranks/group.h"
#include "trainer/run/report.h"
#include "trainer/run/train_options.h"

namespace goss::trainer {

/// What decides whether a rank goes on with its own state.
struct CheckpointSetting {
  std::string settings, sync, grid; // as in TrainingState
};

/// The state with which a rank starts.
struct CheckpointStart {
  std::size_t step = 0;
  ReplicaState model; // of the whole table; without `ranks`. Of a rank that goes on with its own, only its share counts
  SavedSync sync;
  std::string activations; // this rank's own
};

/// Loads the latest checkpoint that is whole. With the same synchronizer and grid each rank reads its own state again;
/// vectors that another rank wrote, and that it does not see in its directory, come from there. From any other
/// checkpoint all ranks get the mean of the copies' parameters and moments, as an exchange would compute it, and, if
/// the method is the same, the states of all ranks' synchronizers; rank 0 alone reads then, and must see all files.
class CheckpointLoader {
 public:
  /// `store` is where this rank has a directory, or null. The references must outlive this object.
  CheckpointLoader(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report,
                   CheckpointStore* store);
  /// Collective, once. Throws Error that names the file and the reason.
  CheckpointStart load(const CheckpointSetting& setting);

 private:
  enum class Kind : std::uint64_t { none, whole, own };
  /// On rank 0: a checkpoint to try.
  struct Candidate {
    Kind kind = Kind::none;
    std::string name;
    TrainingState state; // of Kind::whole
    std::string index;   // of Kind::own: the text of the index
  };
  [[nodiscard]] TrainingState newState() const;
  Candidate next(const CheckpointSetting& setting);
  Candidate read(const std::string& name, const CheckpointSetting& setting) const;
  std::string readOwn(const std::string& name, const CheckpointIndex& index, bool with_activations,
                      CheckpointStart& mine);
  bool startOwn(const Candidate& candidate, const CheckpointSetting& setting, CheckpointStart& mine);
  std::string firstError(std::string error);
  void sendMissing(const CheckpointIndex& index, std::size_t piece, std::vector<float>& vector);
  CheckpointStart startWhole(TrainingState state, const CheckpointSetting& setting);
  void noteUse(std::size_t step, const std::string& its_settings, const std::string& settings);
  void noteForgotten(const std::string& of);
  bool forgetActivations(TrainingState& state);
  std::vector<std::string> share(TrainingState& state, const std::string& sync);
  void distribute(TrainingState& state, bool is_own, CheckpointStart& mine);

  const TrainOptions& options_;
  const ParameterTable& table_;
  Group& group_;
  Report& report_;
  CheckpointStore* store_;
  std::vector<std::string> names_;      // on rank 0: checkpoints that were not tried
  std::vector<std::string> damaged_;    // on rank 0: file and reason of each that could not be used
  std::array<bool, kVectors> misses_{}; // vectors that this rank does not see in its directory
};

/// Collective: whether all ranks hold the same bits of a vector, which only its hash crosses the network to tell.
bool areEqual(Group& group, const std::vector<float>& vector);
/// Collective: rank 0's text on every rank.
std::string broadcastText(Group& group, std::string text);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_CHECKPOINT_START_H_

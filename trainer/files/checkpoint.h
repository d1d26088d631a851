/// Checkpoints of a run: written so that a crash at any moment leaves a whole one behind.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/files/training_state.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

struct LoadedCheckpoint {
  TrainingState state;
  std::vector<std::string> damaged; ///< File and reason of each newer checkpoint that could not be used.
};

/// A directory DIR with folders DIR/step-00000100 (trainer/files/checkpoint_files.h) and DIR/latest, the name of the
/// newest whole one. A checkpoint is written under a temporary name, flushed, renamed, and only then named by `latest`.
/// One process uses a directory at a time, and one thread an object. Every method throws Error that names the file and
/// the reason.
class CheckpointStore {
 public:
  /// Keeps the newest `keep` checkpoints of this course of training. Damaged ones that were found, and those of a
  /// course that was left (of later steps than the one that was loaded or saved last), are removed first.
  CheckpointStore(std::string directory, std::size_t keep);

  /// Creates the directory and proves that it can be written and has space for a checkpoint of `bytes`, so that a run
  /// does not fail an hour later.
  void prepare(std::size_t bytes) const;
  /// Writes a checkpoint. On failure the earlier checkpoints are unchanged.
  void save(const ModelConfig& config, const ParameterTable& table, const TrainingState& state);
  /// Loads the checkpoint that `latest` names; when that is damaged, the newest whole one of no later step. nullopt
  /// when the directory has none. A whole checkpoint of another model is refused.
  [[nodiscard]] std::optional<LoadedCheckpoint> loadLatest(const ModelConfig& config, const ParameterTable& table);

 private:
  [[nodiscard]] std::string freshName(std::size_t step) const;
  [[nodiscard]] std::vector<std::string> namesNewestFirst() const;
  [[nodiscard]] std::vector<std::string> candidates(std::vector<std::string>& damaged) const;
  void removeOld(const std::string& latest, std::size_t step) const;

  std::string directory_;
  std::size_t keep_;
  std::set<std::string> passed_over_; // names that loadLatest passed over, until one is used again
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_H_

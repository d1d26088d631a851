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
  std::vector<std::string> damaged; ///< Of each newer one that could not be used: the file and the reason.
};

/// A directory DIR with folders DIR/step-00000100 (trainer/files/checkpoint_files.h) and DIR/latest, the name of the
/// newest whole one. A checkpoint is written under a temporary name, flushed, renamed, and only then named by `latest`.
/// One process uses a directory at a time, and one thread an object. Every method throws Error that names the file and
/// the reason.
class CheckpointStore {
 public:
  /// Keeps the newest `keep` checkpoints of this course; damaged ones that were met, and those of a course that was
  /// left (of later steps than the one that was loaded or saved last), are the first to go.
  CheckpointStore(std::string directory, std::size_t keep);

  /// Makes the directory and proves that it can be written and has room for a checkpoint of `bytes`, so that a run does
  /// not fail an hour later.
  void prepare(std::size_t bytes) const;
  /// On failure the earlier checkpoints are as they were.
  void save(const ModelConfig& config, const ParameterTable& table, const TrainingState& state);
  /// The one that `latest` names; when that is damaged, the newest whole one of no later step. None when the directory
  /// has none. A whole one of another model is refused.
  [[nodiscard]] std::optional<LoadedCheckpoint> loadLatest(const ModelConfig& config, const ParameterTable& table);

 private:
  [[nodiscard]] std::string freshName(std::size_t step) const;
  [[nodiscard]] std::vector<std::string> namesNewestFirst() const;
  [[nodiscard]] std::vector<std::string> candidates(std::vector<std::string>& damaged) const;
  void removeOld(const std::string& latest, std::size_t step) const;

  std::string directory_;
  std::size_t keep_;
  std::set<std::string> passed_over_; // names by loadLatest, until one is used again
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_H_

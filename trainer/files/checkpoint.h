/// Checkpoints of a run: written so that a crash at any moment leaves a whole one behind.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/files/checkpoint_index.h"
#include "trainer/files/training_state.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// A directory DIR with folders DIR/step-00000100 and DIR/latest, the name of the newest whole one. Every rank writes
/// its part into the folder (trainer/files/checkpoint_parts.h); when all parts are on the disk, rank 0 writes the index
/// (trainer/files/checkpoint_index.h), and only then lets `latest` name the folder. Ranks see one directory, or each
/// its own. A run uses a directory at a time, and one thread an object. Every method throws Error that names the file
/// and the reason.
class CheckpointStore {
 public:
  /// Keeps the newest `keep` checkpoints of this course of training. Damaged ones that were found, and those of a
  /// course that was left (of later steps than the one that was loaded or saved last), are removed first.
  CheckpointStore(std::string directory, std::size_t keep, std::size_t rank);

  [[nodiscard]] std::string folder(const std::string& name) const { return directory_ + "/" + name; }
  /// Creates the directory, removes what a crash has left of checkpoints, and proves that the directory can be written
  /// and has space for `bytes`, so that a run does not fail an hour later.
  void prepare(std::size_t bytes) const;

  /// On rank 0: makes the folder of a checkpoint, and returns its name.
  std::string begin(std::size_t step) const;
  /// The names of the folders.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Writes this rank's part (writePart), and removes its parts of checkpoints that rank 0 had in this run, or that
  /// use() has found, and that are not among `names`, rank 0's. On failure earlier checkpoints are unchanged.
  void writePart(const std::string& name, const CheckpointIndex& index, const std::vector<Parameter>& tensors,
                 const ReplicaState& own, const std::vector<std::string>& names);
  /// On rank 0, after all parts were written: makes the checkpoint the latest, and removes old ones. On failure earlier
  /// checkpoints are unchanged.
  void commit(const std::string& name, const CheckpointIndex& index);

  /// The checkpoints to try, in this order: the one that `latest` names, and those of no later step. A `latest` that
  /// names nothing counts as a damaged file, which is told in `damaged`.
  [[nodiscard]] std::vector<std::string> candidates(std::vector<std::string>& damaged) const;
  /// Tells that the run goes on from the checkpoint `name`, of which this rank wrote a part: newer ones were left, and
  /// what is in the directory belongs to this course of training.
  void use(const std::string& name);

 private:
  [[nodiscard]] std::string freshName(std::size_t step) const;
  /// What `latest` names.
  [[nodiscard]] std::optional<std::string> latest() const;
  void remove(const std::string& name) const;
  void removeOld(const std::string& latest, std::size_t step) const;
  void removeUnfinished() const;
  void removeOwnBut(const std::vector<std::string>& names);

  std::string directory_;
  std::size_t keep_;
  std::size_t rank_;
  std::set<std::string> passed_over_; // names that use() passed over, until one is used again
  std::set<std::string> known_;       // names that rank 0 has or had in this run, or that use() found
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_H_

/// Checkpoints of a run: written so that a crash at any moment leaves a whole one behind.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/files/checkpoint_index.h"
#include "trainer/files/training_state.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// A directory DIR has a folder for each checkpoint, such as DIR/step-00000100, and a file DIR/latest with the name of
/// the newest complete one. Every rank writes its part into the folder (trainer/files/checkpoint_parts.h). When all
/// parts are on the disk, rank 0 writes the index (trainer/files/checkpoint_index.h), and then the name into `latest`.
/// Ranks may share a directory, or each have its own. One run at a time may use a directory, and one thread an object.
/// Every method throws Error that names the file and the reason.
class CheckpointStore {
 public:
  /// Keeps `keep` checkpoints and removes the others: first damaged ones and those of a course of training that the
  /// user left, then the oldest.
  CheckpointStore(std::string directory, std::size_t keep, std::size_t rank);

  [[nodiscard]] std::string folder(const std::string& name) const { return directory_ + "/" + name; }
  /// Creates the directory, and returns a number of its disk, below 2^53: ranks of one host that have their directories
  /// on one disk get the same.
  [[nodiscard]] std::uint64_t disk() const;
  /// Creates the directory, removes what a crash has left of checkpoints, and proves that the directory can be written
  /// and has space for the `bytes` of a checkpoint, so that a run does not fail an hour later.
  void prepare(std::size_t bytes) const;

  /// For a new run, which would remove another run's checkpoints with its own old ones: throws when there are any.
  void requireNone() const;

  /// On rank 0: makes the folder of a checkpoint, and returns its name.
  std::string begin(std::size_t step) const;
  /// The names of the folders.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Writes this rank's part (writePart). `names` are the checkpoints that rank 0 has: the rank removes its parts of
  /// others that rank 0 had earlier in this run, or that use() found. On failure earlier checkpoints are unchanged.
  void writePart(const std::string& name, const CheckpointIndex& index, const std::vector<Parameter>& tensors,
                 const ReplicaState& own, const std::vector<std::string>& names);
  /// On rank 0, after all parts were written: makes the checkpoint the latest, and removes old ones. Sets
  /// CheckpointIndex::before. On failure earlier checkpoints are unchanged.
  void commit(const std::string& name, const CheckpointIndex& written);

  /// The checkpoints to try, in this order: the one that `latest` names, and those of its course of training before it.
  /// Adds a message to `damaged` when `latest` names a folder that is not there, and returns all then.
  [[nodiscard]] std::vector<std::string> candidates(std::vector<std::string>& damaged) const;
  /// Tells that the run goes on from the checkpoint `name`, of which this rank wrote a part. The run may remove the
  /// others, those of other courses first, and its own parts of all that are there.
  void use(const std::string& name);

 private:
  [[nodiscard]] std::string freshName(std::size_t step) const;
  /// What `latest` names.
  [[nodiscard]] std::optional<std::string> latest() const;
  /// The complete ones among names().
  [[nodiscard]] std::vector<std::string> wholeNames() const;
  /// The checkpoint `name`, and those that are there of its course of training before it, the newest first. An index
  /// that does not tell them takes all older ones for them.
  [[nodiscard]] std::vector<std::string> courseOf(const std::string& name) const;
  void remove(const std::string& name) const;
  void removeOld(std::size_t step) const;
  void removeUnfinished() const;
  void removeOwnBut(const std::vector<std::string>& names);

  std::string directory_;
  std::size_t keep_;
  std::size_t rank_;
  std::vector<std::string> course_; // the checkpoints through which this run came where it is, the newest first
  std::set<std::string> known_;     // folders that rank 0 has or had in this run, or that use() found
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_H_

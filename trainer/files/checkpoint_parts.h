/// Writes and reads the parts of a checkpoint, one for each rank.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_PARTS_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_PARTS_H_

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "trainer/files/checkpoint_index.h"
#include "trainer/files/training_state.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// Writes the files that the index assigns to `rank` into `folder`, which exists: first under temporary names, and
/// flushed to the disk as the folder is. `own` is as hashesOf takes it. Rank 0 also writes the index's texts. Throws
/// Error.
void writePart(const std::string& folder, const CheckpointIndex& index, std::size_t rank,
               const std::vector<Parameter>& tensors, const ReplicaState& own);

/// Reads a rank's vector, one of the first kVectors pieces, and puts its tensors at their offsets of `table` in
/// `whole`, which has the size of `table`. Returns the number of elements read. Throws Error, with the file's name,
/// when the file is missing or damaged.
std::size_t readVector(const std::string& folder, const CheckpointIndex::Rank& rank, std::size_t piece,
                       const ParameterTable& table, std::vector<float>& whole);
/// Reads a text of a rank; empty when the rank had none. Throws as readVector.
std::string readRankText(const std::string& folder, const CheckpointIndex::Rank& rank, std::size_t piece);

/// Reads vectors of a copy from the files of all its ranks. Throws as readVector.
ReplicaState readCopy(const std::string& folder, const CheckpointIndex& index, std::size_t copy,
                      const ParameterTable& table, std::initializer_list<std::size_t> vectors);
/// Reads all copies of a checkpoint, and the texts of their ranks. Where all ranks held the same and had no texts the
/// state has no `others` and no `ranks`. Throws as readVector.
TrainingState readWhole(const std::string& folder, const CheckpointIndex& index, const ParameterTable& table);

/// Removes those files that the index assigns to `rank` which exist.
void removePart(const std::string& folder, const CheckpointIndex& index, std::size_t rank);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_PARTS_H_

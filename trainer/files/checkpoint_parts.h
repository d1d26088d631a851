/// What each rank writes of a checkpoint, and what is read of it again.
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

/// Writes the files that the index gives to `rank`, under temporary names first, and flushes them and the folder, which
/// exists, to the disk. `own` is as hashesOf takes it; rank 0 also writes the index's texts. Throws Error.
void writePart(const std::string& folder, const CheckpointIndex& index, std::size_t rank,
               const std::vector<Parameter>& tensors, const ReplicaState& own);

/// Reads a rank's vector, one of the first kVectors pieces: the tensors that the rank held go to their places in
/// `whole`, which has the size of `table`. Returns the number of elements. Throws Error, with the file's name, when it
/// is missing or damaged.
std::size_t readVector(const std::string& folder, const CheckpointIndex& index, std::size_t rank, std::size_t piece,
                       const ParameterTable& table, std::vector<float>& whole);
/// Reads a text of a rank; empty where it has none. Throws as readVector.
std::string readRankText(const std::string& folder, const CheckpointIndex& index, std::size_t rank, std::size_t piece);

/// Reads vectors of a copy from the files of all its ranks, and what these kept. Throws as readVector.
ReplicaState readCopy(const std::string& folder, const CheckpointIndex& index, std::size_t copy,
                      const ParameterTable& table, std::initializer_list<std::size_t> vectors);
/// Reads a checkpoint with all copies, and what their ranks kept. Where all is the same there are no `others`, and no
/// `ranks` either where no rank kept anything. Throws as readVector.
TrainingState readWhole(const std::string& folder, const CheckpointIndex& index, const ParameterTable& table);

/// Removes the files that the index gives to `rank`, as far as they are there.
void removePart(const std::string& folder, const CheckpointIndex& index, std::size_t rank);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_PARTS_H_

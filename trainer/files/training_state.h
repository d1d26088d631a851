/// Everything a run needs to continue exactly as if it had not stopped.
#ifndef GOSS_TRAINER_FILES_TRAINING_STATE_H_
#define GOSS_TRAINER_FILES_TRAINING_STATE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// State that a rank keeps beside its part of a model.
struct RankState {
  std::string sync;        // Replicas::state
  std::string activations; // PipelineGrid::activations
};

/// Which part of which copy of the model a rank holds. Ranks of one copy hold all of it together; some may hold the
/// same.
struct RankShare {
  std::size_t copy = 0;
  std::vector<Parameter> tensors; // offsets count within the rank's vectors
};

/// One copy of the model, held by one rank or by the stages of an island, or one rank's share of it. Vectors are flat:
/// in ParameterTable's order, or in that of RankShare.
struct ReplicaState {
  std::vector<float> parameters;
  std::vector<float> first_moments;
  std::vector<float> second_moments;
  std::vector<RankState> ranks; // state of the ranks that hold this copy; empty where no rank keeps any
};

/// The first copy's state, and that of the others where they differ. Data order and random numbers are pure functions
/// of the seed, which is in the settings, and the step (trainer/base/random.h): they need not be saved.
struct TrainingState : ReplicaState {
  std::size_t step = 0; // steps done
  std::string settings; // trajectorySettings of the run that wrote it
  std::string sync;     // Replicas::spec of that run
  // how the ranks shared the model: with the same grid, each continues with its own state
  std::string grid;
  std::vector<ReplicaState> others; // empty where all ranks hold the same; else each has as many ranks as the first
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_TRAINING_STATE_H_

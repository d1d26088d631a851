/// What a run needs to go on exactly as if it had not stopped.
#ifndef GOSS_TRAINER_TRAINING_STATE_H_
#define GOSS_TRAINER_TRAINING_STATE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace goss::trainer {

/// What one rank holds. Vectors are flat, in ParameterTable's order.
struct ReplicaState {
  std::vector<float> parameters;
  std::vector<float> first_moments;
  std::vector<float> second_moments;
  std::string sync_state; // Replicas::state; empty where all ranks hold the same
};

/// Rank 0's state, and that of the others where it differs. Data order and random numbers are pure functions of the
/// seed, which is in the settings, and the step (trainer/random.h): there is nothing else to save of them.
struct TrainingState : ReplicaState {
  std::size_t step = 0;             // steps done
  std::string settings;             // trajectorySettings of the run that wrote it
  std::string sync;                 // Replicas::spec of that run
  std::vector<ReplicaState> others; // ranks 1 and on; empty where all ranks hold the same
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_TRAINING_STATE_H_

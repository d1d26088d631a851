/// What a run needs to go on exactly as if it had not stopped.
#ifndef GOSS_TRAINER_FILES_TRAINING_STATE_H_
#define GOSS_TRAINER_FILES_TRAINING_STATE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace goss::trainer {

/// What a rank keeps beside its part of a model.
struct RankState {
  std::string sync;        // Replicas::state
  std::string activations; // PipelineGrid::activations
};

/// One copy of the model, of one rank or of the stages of an island. Vectors are flat, in ParameterTable's order.
struct ReplicaState {
  std::vector<float> parameters;
  std::vector<float> first_moments;
  std::vector<float> second_moments;
  std::vector<RankState> ranks; // of the ranks that hold this copy; empty where no rank keeps anything
};

/// The first copy's state, and that of the others where they differ. Data order and random numbers are pure functions
/// of the seed, which is in the settings, and the step (trainer/base/random.h): there is nothing else to save of them.
struct TrainingState : ReplicaState {
  std::size_t step = 0;             // steps done
  std::string settings;             // trajectorySettings of the run that wrote it
  std::string sync;                 // Replicas::spec of that run
  std::string grid;                 // how its ranks shared the model: where it is the same, each goes on with its own
  std::vector<ReplicaState> others; // empty where all ranks hold the same; else with as many ranks each as the first
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_TRAINING_STATE_H_

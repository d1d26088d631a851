/// Checkpoints of a run: written so that a crash at any moment leaves a whole one behind.
#ifndef GOSS_TRAINER_CHECKPOINT_H_
#define GOSS_TRAINER_CHECKPOINT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trainer/model_config.h"
#include "trainer/parameter_table.h"

namespace goss::trainer {

/// What one rank holds. Vectors are flat, in ParameterTable's order.
struct ReplicaState {
  std::vector<float> parameters;
  std::vector<float> first_moments;
  std::vector<float> second_moments;
  std::string sync_state; // Replicas::state; empty where all ranks hold the same
};

/// What a run needs to go on exactly as if it had not stopped: rank 0's state, and that of the others where it differs.
struct TrainingState : ReplicaState {
  std::size_t step = 0;             // steps done
  std::string settings;             // trajectorySettings of the run that wrote it
  std::string sync;                 // Replicas::spec of that run
  std::vector<ReplicaState> others; // ranks 1 and on; empty where all ranks hold the same
};

/// A directory DIR with
///   DIR/step-00000100/model.safetensors   GPT-2's tensor names, as transformers' GPT2LMHeadModel loads them
///   DIR/step-00000100/config.json         a Hugging Face GPT-2 configuration
///   DIR/step-00000100/optim.safetensors   exp_avg/NAME and exp_avg_sq/NAME; metadata: step, settings, sync, ranks
///   DIR/step-00000100/rank-0001.safetensors  where ranks differ: model/NAME, exp_avg/NAME and exp_avg_sq/NAME
///   DIR/step-00000100/rank-0000.sync      where ranks differ: the synchronizer's state of a rank
///   DIR/latest                            the name of the newest whole one
/// A checkpoint is written under a temporary name, flushed, renamed, and only then named by `latest`. One process uses
/// a directory at a time. Every method throws Error that names the file and the reason.
class CheckpointStore {
 public:
  /// Keeps the newest `keep` checkpoints.
  CheckpointStore(std::string directory, std::size_t keep);

  /// Makes the directory and proves that it can be written, so that a run does not fail an hour later.
  void prepare() const;
  /// On failure the previous checkpoint stays the latest.
  void save(const ModelConfig& config, const ParameterTable& table, const TrainingState& state) const;
  /// The latest checkpoint; none when the directory has none. Its config.json must say `config`'s sizes, and its
  /// tensors must have the shapes of `table`.
  [[nodiscard]] std::optional<TrainingState> loadLatest(const ModelConfig& config, const ParameterTable& table) const;

 private:
  void writeFiles(const std::string& path, const ModelConfig& config, const ParameterTable& table,
                  const TrainingState& state) const;
  void writeReplicas(const std::string& path, const ParameterTable& table, const TrainingState& state) const;
  void readReplicas(const std::string& path, const ParameterTable& table, std::size_t ranks,
                    TrainingState& state) const;
  [[nodiscard]] std::string freshName(std::size_t step) const;
  [[nodiscard]] std::optional<std::string> latestName() const;
  void removeOld(const std::string& latest) const;

  std::string directory_;
  std::size_t keep_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_CHECKPOINT_H_

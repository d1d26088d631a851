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

/// What a run needs to go on exactly as if it had not stopped. Vectors are flat, in ParameterTable's order.
struct TrainingState {
  std::size_t step = 0; // steps done
  std::vector<float> parameters;
  std::vector<float> first_moments;
  std::vector<float> second_moments;
  std::string settings; // trajectorySettings of the run that wrote it
};

/// A directory DIR with
///   DIR/step-00000100/model.safetensors   GPT-2's tensor names, as transformers' GPT2LMHeadModel loads them
///   DIR/step-00000100/config.json         a Hugging Face GPT-2 configuration
///   DIR/step-00000100/optim.safetensors   exp_avg/NAME and exp_avg_sq/NAME; metadata: step, settings
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
  [[nodiscard]] std::string freshName(std::size_t step) const;
  [[nodiscard]] std::optional<std::string> latestName() const;
  void removeOld(const std::string& latest) const;

  std::string directory_;
  std::size_t keep_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_CHECKPOINT_H_

/// The sizes of a GPT.
#ifndef GOSS_TRAINER_MODEL_MODEL_CONFIG_H_
#define GOSS_TRAINER_MODEL_MODEL_CONFIG_H_

#include <cstddef>

namespace goss::trainer {

struct ModelConfig {
  std::size_t layers = 4;
  std::size_t channels = 128;
  std::size_t heads = 4;
  std::size_t context = 128;
  std::size_t vocab = 256;

  bool operator==(const ModelConfig&) const = default;
};

/// Throws Error that names the flag: sizes must be positive, `heads` must divide `channels`, and no product may
/// overflow.
void checkModelConfig(const ModelConfig& config);

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_MODEL_CONFIG_H_

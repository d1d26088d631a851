/// The architecture and the sizes of a model.
#ifndef GOSS_TRAINER_MODEL_MODEL_CONFIG_H_
#define GOSS_TRAINER_MODEL_MODEL_CONFIG_H_

#include <cstddef>

namespace goss::trainer {

/// gpt2: LayerNorm, learned positions, GELU, biases (Radford et al. 2019). llama: RMSNorm, rotary positions, SwiGLU, no
/// biases (Touvron et al. 2023), with as many heads of keys as of queries. Both tie the output projection to the token
/// embedding.
enum class Architecture { gpt2, llama };

struct ModelConfig {
  std::size_t layers = 4;
  std::size_t channels = 128;
  std::size_t heads = 4;
  std::size_t context = 128;
  std::size_t vocab = 256;
  Architecture arch = Architecture::gpt2;

  [[nodiscard]] bool isLlama() const { return arch == Architecture::llama; }
  /// Width of the MLP: 4 channels, or 8/3 of them, which has as many parameters with SwiGLU, up to a multiple of 32.
  [[nodiscard]] std::size_t mlpWidth() const { return isLlama() ? (channels * 8 / 3 + 31) / 32 * 32 : 4 * channels; }
  /// Outputs of the MLP's first projection: SwiGLU takes two.
  [[nodiscard]] std::size_t mlpInputs() const { return isLlama() ? 2 * mlpWidth() : mlpWidth(); }
  /// Parameters of a norm: weight, and bias where there are biases.
  [[nodiscard]] std::size_t normParameters() const { return isLlama() ? channels : 2 * channels; }

  bool operator==(const ModelConfig&) const = default;
};

/// Throws Error that names the flag: sizes must be positive, `heads` must divide `channels` (llama: into even
/// parts), and no product may overflow.
void checkModelConfig(const ModelConfig& config);

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_MODEL_CONFIG_H_

/// Generates text from a model.
#ifndef GOSS_TRAINER_DATA_SAMPLER_H_
#define GOSS_TRAINER_DATA_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/model/gpt.h"

namespace goss::trainer {

struct SampleOptions {
  std::size_t count = 400;
  double temperature = 0.8; // 0: always the likeliest token
  std::uint64_t seed = 1;
  std::size_t top_k = 0; // only the likeliest so many tokens; 0: all
  double top_p = 1;      // of these, the fewest whose probabilities reach this part of theirs (Holtzman et al. 2020)
};

/// `count` tokens that continue `prompt` (not empty, tokens below the vocabulary). Every token costs one forward pass
/// over the last `context` tokens. The same parameters, prompt and seed give the same tokens.
std::vector<std::int32_t> sampleTokens(Gpt& model, std::span<const std::int32_t> prompt, const SampleOptions& options);

/// The tokens of a text that a sample continues; for data without a tokenizer, the first ones of the validation data.
/// Throws Error when the vocabulary lacks one.
std::vector<std::int32_t> promptTokens(const std::string& prompt, const Dataset& data, const ModelConfig& model);

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_SAMPLER_H_

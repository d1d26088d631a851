#include "trainer/data/dataset.h"

#include <xxhash.h>

#include <algorithm>

#include "trainer/base/error.h"
#include "trainer/base/random.h"
#include "trainer/data/corpus.h"

namespace goss::trainer {

namespace {

constexpr std::size_t kMaxValidationTokens = std::size_t{1} << 20;

} // namespace

Dataset Dataset::load(const std::string& path) {
  if (path.empty()) return Dataset(bytesToTokens(readBible()), true);
  const std::string bytes = readFile(path);
  if (isTokenFile(bytes)) return Dataset(decodeTokenFile(bytes, path), false);
  return Dataset(bytesToTokens(bytes), true);
}

Dataset::Dataset(std::vector<std::uint16_t> tokens, bool is_text)
    : tokens_(std::move(tokens)),
      training_count_(tokens_.size() - std::min(tokens_.size() / 20, kMaxValidationTokens)),
      is_text_(is_text),
      fingerprint_(XXH3_64bits(tokens_.data(), tokens_.size() * sizeof(std::uint16_t))) {}

void Dataset::check(std::size_t context, std::size_t vocab) const {
  if (validation().size() < context + 1) {
    fail("the data has {} tokens; --context {} needs at least {}, since 5% are held out for validation", tokens_.size(),
         context, 20 * (context + 1));
  }
  const std::uint16_t largest = *std::max_element(tokens_.begin(), tokens_.end());
  if (largest >= vocab) {
    fail("the data has token {}, so --vocab must be at least {} (GPT-2: 50257), not {}", largest, largest + 1, vocab);
  }
}

std::size_t windowStart(std::uint64_t seed, std::size_t step, std::size_t sample, std::size_t token_count,
                        std::size_t context) {
  return randomBelow(randomBits(seed, RandomStream::batches, step, sample), token_count - context);
}

std::uint64_t Windows::numberOf(std::size_t step, std::size_t sample) const {
  const std::uint64_t bits = randomBits(seed, RandomStream::batches, step, sample);
  return samples == 0 ? bits : randomBelow(bits, samples);
}

std::size_t Windows::startOf(std::size_t step, std::size_t sample) const {
  if (samples == 0) return windowStart(seed, step, sample, token_count, context);
  constexpr auto kNoStep = static_cast<std::size_t>(-1); // the windows of the set belong to no step
  return windowStart(seed, kNoStep, numberOf(step, sample), token_count, context);
}

std::size_t validationStart(std::size_t token_count, std::size_t context, std::size_t sample, std::size_t samples) {
  return samples == 1 ? 0 : (token_count - context - 1) * sample / (samples - 1);
}

void readWindow(std::span<const std::uint16_t> tokens, std::size_t start, std::span<std::int32_t> inputs,
                std::span<std::int32_t> targets) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = tokens[start + i];
    targets[i] = tokens[start + i + 1];
  }
}

} // namespace goss::trainer

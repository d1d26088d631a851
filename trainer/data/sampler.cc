#include "trainer/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/base/error.h"
#include "trainer/base/random.h"

namespace goss::trainer {

namespace {

/// Sets the weights of tokens to 0 that top_k and top_p leave out; of equal weights the first stay. Returns the sum.
double keepLikeliest(std::vector<double>& weights, const SampleOptions& options) {
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  if ((options.top_k == 0 || options.top_k >= weights.size()) && options.top_p >= 1) return total;
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  const std::size_t most = options.top_k == 0 ? order.size() : std::min(options.top_k, order.size());
  total = 0;
  for (std::size_t i = 0; i < most; ++i)
    total += weights[order[i]];
  double kept = 0;
  std::size_t count = 0;
  while (count < most && (count == 0 || kept < options.top_p * total))
    kept += weights[order[count++]];
  for (std::size_t i = count; i < order.size(); ++i)
    weights[order[i]] = 0;
  return kept;
}

/// Index of the token that a uniform number `unit` in [0, 1) falls on.
std::int32_t pick(std::span<const float> logits, const SampleOptions& options, double unit) {
  const auto top = std::max_element(logits.begin(), logits.end());
  if (options.temperature == 0) return static_cast<std::int32_t>(top - logits.begin());
  std::vector<double> weights(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    weights[i] = std::exp((static_cast<double>(logits[i]) - static_cast<double>(*top)) / options.temperature);
  double left = unit * keepLikeliest(weights, options);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(top - logits.begin()); // rounding left the sum below `unit`
}

} // namespace

std::vector<std::int32_t> sampleTokens(Gpt& model, std::span<const std::int32_t> prompt, const SampleOptions& options) {
  const std::size_t context = model.config().context;
  std::vector<std::int32_t> tokens(prompt.begin(), prompt.end());
  std::vector<std::int32_t> window(context);
  for (std::size_t n = 0; n < options.count; ++n) {
    const std::size_t used = std::min(tokens.size(), context);
    std::copy(tokens.end() - static_cast<std::ptrdiff_t>(used), tokens.end(), window.begin());
    // attention is causal: these are never seen
    std::fill(window.begin() + static_cast<std::ptrdiff_t>(used), window.end(), 0);
    model.forward(window);
    const std::vector<float> logits = model.logitsAt(used - 1);
    const double unit = randomUnit(randomBits(options.seed, RandomStream::sampling, 0, n));
    tokens.push_back(pick(logits, options, unit));
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  return tokens;
}

std::vector<std::int32_t> promptTokens(const std::string& prompt, const Dataset& data, const ModelConfig& model) {
  constexpr std::size_t kTokenPrompt = 8;
  std::vector<std::int32_t> tokens;
  if (data.tokenizer().takesText()) {
    tokens = data.tokenizer().encode(prompt);
  } else {
    const std::size_t count = std::min(kTokenPrompt, model.context);
    tokens.resize(count);
    data.validation().copy(0, std::span(tokens));
  }
  for (const std::int32_t token : tokens) {
    if (static_cast<std::size_t>(token) >= model.vocab) fail("--prompt has token {}, not below --vocab", token);
  }
  return tokens;
}

} // namespace goss::trainer

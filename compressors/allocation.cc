#include "compressors/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compressors/chain.h"

namespace goss::compressors {

namespace {

constexpr std::size_t kBins = 10000;
constexpr double kNever = std::numeric_limits<double>::infinity();

Status wrong(const std::string& text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, "allocation: " + text); }

/// Bins of the budget that an error takes; more than kBins where the error does not fit.
std::size_t binsOf(double error, double budget) {
  if (error <= 0) {
    return 0;
  }
  const double bins = std::ceil(error / budget * static_cast<double>(kBins));
  return bins <= static_cast<double>(kBins) ? static_cast<std::size_t>(bins) : kBins + 1;
}

double errorOf(std::span<const LayerOptions> layers, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    sum += layers[i][chosen[i]].error;
  }
  return sum;
}

double bytesOf(std::span<const LayerOptions> layers, const std::vector<std::size_t>& chosen) {
  double sum = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    sum += layers[i][chosen[i]].bytes;
  }
  return sum;
}

class Aligned {
 public:
  explicit Aligned(std::size_t bytes) : memory_(bytes + 64) {}
  std::span<std::byte> span() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return std::span(memory_).subspan((64 - address % 64) % 64).first(memory_.size() - 64);
  }

 private:
  std::vector<std::byte> memory_;
};

Result<LayerOption> measure(std::span<const float> values, const std::string& spec) {
  auto made = makeCompression(spec);
  if (!made.isOk()) {
    return made.status();
  }
  const Codec& codec = *made.value().codec;
  Aligned scratch(codec.scratchBytes(values.size()));
  std::vector<std::byte> payload(codec.maxBytes(values.size()));
  EncodeSegment segment{0, values.size(), payload, 0};
  EncodeJob job;
  job.values = values;
  job.scratch = scratch.span();
  job.segments = {&segment, 1};
  if (Status status = codec.encode(job); !status.isOk()) {
    return wrong(status.text());
  }
  std::vector<float> decoded(values.size());
  const PayloadView view = PayloadView(payload).first(segment.bytes);
  DecodeJob back;
  back.payloads = {&view, 1};
  back.out = decoded;
  back.scratch = scratch.span();
  if (Status status = codec.decode(back); !status.isOk()) {
    return status;
  }
  LayerOption option{spec, static_cast<double>(segment.bytes), 0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double lost = static_cast<double>(values[i]) - static_cast<double>(decoded[i]);
    option.error += lost * lost;
  }
  if (!std::isfinite(option.error)) option.error = kNever;
  return option;
}

} // namespace

Result<LayerOptions> measureLayer(std::span<const float> values, std::span<const std::string> specs) {
  LayerOptions options;
  for (const std::string& spec : specs) {
    auto option = measure(values, spec);
    if (!option.isOk()) {
      return option.status();
    }
    options.push_back(option.take());
  }
  return options;
}

Result<std::vector<std::size_t>> allocateWithinBudget(std::span<const LayerOptions> layers, double budget) {
  if (!(budget >= 0)) {
    return wrong(fmt::format("a budget of {} is no squared error", budget));
  }
  // fewest[b]: the fewest bytes of the layers so far within b bins; choice[layer][b]: the option of that layer in this
  // solution.
  std::vector<double> fewest(kBins + 1, 0.0);
  std::vector<std::vector<std::uint32_t>> choice;
  for (const LayerOptions& options : layers) {
    std::vector<double> next(kBins + 1, kNever);
    std::vector<std::uint32_t>& chosen = choice.emplace_back(kBins + 1, 0);
    for (std::size_t o = 0; o < options.size(); ++o) {
      const std::size_t taken = binsOf(options[o].error, budget);
      for (std::size_t b = taken; b <= kBins; ++b) {
        const double bytes = fewest[b - taken] + options[o].bytes;
        if (bytes < next[b]) {
          next[b] = bytes;
          chosen[b] = static_cast<std::uint32_t>(o);
        }
      }
    }
    fewest = std::move(next);
  }
  if (fewest[kBins] == kNever) {
    return wrong(
        fmt::format("no choice of {} layers keeps its errors within {}; raise the budget or offer finer codecs",
                    layers.size(), budget));
  }
  std::vector<std::size_t> result(layers.size());
  std::size_t left = kBins;
  for (std::size_t i = layers.size(); i-- > 0;) {
    result[i] = choice[i][left];
    left -= binsOf(layers[i][result[i]].error, budget);
  }
  return result;
}

Result<std::vector<std::size_t>> allocateAsUniform(std::span<const LayerOptions> layers, std::size_t uniform,
                                                   double slack) {
  for (const LayerOptions& options : layers) {
    if (uniform >= options.size()) {
      return wrong(fmt::format("a layer has {} options and no option {}", options.size(), uniform));
    }
  }
  std::vector<std::size_t> everywhere(layers.size(), uniform);
  auto chosen = allocateWithinBudget(layers, slack * errorOf(layers, everywhere));
  // Errors are rounded up, so that even the uniform choice itself may not fit into the bins.
  if (slack >= 1 && (!chosen.isOk() || bytesOf(layers, chosen.value()) > bytesOf(layers, everywhere))) {
    return everywhere;
  }
  return chosen;
}

} // namespace goss::compressors

#include "compressors/sparse/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace goss::compressors {

namespace {

std::size_t wanted(double ratio, std::size_t count) {
  const auto k = static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(count)));
  return std::min(k, count);
}

std::uint32_t magnitude(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu; }

/// The k-th largest magnitude (k >= 1) of every stride-th value, by its digits: the upper 11 bits, 11 more, 9 more.
/// `ties` tells how many of its equals are among the first k.
Cut kthLargest(const float* values, std::size_t count, std::size_t stride, std::uint64_t k) {
  constexpr std::array<unsigned, 3> kShifts = {20, 9, 0};
  constexpr std::array<std::uint32_t, 3> kDigits = {0x7ff, 0x7ff, 0x1ff};
  Cut cut;
  std::uint32_t prefix = 0;
  for (std::size_t digit = 0; digit < kShifts.size(); ++digit) {
    const unsigned shift = kShifts[digit];
    const std::uint32_t above = digit == 0 ? 0u : ~0u << kShifts[digit - 1];
    // Four histograms in turn, so that equal neighbours do not wait for each other.
    std::array<std::array<std::uint32_t, 2048>, 4> histogram{};
    for (std::size_t i = 0, turn = 0; i < count; i += stride, ++turn) {
      const std::uint32_t bits = magnitude(values[i]);
      if ((bits & above) == prefix) {
        ++histogram[turn % 4][(bits >> shift) & kDigits[digit]];
      }
    }
    std::uint32_t bucket = kDigits[digit];
    for (;; --bucket) {
      const std::uint64_t here =
          std::uint64_t{histogram[0][bucket]} + histogram[1][bucket] + histogram[2][bucket] + histogram[3][bucket];
      if (here >= k || bucket == 0) {
        break;
      }
      k -= here;
    }
    prefix |= bucket << shift;
  }
  cut.threshold = prefix;
  cut.ties = k;
  return cut;
}

class ExactTopK final : public Selector {
 public:
  ExactTopK(double ratio, const SparseLoops& loops) : ratio_(ratio), loops_(loops) {}
  [[nodiscard]] std::string spec() const override { return fmt::format("topk:ratio={},select=exact", ratio_); }
  [[nodiscard]] std::size_t most(std::size_t count) const override { return wanted(ratio_, count); }
  [[nodiscard]] bool stable() const override { return true; }
  std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const override {
    const std::size_t k = most(count);
    return k == 0 ? 0 : loops_.collect(values, count, kthLargest(values, count, 1, k), indices);
  }

 private:
  const double ratio_;
  const SparseLoops& loops_;
};

class SampledTopK final : public Selector {
 public:
  SampledTopK(double ratio, const SparseLoops& loops) : ratio_(ratio), loops_(loops) {}
  [[nodiscard]] std::string spec() const override { return fmt::format("topk:ratio={},select=sampled", ratio_); }
  [[nodiscard]] std::size_t most(std::size_t count) const override { return wanted(ratio_, count); }
  [[nodiscard]] bool stable() const override { return false; }
  std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const override {
    const std::size_t k = most(count);
    if (k == 0) {
      return 0;
    }
    if (loops_.countFrom(values, count, 0x7f800000u) != 0) { // an overflow must not be cut off with what is too many
      return loops_.collect(values, count, kthLargest(values, count, 1, k), indices);
    }
    // One in a hundred, but enough to hold ten of the wanted ones; odd, so that rows of a matrix differ in their
    // samples.
    const auto enough = static_cast<std::size_t>(std::ceil(10.0 / ratio_));
    const std::size_t stride = std::max<std::size_t>(std::min<std::size_t>(101, count / enough), 1) | 1u;
    const std::size_t sampled = (count + stride - 1) / stride;
    Cut cut = kthLargest(values, count, stride, std::max<std::size_t>(wanted(ratio_, sampled), 1));
    for (int round = 0; round < 10; ++round) {
      const std::size_t held = loops_.countFrom(values, count, cut.threshold);
      const bool few = 5 * held<4 * k, many = 10 * held> 13 * k;
      if (!few && !many) {
        break;
      }
      cut.threshold = magnitude(std::bit_cast<float>(cut.threshold) * (few ? 0.8f : 1.3f));
    }
    return loops_.collect(values, count, {cut.threshold, count, k}, indices);
  }

 private:
  const double ratio_;
  const SparseLoops& loops_;
};

class Threshold final : public Selector {
 public:
  Threshold(float value, const SparseLoops& loops) : value_(value), loops_(loops) {}
  [[nodiscard]] std::string spec() const override { return fmt::format("threshold:value={}", value_); }
  [[nodiscard]] std::size_t most(std::size_t count) const override { return count; }
  [[nodiscard]] bool stable() const override { return true; }
  std::size_t select(const float* values, std::size_t count, std::uint32_t* indices) const override {
    return loops_.collect(values, count, {magnitude(value_), count, count}, indices);
  }

 private:
  const float value_;
  const SparseLoops& loops_;
};

} // namespace

std::unique_ptr<const Selector> makeExactTopK(double ratio, const SparseLoops& loops) {
  return std::make_unique<ExactTopK>(ratio, loops);
}
std::unique_ptr<const Selector> makeSampledTopK(double ratio, const SparseLoops& loops) {
  return std::make_unique<SampledTopK>(ratio, loops);
}
std::unique_ptr<const Selector> makeThreshold(float value, const SparseLoops& loops) {
  return std::make_unique<Threshold>(value, loops);
}

} // namespace goss::compressors

/// What a sample says about the k largest elements, on CPUs and GPUs.
#ifndef GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_
#define GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compressors/common/element.h"

namespace goss::compressors {

/// A sample of groups evenly apart. If the sample is representative, somewhat more than k of all elements reach the
/// magnitude that `wanted()` of the sample's elements reach. A sample that is not representative costs only time.
struct SamplePlan {
  static constexpr std::size_t kGroup = 16; ///< Elements side by side: a cache line.

  /// 1 <= k <= count.
  SamplePlan(std::size_t count, std::size_t k)
      : groups(
            std::min(count / 8, static_cast<std::size_t>(kHits * static_cast<double>(count) / static_cast<double>(k))) /
            kGroup),
        hits(static_cast<double>(k) / static_cast<double>(count) * static_cast<double>(groups * kGroup)) {}

  std::size_t groups;
  double hits; ///< Selected elements that the sample is expected to hold.

  /// Whether a sample of an eighth of the vector or less holds enough of the selected elements.
  [[nodiscard]] bool pays() const { return hits >= kMinHits; }
  [[nodiscard]] std::uint64_t wanted() const { return static_cast<std::uint64_t>(1.15 * hits + 3 * std::sqrt(hits)); }

 private:
  static constexpr double kHits = 400;
  static constexpr double kMinHits = 60;
};

/// The search for a threshold that about k elements reach, by a strided sample. Where no such threshold is found, the k
/// largest are selected exactly.
struct SampledSearch {
  /// Thresholds that are tried: each costs a pass, and an exact selection costs few passes.
  static constexpr int kRounds = 3;
  static constexpr float kLower = 0.8f;
  static constexpr float kRaise = 1.3f;

  enum class Verdict { good, few, many, somewhatMany };

  /// 0 < ratio <= 1, count > 0. The sample takes one element in a hundred, or more, to hold ten of the wanted ones; the
  /// stride is odd, so that rows of a matrix differ in their samples.
  SampledSearch(double ratio, std::size_t count) {
    const auto enough = static_cast<std::size_t>(std::ceil(10.0 / ratio));
    stride = std::max<std::size_t>(std::min<std::size_t>(101, count / enough), 1) | 1u;
    const std::size_t sampled = (count + stride - 1) / stride;
    wanted = std::max<std::size_t>(static_cast<std::size_t>(kAim * ratio * static_cast<double>(sampled)), 1);
  }

  /// Judges a threshold that `reached` elements reach, when `most` may be sent.
  GOSS_HOST_DEVICE static Verdict judge(std::uint64_t reached, std::uint64_t most) {
    if (5 * reached < 4 * most) return Verdict::few;
    if (reached <= most) return Verdict::good;
    return 10 * reached > 13 * most ? Verdict::many : Verdict::somewhatMany;
  }

  std::size_t stride; ///< Distance between neighbouring elements of the sample.
  std::size_t wanted; ///< Rank, within the sample, of the first threshold.

 private:
  static constexpr double kAim = 0.9; ///< Part of k elements that the next threshold aims at.
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_

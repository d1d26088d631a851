/// What samples tell of the k largest elements, on CPUs and GPUs.
#ifndef GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_
#define GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compressors/common/element.h"

namespace goss::compressors {

/// A sample of groups evenly apart. The magnitude that `wanted()` of its elements reach, somewhat more than k of all
/// reach, if the sample is like the rest. Where it deceived, nothing is lost but time.
struct SamplePlan {
  static constexpr std::size_t kGroup = 16; ///< Elements side by side: a cache line.

  /// 1 <= k <= count.
  SamplePlan(std::size_t count, std::size_t k)
      : groups(
            std::min(count / 8, static_cast<std::size_t>(kHits * static_cast<double>(count) / static_cast<double>(k))) /
            kGroup),
        hits(static_cast<double>(k) / static_cast<double>(count) * static_cast<double>(groups * kGroup)) {}

  std::size_t groups;
  double hits; ///< Selected elements that it is expected to hold.

  /// Whether a sample of an eighth or less says enough.
  [[nodiscard]] bool pays() const { return hits >= kMinHits; }
  [[nodiscard]] std::uint64_t wanted() const { return static_cast<std::uint64_t>(1.15 * hits + 3 * std::sqrt(hits)); }

 private:
  static constexpr double kHits = 400;
  static constexpr double kMinHits = 60;
};

/// The search for a threshold that about k elements reach, by a strided sample. Where it finds none, the k largest are
/// selected exactly.
struct SampledSearch {
  static constexpr int kRounds = 3; ///< Thresholds that are tried: each costs a pass, and an exact selection few.
  static constexpr float kLower = 0.8f;
  static constexpr float kRaise = 1.3f;

  enum class Verdict { good, few, many, somewhatMany };

  /// 0 < ratio <= 1, count > 0. One in a hundred, but enough to hold ten of the wanted ones; odd, so that rows of a
  /// matrix differ in their samples.
  SampledSearch(double ratio, std::size_t count) {
    const auto enough = static_cast<std::size_t>(std::ceil(10.0 / ratio));
    stride = std::max<std::size_t>(std::min<std::size_t>(101, count / enough), 1) | 1u;
    const auto sampled = static_cast<double>((count + stride - 1) / stride);
    wanted = std::max<std::size_t>(static_cast<std::size_t>(kAim * ratio * sampled), 1);
  }

  /// Whether a threshold will do: `reached` elements have at least its magnitude, and `most` may be sent.
  GOSS_HOST_DEVICE static Verdict judge(std::uint64_t reached, std::uint64_t most) {
    if (5 * reached < 4 * most) return Verdict::few;
    if (reached <= most) return Verdict::good;
    return 10 * reached > 13 * most ? Verdict::many : Verdict::somewhatMany;
  }

  std::size_t stride; ///< Elements from one of the sample to the next.
  std::size_t wanted; ///< Which largest one of the sample is the first threshold.

 private:
  static constexpr double kAim = 0.9; ///< The middle of what is good.
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_

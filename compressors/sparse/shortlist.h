/// How a sample tells which elements may be among the k largest, so that one pass finds them all.
#ifndef GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_
#define GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

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
  [[nodiscard]] bool pays() const { return hits >= kLeastHits; }
  [[nodiscard]] std::uint64_t wanted() const { return static_cast<std::uint64_t>(1.15 * hits + 3 * std::sqrt(hits)); }

 private:
  static constexpr double kHits = 400;
  static constexpr double kLeastHits = 60;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_SHORTLIST_H_

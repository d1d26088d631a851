/// Inputs whose results are known exactly, and the check of results against them.
#ifndef GOSS_BENCH_SUITE_PATTERN_H_
#define GOSS_BENCH_SUITE_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gossamer/gossamer.h"

namespace goss::bench {

/// Small whole numbers, chosen so that no partial result of `contributors` ranks leaves the numbers that the dtype
/// holds exactly: then every order of summation gives the same bits. They depend on rank, position and round, and
/// repeat after a prime number of elements, so that a block in the wrong place does not go unseen. Thread-safe once
/// made.
class Pattern {
 public:
  static constexpr std::size_t kPeriod = 1009;
  /// GOSS_PREMUL_SUM is checked with this factor on every rank.
  static constexpr double kPremulFactor = 2;

  /// `contributors` is 1 for collectives that only move data. Throws std::invalid_argument when the dtype cannot hold
  /// exact results of so many ranks.
  Pattern(goss_dtype dtype, goss_op op, int contributors, int round);

  /// Fills in elements first..first+count of the vector that `rank` sends.
  void fill(void* buffer, int rank, std::size_t first, std::size_t count) const;

  /// How many of `count` elements differ from the reduction, over ranks begin..end-1, of their elements from `first`
  /// on.
  [[nodiscard]] std::size_t wrong(const void* got, int begin_rank, int end_rank, std::size_t first,
                                  std::size_t count) const;

 private:
  [[nodiscard]] std::int64_t input(int rank, std::size_t index) const;
  [[nodiscard]] std::int64_t reduced(int begin_rank, int end_rank, std::size_t index) const;

  goss_dtype dtype_;
  goss_op op_;
  int contributors_;
  int round_;
  std::size_t width_;
  std::int64_t exact_; ///< All whole numbers up to this one are exact in the dtype.
};

/// The bits of a small whole number as a `dtype`, low byte first; exact for |value| up to exactLimit(dtype).
std::uint64_t encodeWhole(goss_dtype dtype, std::int64_t value);
std::int64_t exactLimit(goss_dtype dtype);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_PATTERN_H_

/// Loops of the sparsifiers.
#ifndef GOSS_COMPRESSORS_SPARSE_FORMAT_H_
#define GOSS_COMPRESSORS_SPARSE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace goss::compressors {

/// Magnitudes as integers of the same order: the bits of a float without its sign. NaNs are the largest.
struct Cut {
  std::uint32_t threshold = 0;             ///< Larger magnitudes are taken.
  std::uint64_t ties = 0;                  ///< So many equal ones, the first, are taken too.
  std::uint64_t limit = ~std::uint64_t{0}; ///< No more than this are taken, the first.
};

struct SparseLoops {
  /// Writes the indices of what the cut takes, ascending, and returns how many.
  std::size_t (*collect)(const float* values, std::size_t count, Cut cut, std::uint32_t* indices) = nullptr;
  /// Writes the indices of magnitudes of at least `threshold`, ascending, and returns how many; more than `room` when
  /// so many do not fit, or nearly so.
  std::size_t (*gather)(const float* values, std::size_t count, std::uint32_t threshold, std::size_t room,
                        std::uint32_t* indices) = nullptr;
  /// How many magnitudes are at least `threshold`.
  std::size_t (*countFrom)(const float* values, std::size_t count, std::uint32_t threshold) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_FORMAT_H_

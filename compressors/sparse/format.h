/// Loops of the sparsifiers.
#ifndef GOSS_COMPRESSORS_SPARSE_FORMAT_H_
#define GOSS_COMPRESSORS_SPARSE_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "compressors/common/runs.h"

namespace goss::compressors {

/// Magnitudes as integers of the same order: the bits of a float without its sign. NaNs are the largest.
struct Cut {
  std::uint32_t threshold = 0;             ///< Larger magnitudes are taken.
  std::uint64_t ties = 0;                  ///< So many magnitudes equal to the threshold, the first, are taken too.
  std::uint64_t limit = ~std::uint64_t{0}; ///< No more elements than this are taken, the first ones.
};

/// Blocks of a vector, ascending; all lie within the vector.
struct Blocks {
  const std::size_t* first = nullptr; ///< First element of each block.
  std::size_t count = 0;
  std::size_t block = 0; ///< Elements of one block.
};

/// Elements `begin` to `end` of a vector, to be written.
struct Ground {
  float* out = nullptr; ///< The vector's first element.
  std::size_t begin = 0;
  std::size_t end = 0;
  bool bypass = false; ///< The vector is too long for the caches: stores bypass them.
};

struct SparseLoops {
  /// Writes the indices of the elements that the cut takes, ascending, and returns how many.
  std::size_t (*collect)(const float* values, std::size_t count, Cut cut, std::uint32_t* indices) = nullptr;
  /// Writes the indices of magnitudes of at least `threshold`, ascending, and returns how many; more than `room` when
  /// so many do not fit, or nearly so.
  std::size_t (*gather)(const float* values, std::size_t count, std::uint32_t threshold, std::size_t room,
                        std::uint32_t* indices) = nullptr;
  /// How many magnitudes are at least `threshold`.
  std::size_t (*countFrom)(const float* values, std::size_t count, std::uint32_t threshold) = nullptr;
  /// How many bits are set.
  std::size_t (*countBits)(const unsigned char* bits, std::size_t bytes) = nullptr;
  /// Delivers the i-th value to the element of the i-th set bit of `count`; set clears the others. `held` bits are set.
  void (*deliverMarked)(float* out, const unsigned char* bits, std::size_t count, const float* values, std::size_t held,
                        Delivery delivery) = nullptr;
  /// 32 random bits at each of the places of the stream.
  void (*draw)(const StreamKey& key, const std::uint64_t* places, std::size_t count, std::uint32_t* draws) = nullptr;
  /// Writes the blocks of the vector side by side to `to`.
  void (*pick)(const float* values, Blocks blocks, float* to) = nullptr;
  /// The inverse of pick: the blocks become 0 + values, and all other elements of the range 0.
  void (*lay)(const Ground& ground, Blocks blocks, const float* values) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SPARSE_FORMAT_H_

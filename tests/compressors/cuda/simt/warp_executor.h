/// Runs CUDA kernels on the CPU, one warp at a time: each of its 32 threads is a fiber, which runs until it reaches a
/// shuffle, a ballot or a __syncwarp(), and waits there for the 31 others. In what order fibers run, and warps, is
/// random, so a kernel that needs an order it did not ask for gives wrong results here.
///
/// What this finds: a missing __syncwarp(), a shuffle from the wrong lane, lanes that part before they exchange, shared
/// memory written out of bounds or read before it is written. What it does not: an access that only a shuffle, which
/// orders no memory on a GPU, keeps in order.
///
/// One thread at a time. For kernels whose warps do not wait for each other (no __syncthreads()).
#ifndef GOSS_TESTS_COMPRESSORS_CUDA_SIMT_WARP_EXECUTOR_H_
#define GOSS_TESTS_COMPRESSORS_CUDA_SIMT_WARP_EXECUTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

namespace goss::test::simt {

inline constexpr unsigned kLanes = 32;

struct Dim {
  unsigned x = 1;
};
/// Where the lane that runs now is.
extern Dim thread_index, block_index;

/// What lanes wait for each other at.
enum class Meeting : std::uint8_t { shuffle, ballot, sync };

/// The calling lane waits until all 32 have come. Ends the process where they do not all come to the same.
void meet(Meeting meeting);

using Word = std::uint64_t;
/// Shows `own` to the other lanes and returns the words of all, which are good until the second next exchange.
const std::array<Word, kLanes>& exchange(Meeting meeting, Word own);

struct Grid {
  unsigned blocks = 1, block_threads = kLanes;
  std::size_t shared_bytes = 0; ///< Shared memory of a block. Each warp has an equal part of it for itself.
};
/// Runs `kernel` once for each thread of the grid.
void run(const Grid& grid, const std::function<void()>& kernel);

/// For tests of the executor: the __syncwarp() of this number in each warp, from 0 on, does nothing.
inline constexpr std::size_t kSkipNone = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t kSkipAll = kSkipNone - 1;
void skipSync(std::size_t number);
/// The most __syncwarp() of any warp since the last skipSync().
std::size_t maxSyncs();

template <typename T>
T shuffle(T own, unsigned from) {
  static_assert(sizeof(T) <= sizeof(Word));
  Word word = 0;
  std::memcpy(&word, &own, sizeof own);
  std::memcpy(&own, &exchange(Meeting::shuffle, word)[from % kLanes], sizeof own);
  return own;
}

} // namespace goss::test::simt

#endif // GOSS_TESTS_COMPRESSORS_CUDA_SIMT_WARP_EXECUTOR_H_

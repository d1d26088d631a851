/// The collectives as data: how large their buffers are, what their result must be, how their bandwidth is counted.
#ifndef GOSS_BENCH_SUITE_COLLECTIVE_TABLE_H_
#define GOSS_BENCH_SUITE_COLLECTIVE_TABLE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "bench/suite/engine.h"
#include "bench/suite/pattern.h"

namespace goss::bench {

/// How large a buffer is, in terms of the size that is printed.
enum class Extent {
  whole, ///< The printed size is the whole vector, and this buffer is one.
  share, ///< The printed size is the whole vector, and this buffer is this rank's block of it.
  block, ///< The printed size is one block, and this buffer is one.
  all,   ///< The printed size is one block, and this buffer holds one for every rank.
};

enum class Factor { none, half, full }; ///< busbw / algbw: 1, (n-1)/n, 2(n-1)/n; nccl-tests' definitions.

struct CollectiveSpec {
  Collective collective;
  const char* name;
  const char* title; ///< As in OSU's header line.
  Extent send;
  Extent recv;
  bool reduces;
  bool rooted;
  bool takes_in_place; ///< May run with recv == send.
  Factor factor;
};

std::span<const CollectiveSpec> collectiveSpecs();

/// The sizes of one case, in elements.
struct Shape {
  std::vector<std::size_t> counts; ///< Each rank's block.
  std::size_t count = 0;           ///< Argument of the call: whole vector, or one block.
  std::size_t send = 0;
  std::size_t recv = 0;
  bool even = true;
};
/// `count` elements of the printed size on `rank` of `ranks`.
Shape shapeOf(const CollectiveSpec& spec, std::size_t count, int rank, int ranks);

/// The vector that the bandwidth counts: nccl-tests take the total of all blocks.
std::size_t countedBytes(const CollectiveSpec& spec, std::size_t bytes, int ranks);
double busFactor(const CollectiveSpec& spec, int ranks);

/// Compares a result with what it must be; returns the number of wrong elements on this rank.
std::size_t wrongElements(const CollectiveCall& call, const Shape& shape, const Pattern& pattern, int rank, int ranks);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_COLLECTIVE_TABLE_H_

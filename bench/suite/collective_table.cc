#include "bench/suite/collective_table.h"

#include <array>
#include <numeric>

namespace goss::bench {

namespace {

using enum Extent;
using C = Collective;
using enum Factor;

constexpr std::array<CollectiveSpec, 13> kSpecs = {{
    // clang-format off
    // collective, name, title, send, recv, reduces, rooted, takes in place, factor
    {C::allReduce,     "allreduce",      "Allreduce",                         whole, whole, true,  false, true,  full},
    {C::reduce,        "reduce",         "Reduce",                            whole, whole, true,  true,  true,  none},
    {C::broadcast,     "bcast",          "Broadcast",                         whole, whole, false, true,  true,  none},
    {C::allGather,     "allgather",      "Allgather",                         block, all,   false, false, false, half},
    {C::allGatherv,    "allgatherv",     "Allgatherv",                        block, all,   false, false, false, half},
    {C::reduceScatter, "reduce_scatter", "Reduce_scatter",                    whole, share, true,  false, false, half},
    {C::allToAll,      "alltoall",       "All-to-All Personalized Exchange",  all,   all,   false, false, true,  half},
    {C::allToAllv,     "alltoallv",      "All-to-Allv Personalized Exchange", all,   all,   false, false, false, half},
    {C::gather,        "gather",         "Gather",                            block, all,   false, true,  false, half},
    {C::scatter,       "scatter",        "Scatter",                           all,   block, false, true,  false, half},
    {C::scan,          "scan",           "Scan",                              whole, whole, true,  false, true,  none},
    {C::exscan,        "exscan",         "Exscan",                            whole, whole, true,  false, true,  none},
    {C::barrier,       "barrier",        "Barrier",                           whole, whole, false, false, false, none},
    // clang-format on
}};

std::size_t elements(Extent extent, std::size_t count, const Shape& shape, int rank) {
  switch (extent) {
    case share:
      return shape.counts[static_cast<std::size_t>(rank)];
    case all:
      return count * shape.counts.size();
    default:
      return count;
  }
}

} // namespace

std::span<const CollectiveSpec> collectiveSpecs() { return kSpecs; }

Shape shapeOf(const CollectiveSpec& spec, std::size_t count, int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  Shape shape;
  shape.count = count;
  shape.counts.assign(n, count);
  if (spec.recv == share) { // the first ranks have one more when the vector does not divide evenly, as in OSU
    shape.even = count % n == 0;
    for (std::size_t i = 0; i < n; ++i) {
      shape.counts[i] = count / n + (i < count % n ? 1 : 0);
    }
  }
  shape.send = elements(spec.send, count, shape, rank);
  shape.recv = elements(spec.recv, count, shape, rank);
  return shape;
}

std::size_t countedBytes(const CollectiveSpec& spec, std::size_t bytes, int ranks) {
  const bool blocks = spec.send == all || spec.recv == all;
  return blocks ? bytes * static_cast<std::size_t>(ranks) : bytes;
}

double busFactor(const CollectiveSpec& spec, int ranks) {
  const double share_of_others = static_cast<double>(ranks - 1) / ranks;
  return spec.factor == Factor::full ? 2 * share_of_others : spec.factor == Factor::half ? share_of_others : 1;
}

std::size_t wrongElements(const CollectiveCall& call, const Shape& shape, const Pattern& pattern, int rank, int ranks) {
  const auto mine = static_cast<std::size_t>(rank);
  const bool is_root = rank == call.root;
  const auto blocksOfAll = [&](std::size_t first) {
    const std::size_t width = goss_dtype_size(call.dtype);
    std::size_t bad = 0;
    for (int source = 0; source < ranks; ++source) {
      const auto* block =
          static_cast<const unsigned char*>(call.recv) + static_cast<std::size_t>(source) * shape.count * width;
      bad += pattern.wrong(block, source, source + 1, first, shape.count);
    }
    return bad;
  };
  switch (call.collective) {
    case Collective::allReduce:
      return pattern.wrong(call.recv, 0, ranks, 0, shape.count);
    case Collective::reduce:
      return is_root ? pattern.wrong(call.recv, 0, ranks, 0, shape.count) : 0;
    case Collective::broadcast:
      return pattern.wrong(call.recv, call.root, call.root + 1, 0, shape.count);
    case Collective::allGather:
    case Collective::allGatherv:
      return blocksOfAll(0);
    case Collective::gather:
      return is_root ? blocksOfAll(0) : 0;
    case Collective::allToAll:
    case Collective::allToAllv:
      return blocksOfAll(mine * shape.count);
    case Collective::scatter:
      return pattern.wrong(call.recv, call.root, call.root + 1, mine * shape.count, shape.count);
    case Collective::scan:
      return pattern.wrong(call.recv, 0, rank + 1, 0, shape.count);
    case Collective::exscan:
      return rank == 0 ? 0 : pattern.wrong(call.recv, 0, rank, 0, shape.count);
    case Collective::reduceScatter: {
      const auto first = std::accumulate(shape.counts.begin(), shape.counts.begin() + rank, std::size_t{0});
      return pattern.wrong(call.recv, 0, ranks, first, shape.recv);
    }
    case Collective::barrier:
      break;
  }
  return 0;
}

} // namespace goss::bench

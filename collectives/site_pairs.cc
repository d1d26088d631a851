#include "collectives/site_pairs.h"

#include <string>
#include <utility>

#include "collectives/circulant.h"
#include "collectives/recursive_doubling.h"
#include "collectives/scheme.h"

namespace goss::collectives {

bool SitePairs::supports(const PlanRequest& request) const {
  return request.collective == Collective::allReduce && request.partition == Partition::even &&
         request.group_size >= 2 && request.size == 2 * request.group_size;
}

Schedule SitePairs::plan(const PlanRequest& request) const {
  const int local = request.group_size;
  const int index = request.rank % local;
  const bool is_first = request.rank < local;
  const auto width = static_cast<std::uint32_t>(local);
  ScheduleBuilder builder({Collective::allReduce, request.size, request.rank, -1, Partition::even, width * width});

  const Group inside = Group::strided(request.rank - index, 1, local, request.rank);
  const BlockMap blocks = is_first ? BlockMap::packed(0, width, width) : BlockMap::interleaved(width, width);
  const GroupPhase inner(builder, inside, blocks);
  const Circulant exchange(Circulant::Skips::unit);
  exchange.emitReduceScatter(inner);
  for (int t = 0; t < local; ++t) {
    // In step t no two ranks of the group have the same partner.
    const int first = is_first ? index : (index - t + local) % local;
    const int second = (first + t) % local;
    const Group pair({first, local + second}, is_first ? 0 : 1);
    const BlockMap chunk = BlockMap::packed(static_cast<std::uint32_t>(first * local + second), 1, 1);
    RecursiveDoubling().emit(GroupPhase(builder, pair, chunk));
  }
  exchange.emitAllGather(inner);
  return builder.build(std::string(name()));
}

std::vector<CostRound> SitePairs::rounds(const PlanRequest& request) const {
  const int local = request.group_size;
  std::vector<CostRound> half;
  append(half, Circulant(Circulant::Skips::unit).rounds(local), 1.0 / local);
  for (CostRound& round : half)
    round.among = local;
  std::vector<CostRound> rounds = half;
  rounds.push_back({.part = 1.0 / local / local, .messages = local, .sums = 1, .hops = Hops::shift, .distance = local});
  append(rounds, gatherRounds(std::move(half)));
  return rounds;
}

std::uint64_t SitePairs::wireElements(const PlanRequest& request, std::span<const std::uint64_t> chunk_elems) const {
  return (4 * static_cast<std::uint64_t>(request.group_size - 1) + 2) * sumOf(chunk_elems);
}

} // namespace goss::collectives

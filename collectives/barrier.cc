#include "collectives/barrier.h"

#include <bit>
#include <string>

namespace goss::collectives {

bool DisseminationBarrier::supports(const PlanRequest& request) const {
  return request.collective == Collective::barrier && request.partition == Partition::even;
}

Schedule DisseminationBarrier::plan(const PlanRequest& request) const {
  const int p = request.size;
  ScheduleBuilder builder({Collective::barrier, p, request.rank, -1, Partition::even, 1});
  Slot heard_of = input(0);
  for (int distance = 1; distance < p; distance *= 2) {
    const Slot token = builder.scratch(0);
    builder.send((request.rank + distance) % p, {heard_of});
    builder.recv((request.rank - distance + p) % p, {token});
    // Joining the tokens is what makes the next send wait for all receives so far.
    builder.reduce(token, heard_of);
    heard_of = token;
  }
  builder.copy(heard_of, output(0));
  return builder.build(std::string(name()));
}

std::vector<CostRound> DisseminationBarrier::rounds(const PlanRequest& request) const {
  std::vector<CostRound> rounds;
  for (int distance = 1; distance < request.size; distance *= 2)
    rounds.push_back({.hops = Hops::shift, .distance = distance});
  return rounds;
}

std::uint64_t DisseminationBarrier::wireElements(const PlanRequest& request,
                                                 std::span<const std::uint64_t> chunk_elems) const {
  const auto rounds = static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(request.size - 1)));
  return static_cast<std::uint64_t>(request.size) * rounds * chunk_elems[0];
}

} // namespace goss::collectives

#include "collectives/bruck_exchange.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "collectives/scheme.h"

namespace goss::collectives {

bool BruckExchange::supports(const PlanRequest& request) const {
  return request.collective == Collective::allToAll && request.partition == Partition::byRank && !request.uneven;
}

Schedule BruckExchange::plan(const PlanRequest& request) const {
  const auto p = static_cast<std::uint32_t>(request.size);
  const auto self = static_cast<std::uint32_t>(request.rank);
  ScheduleBuilder builder({Collective::allToAll, request.size, request.rank, -1, Partition::byRank, p});
  builder.copy(input(self), output(self));
  // places[x]: where the block for the rank x ahead is after the steps for the low bits of x.
  std::vector<Slot> places;
  for (std::uint32_t x = 0; x < p; ++x)
    places.push_back(input((self + x) % p));
  for (std::uint32_t distance = 1; distance < p; distance *= 2) {
    std::vector<Slot> leaving;
    std::vector<Slot> arriving;
    for (std::uint32_t x = distance; x < p; ++x) {
      if ((x & distance) == 0) continue;
      const bool at_home = x < 2 * distance;
      leaving.push_back(places[x]);
      arriving.push_back(at_home ? output((self + p - x) % p) : builder.scratch((self + x) % p));
      places[x] = arriving.back();
    }
    builder.send(static_cast<int>((self + distance) % p), leaving);
    builder.recv(static_cast<int>((self + p - distance) % p), arriving);
  }
  return builder.build(std::string(name()));
}

std::vector<CostRound> BruckExchange::rounds(const PlanRequest& request) const {
  std::vector<CostRound> rounds;
  for (int distance = 1; distance < request.size; distance *= 2) {
    // Numbers below the size that have this bit.
    const int whole = request.size / (2 * distance) * distance;
    const int rest = std::max(0, request.size % (2 * distance) - distance);
    rounds.push_back({.part = static_cast<double>(whole + rest), .hops = Hops::shift, .distance = distance});
  }
  // The longest path is that of a block with the most bits set.
  if (rounds.size() > 1 && !std::has_single_bit(static_cast<unsigned>(request.size))) rounds.back().waits = false;
  return rounds;
}

std::uint64_t BruckExchange::wireElements(const PlanRequest& request,
                                          std::span<const std::uint64_t> chunk_elems) const {
  std::uint64_t hops = 0;
  for (unsigned x = 1; x < static_cast<unsigned>(request.size); ++x)
    hops += static_cast<unsigned>(std::popcount(x));
  return hops * sumOf(chunk_elems);
}

} // namespace goss::collectives

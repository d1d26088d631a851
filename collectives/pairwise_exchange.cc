#include "collectives/pairwise_exchange.h"

#include <string>

#include "collectives/scheme.h"

namespace goss::collectives {

bool PairwiseExchange::supports(const PlanRequest& request) const {
  return request.collective == Collective::allToAll && request.partition == Partition::byRank;
}

Schedule PairwiseExchange::plan(const PlanRequest& request) const {
  const int p = request.size;
  ScheduleBuilder builder(
      {Collective::allToAll, p, request.rank, -1, Partition::byRank, static_cast<std::uint32_t>(p)});
  const auto own = static_cast<std::uint32_t>(request.rank);
  builder.copy(input(own), output(own));
  for (int t = 1; t < p; ++t) {
    const int to = (request.rank + t) % p;
    const int from = (request.rank - t + p) % p;
    builder.send(to, {input(static_cast<std::uint32_t>(to))});
    builder.recv(from, {output(static_cast<std::uint32_t>(from))});
  }
  return builder.build(std::string(name()));
}

std::vector<CostRound> PairwiseExchange::rounds(const PlanRequest& request) const {
  if (request.size < 2) return {};
  return {{.messages = request.size - 1, .hops = Hops::shift}};
}

std::uint64_t PairwiseExchange::wireElements(const PlanRequest& request,
                                             std::span<const std::uint64_t> chunk_elems) const {
  return static_cast<std::uint64_t>(request.size - 1) * sumOf(chunk_elems);
}

} // namespace goss::collectives

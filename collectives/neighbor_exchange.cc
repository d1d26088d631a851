#include "collectives/neighbor_exchange.h"

#include <map>
#include <string>

namespace goss::collectives {

namespace {

/// The neighbours of a request that names none.
const Neighborhood& neighborhoodOf(const PlanRequest& request) {
  static const Neighborhood kAlone;
  return request.neighborhood != nullptr ? *request.neighborhood : kAlone;
}

std::uint32_t blockOf(int rank) { return static_cast<std::uint32_t>(rank); }

/// Each rank begins with the destination behind it, so that not all send to the same one at first.
std::vector<Neighbor> inTurn(const std::vector<Neighbor>& neighbors, int rank) {
  std::vector<Neighbor> result;
  for (const bool behind : {true, false}) {
    for (const Neighbor& neighbor : neighbors) {
      if ((neighbor.rank > rank) == behind) result.push_back(neighbor);
    }
  }
  return result;
}

void emitWeightedSum(ScheduleBuilder& builder, const Neighborhood& neighborhood) {
  std::map<double, Slot> scaled = {{1.0, data(0)}}; // by weight: what is sent
  for (const auto& [rank, weight] : inTurn(neighborhood.destinations, builder.rank())) {
    const auto [found, is_new] = scaled.try_emplace(weight);
    if (is_new) {
      found->second = builder.scratch(0);
      const Slot own = data(0);
      builder.combine(found->second, std::span(&own, 1), std::span(&weight, 1));
    }
    builder.send(rank, {found->second});
  }
  std::vector<Slot> operands = {data(0)};
  std::vector<double> weights = {neighborhood.self_weight};
  for (const auto& [rank, weight] : neighborhood.sources) {
    operands.push_back(builder.scratch(0));
    weights.push_back(weight);
    builder.recv(rank, {operands.back()});
  }
  if (operands.size() > 1 || weights[0] != 1) builder.combine(data(0), operands, weights);
}

} // namespace

bool NeighborExchange::supports(const PlanRequest& request) const {
  const Partition wanted = collective_ == Collective::neighborAllReduce ? Partition::even : Partition::byRank;
  return request.collective == collective_ && request.partition == wanted;
}

Schedule NeighborExchange::plan(const PlanRequest& request) const {
  const Neighborhood& neighborhood = neighborhoodOf(request);
  const bool sums = collective_ == Collective::neighborAllReduce;
  ScheduleBuilder builder({collective_, request.size, request.rank, -1, request.partition,
                           sums ? 1 : static_cast<std::uint32_t>(request.size), &neighborhood});
  if (sums) {
    emitWeightedSum(builder, neighborhood);
  } else {
    for (const Neighbor& destination : inTurn(neighborhood.destinations, request.rank)) {
      const bool own_blocks = collective_ == Collective::neighborAllToAll;
      builder.send(destination.rank, {input(blockOf(own_blocks ? destination.rank : request.rank))});
    }
    for (const Neighbor& source : neighborhood.sources)
      builder.recv(source.rank, {output(blockOf(source.rank))});
  }
  return builder.build(std::string(name()));
}

std::uint64_t NeighborExchange::wireElements(const PlanRequest& request,
                                             std::span<const std::uint64_t> chunk_elems) const {
  std::uint64_t sum = 0;
  for (const Neighbor& destination : neighborhoodOf(request).destinations) {
    const bool to_each = collective_ == Collective::neighborAllToAll;
    const int block = collective_ == Collective::neighborAllReduce ? 0 : to_each ? destination.rank : request.rank;
    sum += chunk_elems[static_cast<std::size_t>(block)];
  }
  return sum;
}

} // namespace goss::collectives

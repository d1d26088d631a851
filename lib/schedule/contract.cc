#include "schedule/contract.h"

#include <algorithm>

namespace goss::schedule {

std::string_view nameOf(Collective collective) {
  switch (collective) {
    case Collective::allReduce:
      return "all_reduce";
    case Collective::reduce:
      return "reduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::allGather:
      return "all_gather";
    case Collective::reduceScatter:
      return "reduce_scatter";
    case Collective::allToAll:
      return "all_to_all";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::scan:
      return "scan";
    case Collective::exscan:
      return "exscan";
    case Collective::barrier:
      return "barrier";
    case Collective::neighborAllReduce:
      return "neighbor_all_reduce";
    case Collective::neighborAllGather:
      return "neighbor_all_gather";
    case Collective::neighborAllToAll:
      return "neighbor_all_to_all";
  }
  return "unknown";
}

bool startsInInput(const Role& role, std::uint32_t chunk) {
  switch (role.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return role.rank == role.root;
    case Collective::allGather:
    case Collective::gather:
    case Collective::neighborAllGather:
      return chunk == static_cast<std::uint32_t>(role.rank);
    default:
      return true;
  }
}

bool delivers(const Role& role, std::uint32_t chunk) {
  switch (role.collective) {
    case Collective::reduce:
    case Collective::gather:
      return role.rank == role.root;
    case Collective::reduceScatter:
    case Collective::scatter:
      return chunk == static_cast<std::uint32_t>(role.rank);
    case Collective::exscan:
      return role.rank > 0;
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      return role.neighborhood != nullptr &&
             std::ranges::any_of(role.neighborhood->sources, [&](const Neighbor& source) {
               return static_cast<std::uint32_t>(source.rank) == chunk;
             });
    default:
      return true;
  }
}

RankRange contributors(const Role& role, std::uint32_t chunk) {
  const int owner = static_cast<int>(chunk);
  switch (role.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return {role.root, role.root + 1};
    case Collective::allGather:
    case Collective::gather:
    case Collective::allToAll:
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      return {owner, owner + 1};
    case Collective::neighborAllReduce:
      return {role.rank, role.rank + 1};
    case Collective::scan:
      return {0, role.rank + 1};
    case Collective::exscan:
      return {0, role.rank};
    default:
      return {0, role.size};
  }
}

bool reduces(Collective collective) {
  switch (collective) {
    case Collective::allReduce:
    case Collective::reduce:
    case Collective::reduceScatter:
    case Collective::scan:
    case Collective::exscan:
      return true;
    default:
      return false;
  }
}

bool movesBlocks(Collective collective) {
  switch (collective) {
    case Collective::allGather:
    case Collective::reduceScatter:
    case Collective::allToAll:
    case Collective::gather:
    case Collective::scatter:
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      return true;
    case Collective::neighborAllReduce:
    case Collective::allReduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier:
      return false;
  }
  return false;
}

bool exchangesBlocks(Collective collective) {
  return collective == Collective::allToAll || collective == Collective::neighborAllToAll;
}

bool allowsInPlace(Collective collective) {
  return !exchangesBlocks(collective) && collective != Collective::neighborAllGather;
}

} // namespace goss::schedule

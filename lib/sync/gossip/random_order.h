/// Random choices that all ranks make alike.
#ifndef GOSS_LIB_SYNC_GOSSIP_RANDOM_ORDER_H_
#define GOSS_LIB_SYNC_GOSSIP_RANDOM_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/split_mix.h"

namespace goss::sync {

/// The ranks 0..ranks-1 in an order that depends on seed and round alone.
inline std::vector<int> randomOrder(int ranks, std::uint64_t seed, std::uint64_t round) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  base::SplitMix64 random(seed * 0x9e3779b97f4a7c15u + round);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_RANDOM_ORDER_H_

#include "schedule/sample_requests.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "schedule/contract.h"

namespace goss::schedule {

namespace {

std::vector<int> shuffled(int size) {
  std::vector<int> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(static_cast<unsigned>(size));
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[random() % i]);
  return order;
}

/// Calls `change` on copies of all requests and keeps both.
template <typename Change>
void alsoWith(std::vector<PlanRequest>& requests, Change change) {
  const std::size_t count = requests.size();
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(requests[i]);
    change(requests.back());
  }
}

} // namespace

PlanRequest requestFor(Collective collective, int size) {
  PlanRequest request;
  request.collective = collective;
  request.size = size;
  if (movesBlocks(collective)) request.partition = Partition::byRank;
  return request;
}

std::vector<PlanRequest> sampleRequests(const Algorithm& algorithm, Collective collective, int size) {
  const AlgorithmTraits traits = algorithm.traits();
  std::vector<PlanRequest> requests{requestFor(collective, size)};
  if (traits.takes_group) {
    requests.clear();
    for (int group = 2; group < size; ++group) {
      requests.push_back(requestFor(collective, size));
      requests.back().group_size = group;
    }
  }
  if (hasRoot(collective) && size > 1) {
    alsoWith(requests, [&](PlanRequest& request) { request.root = size / 3 + 1 < size ? size / 3 + 1 : size - 1; });
  }
  if (traits.takes_order) alsoWith(requests, [&](PlanRequest& request) { request.order = shuffled(size); });
  if (traits.pipelined) alsoWith(requests, [&](PlanRequest& request) { request.blocks = size % 2 == 0 ? 5 : 2; });
  if (movesBlocks(collective)) alsoWith(requests, [](PlanRequest& request) { request.uneven = true; });
  std::erase_if(requests, [&](const PlanRequest& request) { return !algorithm.supports(request); });
  return requests;
}

} // namespace goss::schedule

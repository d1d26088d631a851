#include "topology/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/invalid.h"

namespace goss::topology {

namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

Status findOneWay(const Graph& graph) {
  for (std::size_t to = 0; to < graph.sources.size(); ++to) {
    for (const int from : graph.sources[to]) {
      if (std::ranges::binary_search(graph.sources[at(from)], static_cast<int>(to))) continue;
      return base::invalid(
          fmt::format("weights=metropolis needs edges, but rank {} sends to rank {} and gets nothing "
                      "from it; use uniform or push-sum",
                      from, to));
    }
  }
  return Status::ok();
}

} // namespace

Result<Mixing> weighted(const Graph& graph, Rule rule) {
  if (rule == Rule::metropolis) {
    if (Status status = findOneWay(graph); !status.isOk()) return status;
  }
  const std::vector<std::vector<int>> destinations = graph.destinations();
  const auto degree = [&](std::size_t rank) { return static_cast<double>(graph.sources[rank].size()); };
  Mixing matrix;
  for (std::size_t to = 0; to < graph.sources.size(); ++to) {
    std::vector<Neighbor> row;
    double own = 1;
    for (const int from : graph.sources[to]) {
      double weight = 1 / (1 + degree(to));
      if (rule == Rule::metropolis) weight = 1 / (1 + std::max(degree(to), degree(at(from))));
      if (rule == Rule::pushSum) weight = 1 / (1 + static_cast<double>(destinations[at(from)].size()));
      own -= weight;
      row.push_back({from, weight});
    }
    if (rule == Rule::uniform) own = 1 / (1 + degree(to));
    if (rule == Rule::pushSum) own = 1 / (1 + static_cast<double>(destinations[to].size()));
    row.push_back({static_cast<int>(to), own});
    std::ranges::sort(row, {}, &Neighbor::rank);
    matrix.rows.push_back(std::move(row));
  }
  return matrix;
}

} // namespace goss::topology

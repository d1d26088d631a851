#include "topology/graphs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "base/split_mix.h"

namespace goss::topology {

namespace {

using Arcs = std::vector<std::vector<int>>;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

Graph empty(int ranks) { return {Arcs(at(ranks))}; }

void addArc(Graph& graph, int from, int to) {
  if (from != to) graph.sources[at(to)].push_back(from);
}

void addEdge(Graph& graph, int a, int b) {
  addArc(graph, a, b);
  addArc(graph, b, a);
}

Graph sorted(Graph graph) {
  for (std::vector<int>& sources : graph.sources) {
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  }
  return graph;
}

int productOf(std::span<const int> dims) {
  int product = 1;
  for (const int dim : dims)
    product *= dim;
  return product;
}

int ceilLog2(int ranks) { return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1))); }

/// The number of ranks that rank 0 reaches along `next`.
std::size_t reached(const Arcs& next) {
  std::vector<bool> seen(next.size());
  std::vector<int> open = {0};
  seen[0] = true;
  std::size_t count = 1;
  while (!open.empty()) {
    const int rank = open.back();
    open.pop_back();
    for (const int other : next[at(rank)]) {
      if (seen[at(other)]) continue;
      seen[at(other)] = true;
      ++count;
      open.push_back(other);
    }
  }
  return count;
}

/// Every rank is joined with those at distance 1..degree/2, and for an odd degree with the opposite one.
std::vector<std::pair<int, int>> circulantEdges(int ranks, int degree) {
  std::vector<std::pair<int, int>> edges;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int distance = 1; distance <= degree / 2; ++distance)
      edges.emplace_back(rank, (rank + distance) % ranks);
    if (degree % 2 == 1 && rank < ranks / 2) edges.emplace_back(rank, rank + ranks / 2);
  }
  return edges;
}

} // namespace

Arcs Graph::destinations() const {
  Arcs result(sources.size());
  for (std::size_t to = 0; to < sources.size(); ++to) {
    for (const int from : sources[to])
      result[at(from)].push_back(static_cast<int>(to));
  }
  return result;
}

Graph torus(std::span<const int> dims) {
  const int ranks = productOf(dims);
  Graph graph = empty(ranks);
  int stride = ranks;
  for (const int dim : dims) {
    stride /= dim;
    for (int rank = 0; rank < ranks; ++rank) {
      const int coordinate = rank / stride % dim;
      addEdge(graph, rank, rank + ((coordinate + 1) % dim - coordinate) * stride);
    }
  }
  return sorted(std::move(graph));
}

Graph hypercube(int ranks) {
  Graph graph = empty(ranks);
  for (int bit = 1; bit < ranks; bit *= 2) {
    for (int rank = 0; rank < ranks; ++rank)
      addArc(graph, rank ^ bit, rank);
  }
  return sorted(std::move(graph));
}

Graph star(int ranks) {
  Graph graph = empty(ranks);
  for (int rank = 1; rank < ranks; ++rank)
    addEdge(graph, 0, rank);
  return sorted(std::move(graph));
}

Graph full(int ranks) {
  Graph graph = empty(ranks);
  for (int to = 0; to < ranks; ++to) {
    for (int from = 0; from < ranks; ++from)
      addArc(graph, from, to);
  }
  return graph;
}

Graph exponential(int ranks) {
  Graph graph = empty(ranks);
  for (int hop = 1; hop < ranks; hop *= 2) {
    for (int rank = 0; rank < ranks; ++rank)
      addArc(graph, rank, (rank + hop) % ranks);
  }
  return sorted(std::move(graph));
}

std::vector<Graph> onePeerExponential(int ranks) {
  std::vector<Graph> rounds;
  for (int t = 0; t < ceilLog2(ranks); ++t) {
    Graph& graph = rounds.emplace_back(empty(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      addArc(graph, rank, (rank + (1 << t)) % ranks);
  }
  if (rounds.empty()) rounds.push_back(empty(ranks));
  return rounds;
}

std::vector<Graph> shiftOne(int ranks) {
  const int half = ranks / 2;
  std::vector<Graph> rounds;
  for (int t = 0; t < half; ++t) {
    Graph& graph = rounds.emplace_back(empty(ranks));
    for (int rank = 0; rank < half; ++rank)
      addEdge(graph, rank, half + (t + rank) % half);
  }
  return rounds;
}

Graph randomRegular(int ranks, int degree, std::uint64_t seed) {
  std::vector<std::pair<int, int>> edges = circulantEdges(ranks, degree);
  std::vector<bool> joined(at(ranks) * at(ranks));
  const auto isJoined = [&](int a, int b) { return joined[at(a) * at(ranks) + at(b)]; };
  const auto setJoined = [&](int a, int b, bool value) {
    joined[at(a) * at(ranks) + at(b)] = joined[at(b) * at(ranks) + at(a)] = value;
  };
  for (const auto& [a, b] : edges)
    setJoined(a, b, true);
  base::SplitMix64 random(seed);
  const auto graphOf = [&] {
    Graph graph = empty(ranks);
    for (const auto& [a, b] : edges)
      addEdge(graph, a, b);
    return sorted(std::move(graph));
  };
  // A switch replaces the edges ab and cd by ac and bd; twenty for each edge forget the circulant graph.
  for (std::size_t i = 0; i < 20 * edges.size() || reached(graphOf().sources) < at(ranks); ++i) {
    auto& [a, b] = edges[random.below(edges.size())];
    auto& [c, d] = edges[random.below(edges.size())];
    if (random.below(2) == 1) std::swap(c, d);
    if (a == c || b == d || a == d || b == c || isJoined(a, c) || isJoined(b, d)) continue;
    setJoined(a, b, false);
    setJoined(c, d, false);
    setJoined(a, c, true);
    setJoined(b, d, true);
    std::swap(b, c); // the edges are ac and bd now
  }
  return graphOf();
}

std::vector<Graph> grid(std::span<const int> dims, int ranks) {
  std::vector<Graph> rounds;
  int stride = productOf(dims);
  for (const int dim : dims) {
    stride /= dim;
    Graph& graph = rounds.emplace_back(empty(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      const int first = rank - rank / stride % dim * stride;
      for (int k = 0; k < dim; ++k) {
        if (const int other = first + k * stride; other < ranks) addArc(graph, other, rank);
      }
    }
  }
  return rounds;
}

bool isConnected(std::span<const Graph> rounds) {
  Graph together = empty(static_cast<int>(rounds[0].sources.size()));
  for (const Graph& graph : rounds) {
    for (std::size_t to = 0; to < graph.sources.size(); ++to) {
      std::vector<int>& sources = together.sources[to];
      sources.insert(sources.end(), graph.sources[to].begin(), graph.sources[to].end());
    }
  }
  const std::size_t ranks = together.sources.size();
  return reached(together.sources) == ranks && reached(together.destinations()) == ranks;
}

} // namespace goss::topology

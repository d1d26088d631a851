#include "topology/base_graph.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace goss::topology {

namespace {

using Ranks = std::vector<int>;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

/// The edges of several rounds, written round by round.
class Rounds {
 public:
  explicit Rounds(int ranks) : ranks_(ranks) {}

  void addEdge(std::size_t round, int a, int b, double weight) {
    while (edges_.size() <= round)
      edges_.emplace_back();
    edges_[round].push_back({a, b, weight});
  }
  /// All of `group` take its mean.
  void addMean(std::size_t round, const Ranks& group) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j)
        addEdge(round, group[i], group[j], 1.0 / static_cast<double>(group.size()));
    }
  }
  [[nodiscard]] std::vector<Mixing> matrices() const {
    std::vector<Mixing> matrices;
    for (const std::vector<Edge>& edges : edges_)
      matrices.push_back(matrixOf(edges));
    if (matrices.empty()) matrices.push_back(matrixOf({}));
    return matrices;
  }

 private:
  struct Edge {
    int a, b;
    double weight;
  };

  [[nodiscard]] Mixing matrixOf(const std::vector<Edge>& edges) const {
    Mixing matrix;
    for (int rank = 0; rank < ranks_; ++rank)
      matrix.rows.push_back({{rank, 1.0}});
    for (const auto& [a, b, weight] : edges) {
      matrix.rows[at(a)].push_back({b, weight});
      matrix.rows[at(b)].push_back({a, weight});
      matrix.rows[at(a)][0].weight -= weight;
      matrix.rows[at(b)][0].weight -= weight;
    }
    for (std::vector<Neighbor>& row : matrix.rows)
      std::sort(row.begin(), row.end(), [](const Neighbor& x, const Neighbor& y) { return x.rank < y.rank; });
    return matrix;
  }

  int ranks_;
  std::vector<std::vector<Edge>> edges_;
};

/// The fewest factors of `count` of which none is above `most`; false: there are none.
bool factorize(int count, int most, std::vector<int>& factors) {
  factors.clear();
  if (count == 1) return true;
  bool found = false;
  for (int factor = std::min(most, count); factor >= 2; --factor) {
    std::vector<int> rest;
    if (count % factor != 0 || !factorize(count / factor, factor, rest)) continue;
    if (found && rest.size() + 1 >= factors.size()) continue;
    found = true;
    factors = {factor};
    factors.insert(factors.end(), rest.begin(), rest.end());
  }
  return found;
}

/// The hyper-hypercube: `ranks` as a grid of the factors, one dimension a round. Returns the round after the last.
std::size_t addHyperHypercube(Rounds& rounds, std::size_t round, const Ranks& ranks, int k) {
  std::vector<int> factors;
  (void)factorize(static_cast<int>(ranks.size()), k + 1, factors);
  std::size_t stride = 1;
  for (const int factor : factors) {
    for (std::size_t first = 0; first < ranks.size(); ++first) {
      if (first / stride % at(factor) != 0) continue;
      Ranks group;
      for (std::size_t i = 0; i < at(factor); ++i)
        group.push_back(ranks[first + i * stride]);
      rounds.addMean(round, group);
    }
    stride *= at(factor);
    ++round;
  }
  return round;
}

/// `ranks` in parts of a_l (k+1)^p_l ranks, the digits of their number, largest first; each part in a_l pieces.
std::vector<std::vector<Ranks>> digitsOf(const Ranks& ranks, int k) {
  std::size_t piece = 1;
  while (piece * at(k + 1) <= ranks.size())
    piece *= at(k + 1);
  std::vector<std::vector<Ranks>> parts;
  std::size_t taken = 0;
  for (; piece > 0; piece /= at(k + 1)) {
    std::vector<Ranks> pieces;
    for (; ranks.size() - taken >= piece; taken += piece)
      pieces.emplace_back(ranks.begin() + static_cast<std::ptrdiff_t>(taken),
                          ranks.begin() + static_cast<std::ptrdiff_t>(taken + piece));
    if (!pieces.empty()) parts.push_back(std::move(pieces));
  }
  return parts;
}

Ranks together(const std::vector<Ranks>& pieces) {
  Ranks all;
  for (const Ranks& piece : pieces)
    all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

/// The simple Base-(k+1) graph. First each part takes its mean. Then part l meets all smaller parts in a round of its
/// own: every rank of these is joined with one rank of each piece of part l, with a weight by which the mean of each
/// piece, and that of the smaller parts together, becomes the mean of all. Last, each piece takes its mean.
std::size_t addSimpleBase(Rounds& rounds, std::size_t round, const Ranks& ranks, int k) {
  std::vector<int> factors;
  if (factorize(static_cast<int>(ranks.size()), k + 1, factors)) return addHyperHypercube(rounds, round, ranks, k);
  const std::vector<std::vector<Ranks>> parts = digitsOf(ranks, k);
  std::size_t meeting = round;
  for (const std::vector<Ranks>& pieces : parts)
    meeting = std::max(meeting, addHyperHypercube(rounds, round, together(pieces), k));
  std::size_t end = meeting;
  std::size_t unmet = ranks.size();
  for (std::size_t l = 0; l < parts.size(); ++l) {
    Ranks smaller;
    for (std::size_t later = l + 1; later < parts.size(); ++later) {
      const Ranks part = together(parts[later]);
      smaller.insert(smaller.end(), part.begin(), part.end());
    }
    // The last part has met all others one round earlier.
    const std::size_t after = meeting + std::min(l + 1, parts.size() - 1);
    for (const Ranks& piece : parts[l]) {
      for (std::size_t i = 0; i < smaller.size(); ++i)
        rounds.addEdge(meeting + l, smaller[i], piece[i],
                       static_cast<double>(piece.size()) / static_cast<double>(unmet));
      const bool settled = l + 1 == parts.size(); // its ranks hold one value
      end = std::max(end, settled ? after : addHyperHypercube(rounds, after, piece, k));
    }
    unmet -= together(parts[l]).size();
  }
  return end;
}

} // namespace

std::vector<Mixing> baseGraph(int ranks, int k) {
  Ranks all(at(ranks));
  std::iota(all.begin(), all.end(), 0);
  Rounds simple(ranks);
  const std::size_t simple_rounds = addSimpleBase(simple, 0, all, k);
  // The largest divisor without large factors, and groups of the others.
  int smooth = 1;
  for (int divisor = 2; divisor < ranks; ++divisor) {
    std::vector<int> factors;
    if (ranks % divisor == 0 && factorize(divisor, k + 1, factors)) smooth = divisor;
  }
  Rounds product(ranks);
  const int others = ranks / smooth;
  std::size_t inner = 0;
  std::size_t outer = 0;
  for (int first = 0; first < ranks; first += others)
    inner = addSimpleBase(product, 0, Ranks(all.begin() + first, all.begin() + first + others), k);
  for (int offset = 0; offset < others; ++offset) {
    Ranks column;
    for (int rank = offset; rank < ranks; rank += others)
      column.push_back(rank);
    outer = addHyperHypercube(product, inner, column, k);
  }
  return (outer < simple_rounds ? product : simple).matrices();
}

} // namespace goss::topology

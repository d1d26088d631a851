#include "schedule/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace goss::schedule {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kExactRanks = 10;

/// Cost of a tour, compared as (slowest, sum).
struct TourCost {
  double slowest = 0;
  double sum = 0;
  friend bool operator<(const TourCost& a, const TourCost& b) {
    return a.slowest != b.slowest ? a.slowest < b.slowest : a.sum < b.sum;
  }
};

class EdgeCosts {
 public:
  EdgeCosts(const Links& links, double message_bytes) : size_(static_cast<std::size_t>(links.size())) {
    for (int from = 0; from < links.size(); ++from) {
      for (int to = 0; to < links.size(); ++to) {
        const LinkPrice& price = links.price(from, to);
        double rate = price.bandwidth_bytes_per_s;
        if (links.nodeOf(from) != links.nodeOf(to)) {
          const double up = links.node(links.nodeOf(from)).up_bytes_per_s;
          const double down = links.node(links.nodeOf(to)).down_bytes_per_s;
          if (up > 0) rate = std::min(rate, up);
          if (down > 0) rate = std::min(rate, down);
        }
        costs_.push_back(price.latency_s + price.overhead_s + message_bytes / rate);
      }
    }
  }
  [[nodiscard]] int size() const { return static_cast<int>(size_); }
  [[nodiscard]] double at(int from, int to) const {
    return costs_[static_cast<std::size_t>(from) * size_ + static_cast<std::size_t>(to)];
  }
  [[nodiscard]] TourCost ofTour(const std::vector<int>& order) const {
    TourCost cost;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double edge = at(order[i], order[i + 1 < order.size() ? i + 1 : 0]);
      cost.slowest = std::max(cost.slowest, edge);
      cost.sum += edge;
    }
    return cost;
  }

 private:
  std::size_t size_;
  std::vector<double> costs_;
};

/// Held and Karp's dynamic program over sets of visited ranks (rank 0 first), with `join` = max or sum; edges above
/// `limit` do not exist. Best value, and the tour when asked for.
class SubsetSearch {
 public:
  SubsetSearch(const EdgeCosts& costs, double limit) : costs_(costs), limit_(limit), others_(costs.size() - 1) {}

  double slowestEdge() {
    return solve([](double a, double b) { return std::max(a, b); });
  }
  std::vector<int> leastSum() {
    solve([](double a, double b) { return a + b; });
    std::vector<int> order;
    std::size_t visited = (std::size_t{1} << others_) - 1;
    for (int last = last_; visited != 0;) {
      order.push_back(last + 1);
      const int before = from_[cell(visited, last)];
      visited &= ~(std::size_t{1} << last);
      last = before;
    }
    order.push_back(0);
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  [[nodiscard]] std::size_t cell(std::size_t visited, int last) const {
    return visited * static_cast<std::size_t>(others_) + static_cast<std::size_t>(last);
  }
  [[nodiscard]] double edge(int from, int to) const {
    const double cost = costs_.at(from, to);
    if (cost > limit_) return kInfinite;
    return cost;
  }

  template <typename Join>
  double solve(Join join) {
    const std::size_t sets = std::size_t{1} << others_;
    best_.assign(sets * static_cast<std::size_t>(others_), kInfinite);
    from_.assign(best_.size(), -1);
    for (int first = 0; first < others_; ++first)
      best_[cell(std::size_t{1} << first, first)] = edge(0, first + 1);
    for (std::size_t visited = 1; visited < sets; ++visited) {
      for (int last = 0; last < others_; ++last) {
        const double so_far = best_[cell(visited, last)];
        if (so_far == kInfinite) continue;
        for (int next = 0; next < others_; ++next) {
          if ((visited >> next & 1) != 0) continue;
          const std::size_t reached = cell(visited | std::size_t{1} << next, next);
          const double value = join(so_far, edge(last + 1, next + 1));
          if (value < best_[reached]) {
            best_[reached] = value;
            from_[reached] = last;
          }
        }
      }
    }
    double least = kInfinite;
    for (int last = 0; last < others_; ++last) {
      const double value = join(best_[cell(sets - 1, last)], edge(last + 1, 0));
      if (value < least) {
        least = value;
        last_ = last;
      }
    }
    return least;
  }

  const EdgeCosts& costs_;
  double limit_;
  int others_; ///< Number of ranks without rank 0; rank r is bit r - 1.
  std::vector<double> best_;
  std::vector<int> from_;
  int last_ = 0;
};

/// A generator whose stream never changes, unlike the standard library's distributions.
class Random {
 public:
  std::size_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state_ >> 33) % bound;
  }

 private:
  std::uint64_t state_ = 20240607;
};

/// Moves single ranks or swaps two, as long as that helps or the allowance lasts; each trial takes O(p).
void improve(const EdgeCosts& costs, std::vector<int>& order, std::int64_t& trials) {
  TourCost cost = costs.ofTour(order);
  const std::size_t n = order.size();
  std::vector<int> changed;
  const auto accept = [&] {
    --trials;
    const TourCost found = costs.ofTour(changed);
    if (!(found < cost)) return false;
    cost = found;
    order = changed;
    return true;
  };
  for (bool better = true; better && trials > 0;) {
    better = false;
    for (std::size_t i = 1; i < n && trials > 0; ++i) {
      for (std::size_t j = 1; j < n && trials > 0; ++j) {
        if (i == j) continue;
        changed = order;
        changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(j), order[i]);
        better = accept() || better;
        if (j <= i) continue;
        changed = order;
        std::swap(changed[i], changed[j]);
        better = accept() || better;
      }
    }
  }
}

std::vector<int> nearestNeighbours(const EdgeCosts& costs) {
  std::vector<int> left(static_cast<std::size_t>(costs.size()) - 1);
  std::iota(left.begin(), left.end(), 1);
  std::vector<int> order{0};
  while (!left.empty()) {
    const auto next = std::min_element(
        left.begin(), left.end(), [&](int a, int b) { return costs.at(order.back(), a) < costs.at(order.back(), b); });
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

std::vector<int> searchOrder(const EdgeCosts& costs, std::vector<int> best) {
  constexpr std::int64_t kTrialSteps = 3'000'000; // Some 10 ms of work for any number of ranks.
  constexpr int kStarts = 12;
  std::int64_t trials = kTrialSteps / costs.size();
  Random random;
  std::vector<int> start = best;
  improve(costs, best, trials);
  for (int attempt = 0; attempt < kStarts && trials > 0; ++attempt) {
    if (attempt == 0) {
      start = nearestNeighbours(costs);
    } else {
      for (std::size_t i = start.size() - 1; i > 1; --i)
        std::swap(start[i], start[1 + random.below(i)]);
    }
    std::vector<int> order = start;
    improve(costs, order, trials);
    if (costs.ofTour(order) < costs.ofTour(best)) best = order;
  }
  return best;
}

std::vector<double> partsOfOne(std::vector<double> shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares)
    share /= sum;
  return shares;
}

} // namespace

std::vector<int> ringOrder(const Links& links, double message_bytes) {
  std::vector<int> natural(static_cast<std::size_t>(links.size()));
  std::iota(natural.begin(), natural.end(), 0);
  if (links.size() < 3) return natural;
  const EdgeCosts costs(links, message_bytes);
  if (links.size() > kExactRanks) return searchOrder(costs, natural);
  const double slowest = SubsetSearch(costs, kInfinite).slowestEdge();
  std::vector<int> order = SubsetSearch(costs, slowest).leastSum();
  return costs.ofTour(order) < costs.ofTour(natural) ? order : natural;
}

std::vector<double> directShares(const Links& links) {
  const int p = links.size();
  std::vector<double> rates;
  bool equal = true;
  for (int rank = 0; rank < p; ++rank) {
    const NodePrice& node = links.node(links.nodeOf(rank));
    if (node.up_bytes_per_s <= 0 || node.down_bytes_per_s <= 0) return {};
    for (int other = 0; other < rank; ++other) {
      if (links.nodeOf(other) == links.nodeOf(rank)) return {};
    }
    rates.push_back(std::min(node.up_bytes_per_s, node.down_bytes_per_s));
    equal = equal && rates.back() == rates.front();
  }
  if (p < 3 || equal) return {};
  const double slowest = *std::min_element(rates.begin(), rates.end());
  // The shares that fit T seconds for one byte of vector; they grow with T.
  const auto shares = [&](double t) {
    std::vector<double> result;
    for (const double rate : rates)
      result.push_back(std::max(0.0, (rate * t - 1) / (p - 2)));
    return result;
  };
  const auto total = [](const std::vector<double>& w) { return std::accumulate(w.begin(), w.end(), 0.0); };
  double low = 0;
  double high = 2.0 * p / slowest;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (total(shares(middle)) >= 1 ? high : low) = middle;
  }
  // Even a node that owns no share moves the vector no faster than its own port.
  return partsOfOne(shares(std::max(high, 1 / slowest)));
}

std::vector<double> pairShares(const Links& links, int group_size) {
  std::vector<double> rates;
  for (int first = 0; first < group_size; ++first) {
    for (int second = group_size; second < 2 * group_size; ++second) {
      rates.push_back(
          std::min(links.price(first, second).bandwidth_bytes_per_s, links.price(second, first).bandwidth_bytes_per_s));
    }
  }
  if (std::all_of(rates.begin(), rates.end(), [&](double rate) { return rate == rates.front(); })) return {};
  return partsOfOne(std::move(rates));
}

} // namespace goss::schedule

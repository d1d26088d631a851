#include "schedule/links.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <map>
#include <numeric>
#include <utility>

#include "gossamer/transport_names.h"

namespace goss::schedule {

namespace {

namespace names = transport_names;

struct BuiltIn {
  std::string_view name;
  LinkPrice price;
  CpuPrice cpu;
};

constexpr double kKeptBytes = 256.0 * (1 << 20); ///< Bytes that a stream transport keeps for a peer without a receive.
constexpr CpuPrice kCpu{14e9, 10e9};

/// One core of a 2020s server: f32 sums 14 GB/s from memory; latencies are one way between two processes that are
/// awake.
constexpr std::array kBuiltIns = {
    // clang-format off
    //                         latency  bandwidth  overhead  eager bytes  sender's rate
    BuiltIn{names::kLoopback, {0.5e-6,  12e9,      0.1e-6,   kKeptBytes}, kCpu},
    BuiltIn{names::kShm,      {0.6e-6,  10e9,      0.1e-6,   1 << 20}, kCpu},
    BuiltIn{names::kUcx,      {0.8e-6,  25e9,      0.5e-6,   1 << 20, 25e9}, kCpu},
    BuiltIn{names::kTcp,      {10e-6,   4e9,       2e-6,     kKeptBytes}, kCpu},
    BuiltIn{names::kTls,      {10e-6,   1e9,       4e-6,     kKeptBytes}, kCpu},
    BuiltIn{"ib100",          {2e-6,    12e9,      0.3e-6,   kKeptBytes}, kCpu},
    BuiltIn{"lan10g",         {25e-6,   1.15e9,    5e-6,     kKeptBytes}, kCpu},
    BuiltIn{"wan",            {40e-3,   100e6,     20e-6,    kKeptBytes}, kCpu},
    // clang-format on
};

constexpr auto kNames = [] {
  std::array<std::string_view, kBuiltIns.size()> all;
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = kBuiltIns[i].name;
  return all;
}();

} // namespace

std::span<const std::string_view> builtInLinkNames() { return kNames; }

Links::Links(int size, LinkPrice all, CpuPrice cpu) : prices_{all}, cpu_(cpu) {
  assert(size >= 1);
  node_of_rank_.resize(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    node_of_rank_[static_cast<std::size_t>(rank)] = rank;
  nodes_.resize(static_cast<std::size_t>(size));
}

Result<Links> Links::builtIn(std::string_view name, int size) {
  for (const BuiltIn& entry : kBuiltIns) {
    if (entry.name == name) return Links(size, entry.price, entry.cpu);
  }
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("there are no built-in link prices '{}'; use one of {}",
                                                              name, fmt::join(kNames, ", ")));
}

bool Links::uniform() const {
  if (nodes_.size() != node_of_rank_.size()) return false;
  for (std::size_t rank = 0; rank < node_of_rank_.size(); ++rank) {
    if (node_of_rank_[rank] != static_cast<int>(rank) || !(nodes_[rank] == nodes_[0])) return false;
  }
  const int p = size();
  if (hasOnePrice() || p < 2) return true;
  const LinkPrice& first = price(0, 1);
  const std::vector<int> ranks = representatives();
  for (const int from : ranks) {
    for (const int to : ranks) {
      if (from != to && !(price(from, to) == first)) return false;
    }
  }
  return true;
}

int Links::period() const {
  if (uniform()) return 1;
  const int p = size();
  const int node = nodeSize();
  if (node == 0) return p;
  for (int rank = 0; rank < p; rank += node) {
    if (!(nodes_[static_cast<std::size_t>(nodeOf(rank))] == nodes_[static_cast<std::size_t>(nodeOf(0))])) return p;
  }
  if (hasOnePrice()) return node;
  const std::vector<int> ranks = representatives();
  for (const int from : ranks) {
    for (const int to : ranks) {
      if (from != to && !(price(from, to) == price(0, nodeOf(from) == nodeOf(to) ? 1 : node))) return p;
    }
  }
  return node;
}

int Links::nodeSize() const {
  const int p = size();
  int group = 1;
  while (group < p && nodeOf(group) == nodeOf(0))
    ++group;
  if (group == 1 || group == p || p % group != 0) return 0;
  for (int rank = 0; rank < p; ++rank) {
    if (nodeOf(rank) != nodeOf(rank - rank % group)) return 0;
    if (rank % group == 0 && rank > 0 && nodeOf(rank) == nodeOf(rank - 1)) return 0;
  }
  return group;
}

std::vector<int> Links::representatives() const {
  std::vector<int> ranks;
  std::map<std::pair<int, std::size_t>, int> seen; // By node and kind.
  for (int rank = 0; rank < size(); ++rank) {
    const std::size_t kind = hasOnePrice() ? 0 : kind_of_rank_[static_cast<std::size_t>(rank)];
    if (++seen[{nodeOf(rank), kind}] <= 2) ranks.push_back(rank);
  }
  return ranks;
}

/// Compares with the first and the last price alone, because prices that are set in a row are often the same. A full
/// search would take ranks^4 steps for a measured matrix.
std::uint32_t Links::indexOf(const LinkPrice& price) {
  if (price == prices_[0]) return 0;
  if (!(prices_.back() == price)) prices_.push_back(price);
  return static_cast<std::uint32_t>(prices_.size() - 1);
}

void Links::setPrices(const std::vector<int>& kind_of_rank,
                      const std::function<LinkPrice(int from, int to)>& price_of) {
  assert(kind_of_rank.size() == node_of_rank_.size());
  std::vector<std::array<int, 2>> members; // The first two ranks of each kind; -1: there is none.
  for (int rank = 0; rank < size(); ++rank) {
    const auto kind = static_cast<std::size_t>(kind_of_rank[static_cast<std::size_t>(rank)]);
    if (kind >= members.size()) members.resize(kind + 1, {-1, -1});
    int& free = members[kind][members[kind][0] < 0 ? 0 : 1];
    if (free < 0) free = rank;
  }
  std::vector<std::uint32_t> table; // Empty as long as all are prices_[0].
  for (std::size_t from = 0; from < members.size(); ++from) {
    for (std::size_t to = 0; to < members.size(); ++to) {
      const int other = members[to][from == to ? 1 : 0];
      const std::uint32_t index = other < 0 ? 0 : indexOf(price_of(members[from][0], other));
      if (index != 0 && table.empty()) table.assign(members.size() * members.size(), 0);
      if (index != 0) table[from * members.size() + to] = index;
    }
  }
  const bool any = !table.empty();
  kinds_ = any ? members.size() : 1;
  kind_of_rank_.assign(kind_of_rank.begin(), any ? kind_of_rank.end() : kind_of_rank.begin());
  price_of_kinds_ = any ? std::move(table) : std::vector<std::uint32_t>();
}

/// Makes each rank a kind of its own.
void Links::separateKinds() {
  const std::size_t p = node_of_rank_.size();
  if (kinds_ == p && !hasOnePrice()) return;
  std::vector<std::uint32_t> table(p * p);
  for (std::size_t i = 0; i < table.size() && !hasOnePrice(); ++i)
    table[i] = price_of_kinds_[pairIndex(static_cast<int>(i / p), static_cast<int>(i % p))];
  price_of_kinds_ = std::move(table);
  kind_of_rank_.resize(p);
  std::iota(kind_of_rank_.begin(), kind_of_rank_.end(), std::size_t{0});
  kinds_ = p;
}

void Links::setPrice(int from, int to, const LinkPrice& price) {
  assert(price.bandwidth_bytes_per_s > 0 && price.latency_s >= 0);
  if (price == prices_[0] && hasOnePrice()) return;
  separateKinds();
  price_of_kinds_[pairIndex(from, to)] = indexOf(price);
}

void Links::setAll(const LinkPrice& price) {
  prices_.assign(1, price);
  price_of_kinds_.clear();
  kind_of_rank_.clear();
  kinds_ = 1;
}

void Links::setNode(std::span<const int> ranks, const NodePrice& price) {
  // A node of one rank keeps its number, so that uniform() sees through ports that are set one by one.
  if (ranks.size() == 1 && nodeOf(ranks[0]) == ranks[0]) {
    nodes_[static_cast<std::size_t>(ranks[0])] = price;
    return;
  }
  for (const int rank : ranks)
    node_of_rank_[static_cast<std::size_t>(rank)] = static_cast<int>(nodes_.size());
  nodes_.push_back(price);
}

Links Links::subset(std::span<const int> ranks) const {
  const int n = static_cast<int>(ranks.size());
  Links result(n, n > 1 ? price(ranks[0], ranks[1]) : prices_[0], cpu_);
  std::vector<std::vector<int>> members(nodes_.size());
  for (int i = 0; i < n; ++i)
    members[static_cast<std::size_t>(nodeOf(ranks[static_cast<std::size_t>(i)]))].push_back(i);
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (!members[node].empty()) result.setNode(members[node], nodes_[node]);
  }
  if (hasOnePrice()) return result;
  std::map<std::size_t, int> numbers;
  std::vector<int> kinds;
  for (const int rank : ranks) {
    const std::size_t kind = kind_of_rank_[static_cast<std::size_t>(rank)];
    kinds.push_back(numbers.emplace(kind, static_cast<int>(numbers.size())).first->second);
  }
  const auto original = [&](int i) { return ranks[static_cast<std::size_t>(i)]; };
  result.setPrices(kinds, [&](int from, int to) { return price(original(from), original(to)); });
  return result;
}

std::vector<int> Links::firstOfNodes() const {
  std::vector<int> firsts;
  std::vector<bool> seen(nodes_.size(), false);
  for (int rank = 0; rank < size(); ++rank) {
    const auto node = static_cast<std::size_t>(nodeOf(rank));
    if (!seen[node]) firsts.push_back(rank);
    seen[node] = true;
  }
  return firsts;
}

Links Links::withNodes(const Links& between) const {
  const std::vector<int> firsts = firstOfNodes();
  assert(between.size() == static_cast<int>(firsts.size()));
  std::vector<int> stand_ins(nodes_.size(), 0); // By node: its rank in `between`.
  for (std::size_t i = 0; i < firsts.size(); ++i)
    stand_ins[static_cast<std::size_t>(nodeOf(firsts[i]))] = static_cast<int>(i);
  const auto stand_in_of = [&](int rank) { return stand_ins[static_cast<std::size_t>(nodeOf(rank))]; };
  std::map<std::pair<std::size_t, int>, int> numbers;
  std::vector<int> kinds;
  std::vector<std::vector<int>> members(firsts.size());
  for (int rank = 0; rank < size(); ++rank) {
    const std::size_t kind = hasOnePrice() ? 0 : kind_of_rank_[static_cast<std::size_t>(rank)];
    kinds.push_back(
        numbers.emplace(std::pair(kind, stand_in_of(rank)), static_cast<int>(numbers.size())).first->second);
    members[static_cast<std::size_t>(stand_in_of(rank))].push_back(rank);
  }
  const auto price_of = [&](int from, int to) {
    return nodeOf(from) == nodeOf(to) ? price(from, to) : between.price(stand_in_of(from), stand_in_of(to));
  };
  Links result(size(), size() > 1 ? price_of(0, 1) : prices_[0], between.cpu());
  result.setPrices(kinds, price_of);
  for (std::size_t i = 0; i < firsts.size(); ++i)
    result.setNode(members[i], between.node(between.nodeOf(static_cast<int>(i))));
  return result;
}

} // namespace goss::schedule

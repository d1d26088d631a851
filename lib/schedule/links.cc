#include "schedule/links.h"

#include <fmt/format.h>

#include <array>
#include <cassert>

namespace goss::schedule {

namespace {

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
    //                  latency  bandwidth  overhead  eager bytes  sender's rate
    BuiltIn{"loopback", {0.5e-6,  12e9,      0.1e-6,   kKeptBytes}, kCpu},
    BuiltIn{"shm",      {0.6e-6,  10e9,      0.1e-6,   1 << 20}, kCpu},
    BuiltIn{"ucx",      {0.8e-6,  25e9,      0.5e-6,   1 << 20, 25e9}, kCpu},
    BuiltIn{"tcp",      {10e-6,   4e9,       2e-6,     kKeptBytes}, kCpu},
    BuiltIn{"tls",      {10e-6,   1e9,       4e-6,     kKeptBytes}, kCpu},
    BuiltIn{"ib100",    {2e-6,    12e9,      0.3e-6,   kKeptBytes}, kCpu},
    BuiltIn{"lan10g",   {25e-6,   1.15e9,    5e-6,     kKeptBytes}, kCpu},
    BuiltIn{"wan",      {40e-3,   100e6,     20e-6,    kKeptBytes}, kCpu},
    // clang-format on
};

constexpr auto kNames = [] {
  std::array<std::string_view, kBuiltIns.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = kBuiltIns[i].name;
  return names;
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

const LinkPrice& Links::price(int from, int to) const {
  return hasOnePrice() ? prices_[0] : prices_[price_of_pair_[cell(from, to)]];
}

bool Links::uniform() const {
  if (nodes_.size() != node_of_rank_.size()) return false;
  for (std::size_t rank = 0; rank < node_of_rank_.size(); ++rank) {
    if (node_of_rank_[rank] != static_cast<int>(rank) || !(nodes_[rank] == nodes_[0])) return false;
  }
  const int p = size();
  if (hasOnePrice() || p < 2) return true;
  const LinkPrice& first = price(0, 1);
  for (int from = 0; from < p; ++from) {
    for (int to = 0; to < p; ++to) {
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
  for (int from = 0; from < p; ++from) {
    for (int to = 0; to < p; ++to) {
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

void Links::setPrice(int from, int to, const LinkPrice& price) {
  assert(price.bandwidth_bytes_per_s > 0 && price.latency_s >= 0);
  const bool usual = price == prices_[0];
  if (usual && hasOnePrice()) return;
  if (hasOnePrice()) price_of_pair_.assign(node_of_rank_.size() * node_of_rank_.size(), 0);
  // Neighbouring pairs often cost the same; a full search would take the fourth power of the number of ranks for a
  // measured matrix.
  if (!usual && !(prices_.back() == price)) prices_.push_back(price);
  price_of_pair_[cell(from, to)] = usual ? 0 : static_cast<std::uint32_t>(prices_.size() - 1);
}

void Links::setAll(const LinkPrice& price) {
  prices_.assign(1, price);
  price_of_pair_.clear();
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
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (from == to) continue;
      result.setPrice(from, to, price(ranks[static_cast<std::size_t>(from)], ranks[static_cast<std::size_t>(to)]));
    }
  }
  return result;
}

} // namespace goss::schedule

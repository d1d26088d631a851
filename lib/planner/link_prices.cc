#include "planner/link_prices.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace goss {

namespace {

using platform::Place;
using schedule::LinkPrice;

/// Scales a price measured between processes that share a cache. The factors are assumed for servers with two packages,
/// not measured: a cache line comes from another cache of the package in 1.5 times the time, from another package in
/// twice, and one flow of copies gets 0.85 and 0.6 of the bandwidth.
LinkPrice priceAt(Locality level, LinkPrice price) {
  if (level == Locality::cache) return price;
  price.latency_s *= level == Locality::numa ? 1.5 : 2.0;
  price.bandwidth_bytes_per_s *= level == Locality::numa ? 0.85 : 0.6;
  return price;
}

/// Bandwidth of the links between packages, each way, in flows as fast as those inside a package.
constexpr double kFlowsBetweenPackages = 2;

bool differ(int one, int other) { return one >= 0 && other >= 0 && one != other; }

std::map<std::string_view, std::vector<int>> hostsOf(const std::vector<PeerCard>& cards,
                                                     const std::vector<int>& ranks) {
  std::map<std::string_view, std::vector<int>> hosts;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    hosts[cards[static_cast<std::size_t>(ranks[i])].host].push_back(static_cast<int>(i));
  return hosts;
}

/// Ranks by package; empty where a rank is not bound to one.
std::map<int, std::vector<int>> packagesOf(const std::vector<PeerCard>& cards, const std::vector<int>& ranks) {
  std::map<int, std::vector<int>> packages;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    packages[cards[static_cast<std::size_t>(ranks[i])].place.package].push_back(static_cast<int>(i));
  if (packages.contains(-1)) packages.clear();
  return packages;
}

LinkPrice priceBetween(const PeerCard& one, const PeerCard& other, const LinkRules& rules) {
  if (one.host != other.host) return rules.tuning.network;
  if (one.process == other.process && !rules.between_threads) return rules.tuning.loopback;
  if (rules.sockets_only) return rules.socket;
  return priceAt(levelBetween(one.place, other.place), rules.tuning.shm);
}

} // namespace

Locality levelBetween(const Place& one, const Place& other) {
  if (differ(one.package, other.package) || differ(one.numa, other.numa)) return Locality::package;
  return differ(one.cache, other.cache) ? Locality::numa : Locality::cache;
}

schedule::Links linksBetween(const std::vector<PeerCard>& cards, const std::vector<int>& ranks,
                             const LinkRules& rules) {
  const int count = static_cast<int>(ranks.size());
  const LinkPrice usual = rules.sockets_only ? rules.socket : rules.tuning.shm;
  schedule::Links links(count, usual, rules.tuning.cpu);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < count; ++j) {
      const PeerCard& from = cards[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)])];
      const PeerCard& to = cards[static_cast<std::size_t>(ranks[static_cast<std::size_t>(j)])];
      if (i == j) continue;
      const LinkPrice price = priceBetween(from, to, rules);
      if (!(price == usual)) links.setPrice(i, j, price);
    }
  }
  // Ranks of a host share its network port, which messages between them do not use.
  const auto hosts = hostsOf(cards, ranks);
  const double port = rules.tuning.network.bandwidth_bytes_per_s;
  for (const auto& [host, members] : hosts) {
    if (hosts.size() > 1) links.setNode(members, {port, port});
  }
  if (hosts.size() > 1 || rules.sockets_only) return links;
  const auto packages = packagesOf(cards, ranks);
  const double bus = kFlowsBetweenPackages * rules.tuning.shm.bandwidth_bytes_per_s;
  for (const auto& [package, members] : packages) {
    if (packages.size() > 1) links.setNode(members, {bus, bus});
  }
  return links;
}

} // namespace goss

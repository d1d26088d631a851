#include "planner/link_prices.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/wide_area.h"
#include "gossamer/transport_names.h"
#include "planner/oversubscription.h"

namespace goss {

namespace {

namespace names = transport_names;
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

/// A flow that crosses a wide-area network.
LinkPrice widePrice(double round_trip_s, const LinkRules& rules) {
  static const LinkPrice wide = schedule::Links::builtIn("wan", 2).value().price(0, 1);
  LinkPrice price = wide;
  price.latency_s = round_trip_s / 2;
  price.bandwidth_bytes_per_s = std::min(wide.bandwidth_bytes_per_s, rules.tuning.network.bandwidth_bytes_per_s);
  return price;
}

LinkPrice priceBetween(const std::vector<PeerCard>& cards, int from, int to, const LinkRules& rules) {
  const PeerCard& one = cards[static_cast<std::size_t>(from)];
  const PeerCard& other = cards[static_cast<std::size_t>(to)];
  if (const double round_trip_s = rules.round_trips.between(from, to); round_trip_s > 0)
    return widePrice(round_trip_s, rules);
  if (one.host != other.host) return rules.tuning.network;
  const std::string_view transport = transportBetween(one, other);
  if (transport == names::kLoopback || transport == names::kSim) return rules.tuning.loopback;
  if (transport == names::kTcp || transport == names::kTls)
    return oversubscribedPrice(transport == names::kTls ? rules.tuning.tls : rules.tuning.tcp,
                               rules.ranks_per_processor);
  return priceAt(levelBetween(one.place, other.place), transport == names::kUcx ? rules.tuning.ucx : rules.tuning.shm);
}

/// TLS limits the bandwidth of links between hosts, whatever the network carries.
void limitNetwork(Tuning& tuning, const std::vector<PeerCard>& cards) {
  double& network = tuning.network.bandwidth_bytes_per_s;
  if (std::any_of(cards.begin(), cards.end(), [](const PeerCard& card) { return card.offers(names::kTls); }))
    network = std::min(network, tuning.tls.bandwidth_bytes_per_s);
}

std::vector<std::string_view> transportsOf(const PeerCard& card) {
  std::vector<std::string_view> offered;
  for (const auto& [name, address] : card.addresses)
    offered.push_back(name);
  return offered;
}

/// Ranks of one kind have the same host, place and transports. A rank that may exchange pointers with others of `ranks`
/// has a kind that is limited to their process, so that two ranks of a kind may do so either always or never.
std::vector<int> kindsOf(const std::vector<PeerCard>& cards, const std::vector<int>& ranks) {
  using Process = std::pair<std::string_view, std::string_view>; // Host and process.
  std::map<Process, int> ranks_of;
  for (const int rank : ranks)
    ++ranks_of[{cards[static_cast<std::size_t>(rank)].host, cards[static_cast<std::size_t>(rank)].process}];
  std::map<std::tuple<Process, std::vector<std::string_view>, int, int, int>, int> numbers;
  std::vector<int> kinds;
  for (const int rank : ranks) {
    const PeerCard& card = cards[static_cast<std::size_t>(rank)];
    Process process(card.host, card.process);
    const bool in_process = card.offers(names::kLoopback) || card.offers(names::kSim);
    if (!in_process || ranks_of[process] == 1) process.second = {};
    const Place& place = card.place;
    kinds.push_back(numbers
                        .emplace(std::tuple(process, transportsOf(card), place.package, place.numa, place.cache),
                                 static_cast<int>(numbers.size()))
                        .first->second);
  }
  return kinds;
}

/// Whether all other hosts are wide apart from that of ranks[index].
bool isFarFromOthers(const std::vector<PeerCard>& cards, const std::vector<int>& ranks, int index,
                     const LinkRules& rules) {
  const int own = ranks[static_cast<std::size_t>(index)];
  return std::all_of(ranks.begin(), ranks.end(), [&](int rank) {
    return cards[static_cast<std::size_t>(rank)].host == cards[static_cast<std::size_t>(own)].host ||
           rules.round_trips.between(rank, own) > 0;
  });
}

} // namespace

Locality levelBetween(const Place& one, const Place& other) {
  if (differ(one.package, other.package) || differ(one.numa, other.numa)) return Locality::package;
  return differ(one.cache, other.cache) ? Locality::numa : Locality::cache;
}

bool usesSockets(const PeerCard& card) {
  return !card.offers(names::kShm) && (card.offers(names::kTcp) || card.offers(names::kTls));
}

schedule::Links linksBetween(const std::vector<PeerCard>& cards, const std::vector<int>& ranks, LinkRules rules) {
  limitNetwork(rules.tuning, cards);
  const int count = static_cast<int>(ranks.size());
  const auto price = [&](int i, int j) {
    return priceBetween(cards, ranks[static_cast<std::size_t>(i)], ranks[static_cast<std::size_t>(j)], rules);
  };
  // With the price of a pair that exists, links whose pairs all cost the same keep one price.
  schedule::Links links(count, count > 1 ? price(0, 1) : LinkPrice(rules.tuning.shm), rules.tuning.cpu);
  links.setPrices(kindsOf(cards, ranks), price);
  // Ranks of a host share its network port, which messages between them do not use.
  const auto hosts = hostsOf(cards, ranks);
  for (const auto& [host, members] : hosts) {
    if (hosts.size() < 2) break;
    double port = rules.tuning.network.bandwidth_bytes_per_s;
    if (isFarFromOthers(cards, ranks, members.front(), rules))
      port = members.size() > 1 ? widePrice(kWideAreaRoundTrip_s, rules).bandwidth_bytes_per_s : 0;
    links.setNode(members, {port, port});
  }
  const bool sockets = std::any_of(ranks.begin(), ranks.end(),
                                   [&](int rank) { return usesSockets(cards[static_cast<std::size_t>(rank)]); });
  if (hosts.size() > 1 || sockets) return links;
  const auto packages = packagesOf(cards, ranks);
  const double bus = kFlowsBetweenPackages * rules.tuning.shm.bandwidth_bytes_per_s;
  for (const auto& [package, members] : packages) {
    if (packages.size() > 1) links.setNode(members, {bus, bus});
  }
  return links;
}

} // namespace goss

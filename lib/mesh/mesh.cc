#include "mesh/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/wire.h"
#include "gossamer/transport_names.h"

namespace goss {

namespace {

constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxProcessorBytes = 1024;
constexpr std::size_t kMaxSiteBytes = 16;
constexpr std::size_t kMaxAddressBytes = 4096;
constexpr std::size_t kMaxAddresses = 16;

/// Why `peer`, which has this card, cannot be reached.
std::string describeUnreachable(int peer, const PeerCard& card, const std::string& own_trouble) {
  if (card.addresses.empty() && !card.trouble.empty())
    return fmt::format("rank {} cannot be reached: {}", peer, card.trouble);
  std::vector<std::string> offered;
  for (const auto& [name, address] : card.addresses)
    offered.push_back(name);
  std::string text = fmt::format("no transport reaches rank {} (it offers: {})", peer, fmt::join(offered, ", "));
  if (!card.trouble.empty()) text += fmt::format("; on rank {} {}", peer, card.trouble);
  if (!own_trouble.empty()) text += fmt::format("; on this rank {}", own_trouble);
  if (card.trouble.empty() && own_trouble.empty())
    text += "; GOSS_TRANSPORT, GOSS_TLS and GOSS_INTERFACE must fit together on all ranks";
  return text;
}

} // namespace

std::string PeerCard::encode() const {
  base::WireWriter writer;
  writer.text(host).text(process).text(processors);
  writer.integer(std::int32_t{place.package}).integer(std::int32_t{place.numa}).integer(std::int32_t{place.cache});
  writer.text(site.from).text(site.at);
  writer.integer(static_cast<std::uint32_t>(addresses.size()));
  for (const auto& [name, address] : addresses)
    writer.text(name).text(address);
  writer.text(std::string_view(trouble).substr(0, kMaxTroubleBytes));
  return writer.take();
}

Result<PeerCard> PeerCard::decode(std::string_view bytes) {
  base::WireReader reader(bytes);
  PeerCard card;
  card.host = reader.text(kMaxNameBytes);
  card.process = reader.text(kMaxNameBytes);
  card.processors = reader.text(kMaxProcessorBytes);
  card.place.package = reader.integer<std::int32_t>();
  card.place.numa = reader.integer<std::int32_t>();
  card.place.cache = reader.integer<std::int32_t>();
  const bool placed = card.place.package >= -1 && card.place.numa >= -1 && card.place.cache >= -1;
  card.site.from = reader.text(kMaxSiteBytes);
  card.site.at = reader.text(kMaxSiteBytes);
  const auto count = reader.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < std::min<std::size_t>(count, kMaxAddresses); ++i) {
    const std::string_view name = reader.text(kMaxNameBytes);
    const std::string_view address = reader.text(kMaxAddressBytes);
    card.addresses.emplace_back(name, address);
  }
  card.trouble = reader.text(kMaxTroubleBytes);
  if (!reader.complete() || !placed || count > kMaxAddresses) {
    return Status::error(GOSS_ERR_PROTOCOL, "a malformed address card; do all ranks run the same version?");
  }
  return card;
}

bool PeerCard::offers(std::string_view transport) const {
  return std::any_of(addresses.begin(), addresses.end(),
                     [&](const auto& address) { return address.first == transport; });
}

std::string_view transportBetween(const PeerCard& one, const PeerCard& other) {
  for (const auto& [name, address] : one.addresses) {
    const bool in_process = name == transport_names::kLoopback || name == transport_names::kSim;
    const bool on_host = name == transport_names::kShm;
    const bool reaches = in_process ? one.process == other.process : !on_host || one.host == other.host;
    if (reaches && other.offers(name)) return name;
  }
  return {};
}

void PeerCard::forgetAddresses() {
  for (auto& [name, address] : addresses)
    address = std::string();
  trouble = std::string();
}

Mesh::Mesh(int self, int size, std::vector<std::unique_ptr<Transport>> transports)
    : self_(self), transports_(std::move(transports)) {
  by_peer_.resize(static_cast<std::size_t>(size), nullptr);
  short_.resize(by_peer_.size(), nullptr);
  lost_.resize(static_cast<std::size_t>(size));
  how_lost_.resize(lost_.size(), PeerLoss::silent);
}

Mesh::~Mesh() = default;

Status Mesh::open(PeerCard& card) {
  std::vector<std::unique_ptr<Transport>> opened;
  Status last;
  bool impossible = false;
  for (auto& transport : transports_) {
    Result<std::string> address = transport->open();
    if (address.isOk() && address.value().size() > kMaxAddressBytes)
      address = Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("its address has {} bytes, more than {}",
                                                                address.value().size(), kMaxAddressBytes));
    if (address.isOk()) {
      card.addresses.emplace_back(transport->name(), address.take());
      opened.push_back(std::move(transport));
      continue;
    }
    if (!impossible) last = address.status();
    impossible = impossible || last.kind() == GOSS_ERR_INVALID_ARGUMENT;
    card.trouble += fmt::format("{}{} could not be opened: {}", card.trouble.empty() ? "" : "; ", transport->name(),
                                address.status().text());
  }
  trouble_ = card.trouble;
  transports_ = std::move(opened);
  if (!impossible && !transports_.empty()) return Status::ok();
  card.addresses.clear();
  return last;
}

/// The ranks at the places that `choose`, a function of circle.h, chooses for this rank.
std::vector<int> Mesh::fromCircle(decltype(nextInCircle)& choose) const {
  if (circle_.empty()) return {};
  const int own = static_cast<int>(std::find(circle_.begin(), circle_.end(), self_) - circle_.begin());
  std::vector<int> ranks;
  for (const int place : choose(own, static_cast<int>(circle_.size()),
                                [this](int at) GOSS_ON_LOOP { return isLost(circle_[static_cast<std::size_t>(at)]); }))
    ranks.push_back(circle_[static_cast<std::size_t>(place)]);
  return ranks;
}

std::vector<int> Mesh::neighbours() const { return fromCircle(nextInCircle); }

std::vector<int> Mesh::newsTargets() const { return fromCircle(newsInCircle); }

/// Fills circle_, and returns by peer whether its link may be made at its first use. Both ends answer alike. Links
/// between hosts are made at the start, because firewalls and routers may let only one end call, and the planner needs
/// their round trips.
std::vector<bool> Mesh::preparedPeers(const std::vector<PeerCard>& cards) {
  std::vector<bool> prepared(cards.size(), false);
  for (int rank = 0; rank < size(); ++rank)
    if (cards[static_cast<std::size_t>(rank)].host == cards[static_cast<std::size_t>(self_)].host)
      circle_.push_back(rank);
  if (circle_.size() <= kMaxAtStart) return prepared;
  const int ranks = static_cast<int>(circle_.size());
  const int own = static_cast<int>(std::find(circle_.begin(), circle_.end(), self_) - circle_.begin());
  for (int place = 0; place < ranks; ++place) {
    const int forward = (place - own + ranks) % ranks;
    const int peer = circle_[static_cast<std::size_t>(place)];
    prepared[static_cast<std::size_t>(peer)] = std::min(forward, ranks - forward) > kWatched;
  }
  return prepared;
}

Status Mesh::connect(const std::vector<PeerCard>& cards) {
  const std::vector<bool> prepared = preparedPeers(cards);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == self_) continue;
    const auto index = static_cast<std::size_t>(peer);
    for (const auto& transport : transports_) {
      for (const auto& [name, address] : cards[index].addresses) {
        if (by_peer_[index] != nullptr || name != transport->name() || !transport->reaches(address)) continue;
        Status status = prepared[index] ? transport->prepare(peer, address) : transport->connect(peer, address);
        if (!status.isOk()) return status;
        use(*transport, peer);
      }
    }
    if (by_peer_[index] == nullptr) {
      return Status::error(GOSS_ERR_BOOTSTRAP, describeUnreachable(peer, cards[index], trouble_),
                           ErrorScope::communicator, peer);
    }
  }
  bool any_idle = false;
  for (std::size_t peer = 0; peer < prepared.size(); ++peer)
    any_idle = any_idle || (prepared[peer] && by_peer_[peer]->link(static_cast<int>(peer)) == LinkState::idle);
  if (!any_idle) circle_.clear(); // All links are made at the start.
  return Status::ok();
}

void Mesh::use(Transport& transport, int peer) {
  const auto index = static_cast<std::size_t>(peer);
  by_peer_[index] = &transport;
  short_[index] = transport.shortMessages();
  if (std::find(used_.begin(), used_.end(), &transport) != used_.end()) return;
  used_.push_back(&transport);
  if (const Relaying* relaying = transport.relaying(); relaying != nullptr) relaying_.push_back(relaying);
  if (SharedRegions* regions = transport.sharedRegions(); regions != nullptr) regions_.push_back(regions);
}

Result<bool> Mesh::connected() const {
  bool all = true;
  for (int peer = 0; peer < size(); ++peer) {
    const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
    if (transport == nullptr) continue;
    const LinkState state = transport->link(peer);
    if (state == LinkState::failed) return transport->linkError(peer);
    all = all && state != LinkState::connecting;
  }
  return all;
}

std::vector<int> Mesh::peersNotReady() const {
  std::vector<int> peers;
  for (int peer = 0; peer < size(); ++peer) {
    const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
    if (transport != nullptr && transport->link(peer) == LinkState::connecting) peers.push_back(peer);
  }
  return peers;
}

Lending* Mesh::lendingAmong(const std::vector<int>& ranks) const {
  Lending* lending = nullptr;
  for (const int rank : ranks) {
    if (rank == self_) continue;
    Lending* const of_rank = transport(rank)->lending();
    if (of_rank == nullptr || (lending != nullptr && of_rank != lending)) return nullptr;
    lending = of_rank;
  }
  return lending;
}

Status Mesh::linkStatus(int peer) const {
  const auto index = static_cast<std::size_t>(peer);
  if (!lost_[index].isOk()) return lost_[index];
  const Transport* transport = by_peer_[index];
  if (transport == nullptr || transport->link(peer) == LinkState::ready) return Status::ok();
  return transport->linkError(peer);
}

bool Mesh::progressOnLoop() {
  bool moved = false;
  for (Transport* transport : used_)
    moved = transport->progress() || moved;
  return moved;
}

bool Mesh::prepareToSleepOnLoop() {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]->prepareToSleep()) continue;
    for (std::size_t armed = 0; armed < i; ++armed)
      used_[armed]->sleepEnded();
    return false;
  }
  return true;
}

void Mesh::sleepEndedOnLoop() {
  for (Transport* transport : used_)
    transport->sleepEnded();
}

void Mesh::appendPollFds(std::vector<pollfd>& fds) const {
  for (const Transport* transport : used_)
    fds.push_back({transport->pollFd(), POLLIN, 0});
}

bool Mesh::servesOthers() const {
  if (windows_ > 0) return true;
  return std::any_of(relaying_.begin(), relaying_.end(), [](const Relaying* one) { return one->servesOthers(); });
}

double Mesh::roundTrip_s(int peer) const {
  const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
  return transport != nullptr ? transport->roundTrip_s(peer) : 0;
}

PathUse Mesh::pathUse(int peer) const {
  const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
  const bool ready = transport != nullptr && lost_[static_cast<std::size_t>(peer)].isOk();
  return ready && transport->link(peer) == LinkState::ready ? transport->pathUse(peer) : PathUse();
}

int Mesh::relayedBy(int peer) const {
  const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
  const Relaying* relaying = transport != nullptr ? transport->relaying() : nullptr;
  return relaying != nullptr ? relaying->relayedBy(peer) : -1;
}

void Mesh::postOnLoop(Outbox::Letter letter) {
  const int peer = letter.peer;
  if (peer == self_ || !linkStatus(peer).isOk()) return;
  outbox_.sendOnLoop(*transport(peer), std::move(letter));
}

void Mesh::addRegion(const MemoryRegion& region) {
  for (SharedRegions* regions : regions_)
    regions->add(region);
}

Status Mesh::removeRegion(const std::byte* data) {
  for (SharedRegions* regions : regions_) {
    if (Status status = regions->remove(data); !status.isOk()) return status;
  }
  return Status::ok();
}

void Mesh::discard(Tag mask, Tag value) {
  for (Transport* transport : used_)
    transport->discard(mask, value);
}

void Mesh::abandon(int peer, const Status& why) {
  if (Transport* transport = by_peer_[static_cast<std::size_t>(peer)]; transport != nullptr)
    transport->abandon(peer, why);
}

std::uint64_t Mesh::movements(int peer) const {
  const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
  if (transport == nullptr) return 0;
  const PeerStatistics statistics = transport->statistics(peer);
  return statistics.movements + statistics.messages_received;
}

void Mesh::setPeerLostHandler(PeerLostHandler handler) {
  on_peer_lost_ = std::move(handler);
  for (std::size_t peer = 0; peer < lost_.size(); ++peer)
    if (!lost_[peer].isOk()) on_peer_lost_(static_cast<int>(peer), lost_[peer], how_lost_[peer]);
}

void Mesh::onPeerLost(int peer, const Status& status, PeerLoss how) {
  Status& lost = lost_[static_cast<std::size_t>(peer)];
  if (!lost.isOk()) return;
  how_lost_[static_cast<std::size_t>(peer)] = how;
  lost = how == PeerLoss::departed
             ? Status::error(GOSS_ERR_PEER_LOST,
                             fmt::format("rank {} has left: it destroyed its communicator or exited", peer),
                             ErrorScope::peer, peer)
             : status;
  if (on_peer_lost_) on_peer_lost_(peer, lost, how);
}

} // namespace goss

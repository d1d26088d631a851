/// All links of a world: for each peer the best transport that both ends have.
#ifndef GOSS_LIB_MESH_MESH_H_
#define GOSS_LIB_MESH_MESH_H_

#include <poll.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "gossamer/lending.h"
#include "gossamer/relaying.h"
#include "gossamer/shared_regions.h"
#include "gossamer/short_messages.h"
#include "gossamer/transport.h"
#include "mesh/circle.h"
#include "mesh/outbox.h"
#include "platform/thread_safety.h"
#include "platform/topology.h"

namespace goss {

/// The card that every rank gives the others when they meet: transport addresses and where it runs.
struct PeerCard {
  std::string host;       ///< Equal on ranks that share a host (and network namespace).
  std::string process;    ///< platform::ownProcessName(): equal on ranks that are threads of one process.
  std::string processors; ///< As platform::usableProcessors().
  platform::Place place;  ///< The place to which the rank is bound.
  /// Addresses of the rank as seen from rank 0, and the reverse.
  Site site;
  std::vector<std::pair<std::string, std::string>> addresses; ///< Transport name and address, best first.
  /// Why the rank's other transports could not be opened, for people; cut to kMaxTroubleBytes. Empty: all were opened.
  std::string trouble;

  static constexpr std::size_t kMaxTroubleBytes = 1024;

  [[nodiscard]] std::string encode() const;
  /// Errors: protocol; the text does not name the rank.
  static Result<PeerCard> decode(std::string_view bytes);
  /// Whether the rank has opened this transport.
  [[nodiscard]] bool offers(std::string_view transport) const;
  /// Keeps the transports' names alone of `addresses`, and nothing of `trouble`.
  void forgetAddresses();
};

/// The name of the transport that Mesh::connect() chooses between the ranks of these cards, in `one`; "": there is
/// none. All ranks that have the cards answer alike, whatever their own settings.
[[nodiscard]] std::string_view transportBetween(const PeerCard& one, const PeerCard& other);

/// Forwards to the mesh; transports need their listener before the mesh, which owns them, exists.
class ListenerRelay final : public TransportListener {
 public:
  void setTarget(TransportListener* target) { target_ = target; }
  void onPeerLost(int peer, const Status& status, PeerLoss how) override {
    if (target_ != nullptr) target_->onPeerLost(peer, status, how);
  }

 private:
  TransportListener* target_ = nullptr;
};

/// Not thread-safe: used under the engine's lock, and by one thread while the world is being made.
class Mesh final : public TransportListener {
 public:
  using PeerLostHandler = std::function<void(int peer, const Status& status, PeerLoss how)>;

  /// `transports` best first.
  Mesh(int self, int size, std::vector<std::unique_ptr<Transport>> transports);
  ~Mesh() override;

  /// `handler` is called by the transport that has lost a peer, once for each peer; at once for those that are lost.
  void setPeerLostHandler(PeerLostHandler handler) GOSS_ON_LOOP;

  /// Opens all transports and fills in this rank's addresses and trouble. Errors: no transport could be opened; or
  /// invalidArgument, when a setting makes one of them impossible. The card then has no addresses, and must still be
  /// sent to the other ranks, which learn from it why this rank does not connect.
  Status open(PeerCard& card);
  /// Chooses a transport for each peer and begins to connect. Where a host has more than kMaxAtStart ranks, each of
  /// them connects to kWatched neighbours on either side, in the order of ranks, and prepares the links to its other
  /// ranks. Error: there is no common transport; the text names the peer, the transports of both ends, and why others
  /// could not be opened.
  Status connect(const std::vector<PeerCard>& cards);
  /// True when no link is being made; an error as soon as one has failed. To be called again after progressOnLoop().
  Result<bool> connected() const;
  [[nodiscard]] std::vector<int> peersNotReady() const;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int size() const { return static_cast<int>(by_peer_.size()); }
  /// The transport to `peer`; nullptr for this rank itself.
  [[nodiscard]] Transport* transport(int peer) const { return by_peer_[static_cast<std::size_t>(peer)]; }
  /// ShortMessages of the transport to `peer`; nullptr for this rank itself and where the transport has none.
  [[nodiscard]] ShortMessages* shortMessages(int peer) const { return short_[static_cast<std::size_t>(peer)]; }
  /// The interface by which this rank and `ranks` read each other's memory; null where it and one of them cannot, or
  /// there is no other.
  [[nodiscard]] Lending* lendingAmong(const std::vector<int>& ranks) const;
  /// Why nothing can be sent to `peer` any more: it is lost or has departed. Ok while the link works.
  [[nodiscard]] Status linkStatus(int peer) const GOSS_ON_LOOP;
  /// Whether the transport has reported `peer` lost.
  [[nodiscard]] bool isLost(int peer) const GOSS_ON_LOOP { return !lost_[static_cast<std::size_t>(peer)].isOk(); }
  /// Whether `peer` is lost and has departed or ended, so that it cannot go on without this rank.
  [[nodiscard]] bool hasEnded(int peer) const GOSS_ON_LOOP {
    return isLost(peer) && how_lost_[static_cast<std::size_t>(peer)] != PeerLoss::silent;
  }
  /// Whether the link to `peer` has not been used and so not been made: this rank would not notice the death of `peer`.
  [[nodiscard]] bool isIdle(int peer) const GOSS_ON_LOOP {
    const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
    return transport != nullptr && transport->link(peer) == LinkState::idle;
  }
  /// The ranks that this rank watches by a link: on either side the kWatched next ranks of this host that are not lost,
  /// in the order of ranks. None where all links are made at the start.
  [[nodiscard]] std::vector<int> neighbours() const GOSS_ON_LOOP;
  /// The ranks of this host to which this rank sends news that are for all of its ranks, and that each sends on when it
  /// receives them first: neighbours(), and those at the distances 1, 2, 4 and so on, both ways, that are not lost.
  /// None where all links are made at the start.
  [[nodiscard]] std::vector<int> newsTargets() const GOSS_ON_LOOP;
  /// Whether the link is made and works; linkStatus() is ok then. Cheaper than linkStatus().
  [[nodiscard]] bool isUp(int peer) const GOSS_ON_LOOP {
    const auto index = static_cast<std::size_t>(peer);
    return lost_[index].isOk() && by_peer_[index] != nullptr && by_peer_[index]->link(peer) == LinkState::ready;
  }

  bool progressOnLoop() GOSS_ON_LOOP;
  bool prepareToSleepOnLoop() GOSS_ON_LOOP;
  void sleepEndedOnLoop() GOSS_ON_LOOP;
  void appendPollFds(std::vector<pollfd>& fds) const GOSS_ON_LOOP;

  /// Whether other ranks need this one to progress even when it has no operations: a transport relays for them
  /// (Relaying::servesOthers), or a window is open.
  [[nodiscard]] bool servesOthers() const GOSS_ON_LOOP;
  /// `change`: 1 when a window is opened, -1 when one is closed.
  void countWindowsOnLoop(int change) GOSS_ON_LOOP { windows_ += change; }
  /// As Transport::roundTrip_s; also 0 for this rank itself.
  [[nodiscard]] double roundTrip_s(int peer) const;
  /// As Transport::pathUse; nothing for this rank itself.
  [[nodiscard]] PathUse pathUse(int peer) const GOSS_ON_LOOP;
  /// As Relaying::relayedBy; also -1 for this rank itself and where the transport relays nothing.
  [[nodiscard]] int relayedBy(int peer) const GOSS_ON_LOOP;

  /// Sends a message that no operation waits for. Drops it if the peer is lost or is this rank itself. Letters with the
  /// same peer and tag keep their order.
  void postOnLoop(Outbox::Letter letter) GOSS_ON_LOOP;
  [[nodiscard]] Outbox& outbox() { return outbox_; }

  /// Calls SharedRegions::add, or remove, of all transports in use.
  void addRegion(const MemoryRegion& region) GOSS_ON_LOOP;
  Status removeRegion(const std::byte* data) GOSS_ON_LOOP;

  /// Calls Transport::discard of all transports in use.
  void discard(Tag mask, Tag value) GOSS_ON_LOOP;
  /// Calls Transport::abandon of the transport to `peer`.
  void abandon(int peer, const Status& why) GOSS_ON_LOOP;
  /// A number that grows whenever bytes or messages move on the link to `peer`, which is a sign of life.
  [[nodiscard]] std::uint64_t movements(int peer) const GOSS_ON_LOOP;

  void onPeerLost(int peer, const Status& status, PeerLoss how) GOSS_ON_LOOP override;

 private:
  void use(Transport& transport, int peer);
  [[nodiscard]] std::vector<int> fromCircle(decltype(nextInCircle)& choose) const GOSS_ON_LOOP;
  [[nodiscard]] std::vector<bool> preparedPeers(const std::vector<PeerCard>& cards);

  static constexpr std::size_t kMaxAtStart = 8;

  const int self_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Transport*> used_; ///< Transports that reach at least one peer.
  std::vector<Transport*> by_peer_;
  std::vector<ShortMessages*> short_;           ///< By peer.
  std::vector<const Relaying*> relaying_;       ///< Relaying interfaces of used_.
  std::vector<SharedRegions*> regions_;         ///< Regions of used_.
  std::vector<Status> lost_ GOSS_GUARDED;       ///< By peer.
  std::vector<PeerLoss> how_lost_ GOSS_GUARDED; ///< By peer.
  int windows_ GOSS_GUARDED = 0;                ///< Open ones.
  std::string trouble_;                         ///< PeerCard::trouble of this rank.
  std::vector<int> circle_;                     ///< The ranks of this host; none where all links are made at the start.
  PeerLostHandler on_peer_lost_;
  Outbox outbox_; ///< Declared last: it cancels at the transports.
};

} // namespace goss

#endif // GOSS_LIB_MESH_MESH_H_

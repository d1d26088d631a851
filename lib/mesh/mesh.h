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
#include "mesh/outbox.h"
#include "platform/thread_safety.h"
#include "platform/topology.h"

namespace goss {

/// The card that every rank gives the others when they meet: transport addresses and where it runs.
struct PeerCard {
  std::string host;       ///< Equal on ranks that share a host (and network namespace).
  std::string process;    ///< Equal on ranks that are threads of one process.
  std::string processors; ///< As platform::usableProcessors().
  platform::Place place;  ///< The place to which the rank is bound.
  /// Addresses of the rank as seen from rank 0, and the reverse.
  Site site;
  std::vector<std::pair<std::string, std::string>> addresses; ///< Transport name and address, best first.
  /// Why the rank's other transports could not be opened, for people; cut to kMaxTroubleBytes. Empty: all were opened.
  std::string trouble;

  static constexpr std::size_t kMaxTroubleBytes = 1024;

  [[nodiscard]] std::string encode() const;
  static Result<PeerCard> decode(std::string_view bytes);
  /// Keeps the transports' names alone of `addresses`, and nothing of `trouble`.
  void forgetAddresses();
};

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

/// Not thread-safe: used under the engine's lock, by one thread while the world is being made.
class Mesh final : public TransportListener {
 public:
  using PeerLostHandler = std::function<void(int peer, const Status& status, PeerLoss how)>;

  /// `transports` best first.
  Mesh(int self, int size, std::vector<std::unique_ptr<Transport>> transports);
  ~Mesh() override;

  /// `handler` is called by the transport that has lost a peer, once for each peer.
  void setPeerLostHandler(PeerLostHandler handler) { on_peer_lost_ = std::move(handler); }

  /// Opens all transports and fills in this rank's addresses and trouble. Errors: no transport could be opened; or
  /// invalidArgument, when a setting makes one of them impossible. The card then has no addresses, and must still be
  /// sent to the other ranks, which learn from it why this rank does not connect.
  Status open(PeerCard& card);
  /// Picks a transport for each peer and begins to connect. Of more than kMaxAtStart ranks on a host each connects to
  /// kWatched neighbours on either side, in the order of ranks, and prepares the links to the others. Error: no common
  /// transport, naming peer, transports and why the others could not be opened at either end.
  Status connect(const std::vector<PeerCard>& cards);
  /// True when no link is being made; an error as soon as one has failed. Call progressOnLoop() in between.
  Result<bool> connected() const;
  [[nodiscard]] std::vector<int> peersNotReady() const;

  [[nodiscard]] int self() const { return self_; }
  [[nodiscard]] int size() const { return static_cast<int>(by_peer_.size()); }
  /// The transport to `peer`; nullptr for this rank itself.
  [[nodiscard]] Transport* transport(int peer) const { return by_peer_[static_cast<std::size_t>(peer)]; }
  /// Short messages to and from `peer`; nullptr for this rank itself and where its transport does not support them.
  [[nodiscard]] ShortMessages* shortMessages(int peer) const { return short_[static_cast<std::size_t>(peer)]; }
  /// By which `ranks` read each other's memory, as threads of one process do; null where one pair does not, or this is
  /// the only one. All of them answer alike.
  [[nodiscard]] Lending* lendingAmong(const std::vector<int>& ranks) const;
  /// Why nothing can be sent to `peer` any more: it is lost or has departed. Ok while the link works.
  [[nodiscard]] Status linkStatus(int peer) const GOSS_ON_LOOP;
  /// Whether the transport has reported `peer` lost.
  [[nodiscard]] bool isLost(int peer) const GOSS_ON_LOOP { return !lost_[static_cast<std::size_t>(peer)].isOk(); }
  /// Whether `peer` is lost and has departed or ended, so that it cannot go on without this rank.
  [[nodiscard]] bool hasEnded(int peer) const GOSS_ON_LOOP { return ended_[static_cast<std::size_t>(peer)]; }
  /// Whether the link to `peer` is made at its first use, which has not come: this rank would not notice its death.
  [[nodiscard]] bool isIdle(int peer) const GOSS_ON_LOOP {
    const Transport* transport = by_peer_[static_cast<std::size_t>(peer)];
    return transport != nullptr && transport->link(peer) == LinkState::idle;
  }
  /// World ranks of this host, to which this rank passes on news that all of them must hear, and so does each that
  /// hears them: at the distances 1, 2, 4 and so on, both ways. Empty where no link is made at its first use.
  [[nodiscard]] const std::vector<int>& newsTargets() const { return news_targets_; }
  /// Whether ranks at these places in a circle of `size` pass news on to each other, as newsTargets() do.
  [[nodiscard]] static bool passNews(int one, int other, int size);
  /// Whether the link works, which implies that linkStatus() is ok: a cheap check for the fast path.
  [[nodiscard]] bool isUp(int peer) const GOSS_ON_LOOP {
    const auto index = static_cast<std::size_t>(peer);
    return lost_[index].isOk() && by_peer_[index] != nullptr && by_peer_[index]->link(peer) == LinkState::ready;
  }

  bool progressOnLoop() GOSS_ON_LOOP;
  bool prepareToSleepOnLoop() GOSS_ON_LOOP;
  void sleepEndedOnLoop() GOSS_ON_LOOP;
  void appendPollFds(std::vector<pollfd>& fds) const GOSS_ON_LOOP;

  /// Whether other ranks need this one to progress while it waits for nothing: a transport relays for them
  /// (Relaying::servesOthers), or a window is open.
  [[nodiscard]] bool servesOthers() const GOSS_ON_LOOP;
  /// A window was opened (1) or closed (-1).
  void countWindowsOnLoop(int change) GOSS_ON_LOOP { windows_ += change; }
  /// As Transport::roundTrip_s; also 0 for this rank itself.
  [[nodiscard]] double roundTrip_s(int peer) const;
  /// As Transport::pathUse; nothing for this rank itself.
  [[nodiscard]] PathUse pathUse(int peer) const GOSS_ON_LOOP;
  /// As Relaying::relayedBy; also -1 for this rank itself and where the transport relays nothing.
  [[nodiscard]] int relayedBy(int peer) const GOSS_ON_LOOP;

  /// Sends a message that no operation waits for, best effort: a peer that has left or is lost is skipped, and so is
  /// this rank itself. Letters of a peer and tag keep their order.
  void postOnLoop(Outbox::Letter letter) GOSS_ON_LOOP;
  [[nodiscard]] Outbox& outbox() { return outbox_; }

  /// Calls SharedRegions::add or remove of all transports in use.
  void addRegion(const MemoryRegion& region) GOSS_ON_LOOP;
  Status removeRegion(const std::byte* data) GOSS_ON_LOOP;

  /// Calls Transport::discard of all transports in use, or abandon of the peer's.
  void discard(Tag mask, Tag value) GOSS_ON_LOOP;
  void abandon(int peer, const Status& why) GOSS_ON_LOOP;
  /// Grows whenever bytes or messages move on the link to `peer`: a sign of life.
  [[nodiscard]] std::uint64_t movements(int peer) const GOSS_ON_LOOP;

  void onPeerLost(int peer, const Status& status, PeerLoss how) GOSS_ON_LOOP override;

 private:
  void use(Transport& transport, int peer);
  [[nodiscard]] std::vector<bool> preparedPeers(const std::vector<PeerCard>& cards);

  static constexpr std::size_t kMaxAtStart = 8;
  static constexpr int kWatched = 2;

  const int self_;
  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<Transport*> used_; ///< Transports that reach at least one peer.
  std::vector<Transport*> by_peer_;
  std::vector<ShortMessages*> short_;     ///< By peer.
  std::vector<const Relaying*> relaying_; ///< Relaying interfaces of used_.
  std::vector<SharedRegions*> regions_;   ///< Regions of used_.
  std::vector<Status> lost_ GOSS_GUARDED; ///< By peer.
  std::vector<bool> ended_ GOSS_GUARDED;  ///< By peer: see hasEnded().
  int windows_ GOSS_GUARDED = 0;          ///< Open ones.
  std::string trouble_;                   ///< PeerCard::trouble of this rank.
  std::vector<int> news_targets_;
  PeerLostHandler on_peer_lost_;
  Outbox outbox_; ///< Declared last: it cancels at the transports.
};

} // namespace goss

#endif // GOSS_LIB_MESH_MESH_H_

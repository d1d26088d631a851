/// Makes the links between the ranks of a host: calls peers, and is called by them.
#ifndef GOSS_TRANSPORTS_SHM_CONNECTOR_H_
#define GOSS_TRANSPORTS_SHM_CONNECTOR_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/transport_context.h"
#include "platform/poller.h"
#include "transports/shm/boards.h"
#include "transports/shm/callers.h"
#include "transports/shm/peer_entry.h"

namespace goss::transports::shm {

/// What the connector asks of the transport.
class Linker {
 public:
  /// The entry of that rank.
  virtual PeerEntry& entry(int rank) = 0;
  /// Both ends have mapped the segment: the link is ready.
  virtual void adopt(PeerEntry& to, Segment segment, platform::UniqueFd socket) = 0;
  /// The peer is lost. `absent`: its process does not answer.
  virtual void breakOff(PeerEntry& to, const Status& why, bool absent) = 0;

  /// The next progress() calls dialAll().
  virtual void pollSoon() = 0;

 protected:
  ~Linker() = default;
};

/// rendezvous.h says who calls whom. One thread; tokens of the poller are those of kTokens and up.
class Connector {
 public:
  static constexpr std::uint64_t kTokens = std::uint64_t{2} << 32;

  /// All outlive the connector.
  Connector(const TransportContext& context, const std::string& host, platform::Poller& poller, Linker& linker);

  /// Makes the board and listens. Returns this rank's address.
  Result<std::string> open();
  /// Stores how to call the peer. Errors: protocol, unsupported.
  Status learn(PeerEntry& to, std::string_view address);
  /// Calls the peer, for a link if that is needed, for its board alone if not. Errors: peerLost, resource.
  Status dial(PeerEntry& to);
  /// The next dialAll() calls the peer.
  void enqueue(PeerEntry& to);
  bool dialAll();
  /// Ends the call of this rank that the peer has not answered.
  void drop(PeerEntry& to);
  void handle(std::uint64_t token);
  void tick() { callers_.tick(); }
  [[nodiscard]] Boards& boards() { return boards_; }

 private:
  void wantBoard(int rank);
  void readAnswer(PeerEntry& to);
  void meet(platform::UniqueFd socket, Hello hello);

  const TransportContext& context_;
  const std::string& host_;
  platform::Poller& poller_;
  Linker& linker_;
  Callers callers_;
  Boards boards_;
  std::vector<PeerEntry*> to_dial_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_CONNECTOR_H_

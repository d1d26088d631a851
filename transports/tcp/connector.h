/// Makes the links of the TCP transport: calls peers, is called by them, and asks other ranks to relay.
#ifndef GOSS_TRANSPORTS_TCP_CONNECTOR_H_
#define GOSS_TRANSPORTS_TCP_CONNECTOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "gossamer/transport_context.h"
#include "platform/clock.h"
#include "platform/filtered_stream.h"
#include "platform/poller.h"
#include "transports/common/links.h"
#include "transports/tcp/link/link.h"
#include "transports/tcp/meet/acceptor.h"
#include "transports/tcp/meet/dialer.h"
#include "transports/tcp/meet/path_tuner.h"
#include "transports/tcp/meet/patience.h"
#include "transports/tcp/meet/reach.h"
#include "transports/tcp/relay/relay.h"
#include "transports/tcp/relay/relay_search.h"

namespace goss::transports::tcp {

/// Why a peer is lost that left or ended before the link to it was made.
inline constexpr std::string_view kAbsent = "it has left or ended, and its host refuses calls to it";

/// In each pair the rank with the higher number calls the other; when that fails, the lower rank calls too. The higher
/// rank alone decides which connection becomes the link. A third rank relays the bytes of two that cannot call each
/// other. Hundreds of ranks that share processors could call and relay more than they can answer. Therefore the
/// connector calls only so many peers at a time, and tries no other way to a peer as long as links are being made or
/// this rank gets no processor. The connector also takes the calls by which a peer resumes a broken connection of its
/// link.
///
/// A link that was prepared connects two ranks of one host. The end that needs it calls at once, whichever it is; when
/// both call, the higher rank decides as above. No third rank relays such a link. A refusal at the peer's address shows
/// that the peer has left or that its process has ended, because the peer listened there before this rank learned the
/// address. One thread.
class Connector {
 public:
  /// What the connector shares with the transport. All of it outlives the connector.
  struct Surroundings {
    const TransportContext& context;
    const base::Log& log;
    platform::Poller& poller;
    std::uint64_t& next_token; ///< The next poll token for a dialer, here and elsewhere in the transport.
    Links<Link>& links;
    Relay& relay; ///< Gets the calls of ranks that want this rank to relay.
    PathTuner& path;
    platform::StreamSecurity* security = nullptr; ///< Null: connections are in clear.
  };
  /// Events of its listening sockets and of accepted connections carry tokens from `first_token` up.
  Connector(const Surroundings& surroundings, std::uint64_t first_token);

  /// Listens. Returns this rank's address.
  Result<std::string> open();
  /// After open(), before connect().
  void setPatience(const Patience& patience);
  [[nodiscard]] bool reaches(std::string_view address) const;
  /// As Transport::connect and Transport::prepare.
  Status connect(int peer, std::string_view address);
  Status prepare(int peer, std::string_view address);
  /// This end needs the link, which was prepared. callWanted(), to be called out of progress(), calls the peer.
  void want(int peer);
  [[nodiscard]] bool hasWanted() const { return has_wanted_; }
  void callWanted();
  /// The link to `peer` was made or refused: the connector stops calling it.
  void settle(int peer);
  /// How to call a peer. After connect().
  [[nodiscard]] Dialer::Target target(int peer) const;
  /// Handles the event with this token if the token is the connector's; returns whether it is.
  bool handle(std::uint64_t token);
  void tick();
  /// Whether the connector needs no tick().
  [[nodiscard]] bool isIdle() const;

 private:
  struct Peer {
    std::string identity; ///< "" without security.
    Address address;
  };
  /// Decodes the bytes that a peer's open() has returned. Errors: protocol.
  [[nodiscard]] Result<Peer> decode(std::string_view address) const;
  /// How to call a peer, and when this end calls a peer that should call, or looks for a relay.
  struct Way {
    std::string identity; ///< Empty until connect(), and without security.
    Reach reach;
    platform::Deadline call_back;  ///< When this end calls a peer that should have called.
    platform::Deadline seek_relay; ///< When this end asks other ranks to relay.
    bool patient = false;          ///< `seek_relay` was put off once, because the peer's system answers.
    platform::Deadline called;     ///< Until when a peer that should call may call.
    bool queued = false;           ///< The peer is in to_call_.
    bool resumable = false;        ///< The link, if this end makes it, can be resumed.
    bool checked = false;          ///< The link, if this end makes it, is checked for corrupted bytes.
  };
  [[nodiscard]] Way& way(int peer) {
    if (ways_.empty()) ways_.resize(static_cast<std::size_t>(with_.context.size));
    return ways_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] const Way& way(int peer) const { return ways_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] Reach reachOf(int peer, const Address& address) const;
  [[nodiscard]] bool isResumable(const Address& peer) const;
  /// Stores how to call the peer. Error: the address cannot be used, and the link was refused.
  Status learn(int peer, std::string_view address);
  /// Marks the prepared link to `peer` as needed by one of its ends, and sets the deadline for making it.
  void begin(int peer);
  /// Adds the peer to those that startCalls() calls.
  void enqueue(int peer);
  /// Calls peers that were enqueued, as many as may be called at a time.
  void startCalls();
  /// Makes a dialer, which has not called yet. Null: the link was refused.
  Dialer* makeDialer(int peer);
  /// A link was made: the peers that have not called yet may be making others.
  void noteProgress() { busy_ = platform::Deadline::after(patience_.call_back); }
  void noteDelay();
  [[nodiscard]] Dialer* dialerOf(int peer);
  void configure(int peer, int fd, const Hello& hello, int via);
  void adoptOwn(int peer, Dialer::Made made);
  void adopt(Acceptor::Caller caller);
  [[nodiscard]] Status judge(const Hello& hello);
  void takeRelayed(int peer, int via, platform::Stream stream);
  [[nodiscard]] std::optional<RelaySearch::Contact> relayContact(int rank) const;
  void tryOtherWays();
  [[nodiscard]] std::string otherWays(int peer) const;
  void dropDialers();
  [[nodiscard]] bool awaitsCalls(const Link& link) const;
  [[nodiscard]] bool awaitsCallers() const;
  void refuseLateCallers();

  const Surroundings with_;
  Patience patience_;
  std::vector<Way> ways_; ///< By peer; empty until learn() is called, because the transport may reach no peer.
  Acceptor acceptor_;
  RelaySearch relay_search_;
  Address address_;                              ///< This rank's.
  std::vector<int> to_call_;                     ///< Peers to call when fewer are being called; the next one is last.
  std::vector<std::unique_ptr<Dialer>> dialers_; ///< Dialers of links that are not connected yet.
  bool has_wanted_ = false;                      ///< want() has added to to_call_.
  platform::Deadline busy_;                      ///< Until when no other way to a peer is tried.
  platform::Deadline next_tick_;                 ///< A tick after it shows that this rank got no processor.
  platform::Deadline busy_wait_until_;           ///< Until when a late tick extends busy_.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_CONNECTOR_H_

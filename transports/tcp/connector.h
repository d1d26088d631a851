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

/// Why the link to a peer is lost that had none when it left or ended.
inline constexpr std::string_view kAbsent = "it has left or ended, and its host refuses calls to it";

/// In each pair the rank with the higher number calls the other; when that fails, the lower one calls too. The higher
/// rank alone decides which connection becomes the link. A third rank relays the bytes of two that cannot call each
/// other. Only so many peers are called at a time, and while links are being made, or this rank is held up, no other
/// way is tried: hundreds of ranks that share processors would otherwise call and relay more than they can answer. The
/// connector also takes the calls by which a peer resumes a broken connection of its link.
///
/// For a link that was prepared, which ranks of one host have, the end that needs it calls at once, whichever it is.
/// When both do, the higher rank decides as above. Nobody else relays such a link, and a refusal at the peer's address
/// shows that it has left or that its process has ended, because it listened there before this rank learned the
/// address. One thread.
class Connector {
 public:
  /// What it shares with the transport. All outlives this.
  struct Surroundings {
    const TransportContext& context;
    const base::Log& log;
    platform::Poller& poller;
    std::uint64_t& next_token; ///< Counts poll tokens, with those of other dialers.
    Links<Link>& links;
    Relay& relay; ///< Gets those who call to be relayed.
    PathTuner& path;
    platform::StreamSecurity* security = nullptr; ///< Null: connections are in clear.
  };
  /// Events of its listening sockets, and of those who call there, carry tokens from `first_token` up.
  Connector(const Surroundings& surroundings, std::uint64_t first_token);

  /// Listens. Returns this rank's address.
  Result<std::string> open();
  /// After open(), before connect().
  void setPatience(const Patience& patience);
  [[nodiscard]] bool reaches(std::string_view address) const;
  /// As Transport::connect and Transport::prepare.
  Status connect(int peer, std::string_view address);
  Status prepare(int peer, std::string_view address);
  /// This end needs the link, which was prepared: callWanted(), called out of progress(), calls the peer.
  void want(int peer);
  [[nodiscard]] bool hasWanted() const { return has_wanted_; }
  void callWanted();
  /// The link was refused: the peer is not called any more.
  void settle(int peer);
  /// How to call a peer. After connect().
  [[nodiscard]] Dialer::Target target(int peer) const;
  /// Whether an event with this token was one of ours; handles it then.
  bool handle(std::uint64_t token);
  void tick();
  /// tick() has nothing to wait for.
  [[nodiscard]] bool isIdle() const;

 private:
  /// Decodes an address of a transport's open(). Errors: protocol.
  struct Peer {
    std::string identity; ///< "" without security.
    Address address;
  };
  [[nodiscard]] Result<Peer> decode(std::string_view address) const;
  /// How to call a peer, and when this end calls back or looks for a relay.
  struct Way {
    std::string identity; ///< Empty until connect(), and without security.
    Reach reach;
    platform::Deadline call_back;  ///< When this end, which the peer should call, calls itself.
    platform::Deadline seek_relay; ///< When this end asks other ranks to relay.
    bool patient = false;          ///< The deadline was extended once, because the peer's system answers.
    platform::Deadline called;     ///< Until then the peer may call, where it should.
    bool queued = false;           ///< The peer is in to_call_.
    bool resumable = false;        ///< Links that this end makes can be resumed; so can those of the next member.
    bool checked = false;
  };
  [[nodiscard]] Way& way(int peer) {
    if (ways_.empty()) ways_.resize(static_cast<std::size_t>(with_.context.size));
    return ways_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] const Way& way(int peer) const { return ways_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] Reach reachOf(int peer, const Address& address) const;
  [[nodiscard]] bool isResumable(const Address& peer) const;
  /// Remembers how to call the peer. Error: the link was refused.
  Status learn(int peer, std::string_view address);
  /// Either end needs the link, which was prepared.
  void begin(int peer);
  /// Calls the peer, now or when fewer others are being called.
  void dial(int peer);
  void startCalls();
  /// Makes a dialer that has not called yet; null: the link was refused.
  Dialer* makeDialer(int peer);
  /// Links are being made: the peers that have not called may only be busy.
  void noteProgress() { busy_ = platform::Deadline::after(patience_.call_back); }
  void noteDelay();
  [[nodiscard]] Dialer* dialerOf(int peer);
  void configure(int peer, int fd, const Hello& hello, int via);
  void adoptOwn(int peer, Dialer::Made made);
  void adopt(Acceptor::Caller caller);
  [[nodiscard]] Status judge(const Hello& hello);
  void takeRelayed(int peer, int via, platform::Stream stream);
  [[nodiscard]] std::optional<RelaySearch::Candidate> candidate(int rank) const;
  void tryOtherWays();
  [[nodiscard]] std::string otherWays(int peer) const;
  void dropDialers();
  [[nodiscard]] bool awaitsCalls(const Link& link) const;
  [[nodiscard]] bool awaitsCallers() const;
  void refuseLateCallers();

  const Surroundings with_;
  Patience patience_;
  std::vector<Way> ways_; ///< By peer; empty before one is known, because the transport may reach no peer.
  Acceptor acceptor_;
  RelaySearch relay_search_;
  Address address_;                              ///< This rank's.
  std::vector<int> to_call_;                     ///< Peers to call when fewer others are being called, the next last.
  std::vector<std::unique_ptr<Dialer>> dialers_; ///< Dialers of links that are not connected yet.
  bool has_wanted_ = false;                      ///< want() has added to to_call_.
  platform::Deadline busy_;                      ///< Until then no other way to a peer is tried.
  platform::Deadline next_tick_;                 ///< A tick that comes later is late: this rank was held up.
  platform::Deadline busy_wait_until_;           ///< Until then a late tick counts as progress.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_CONNECTOR_H_

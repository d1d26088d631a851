/// Transport over TCP, IPv4 and IPv6, between processes on any hosts; in clear, or through a filter over every
/// connection.
#ifndef GOSS_TRANSPORTS_TCP_TCP_H_
#define GOSS_TRANSPORTS_TCP_TCP_H_

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/log.h"
#include "gossamer/relaying.h"
#include "gossamer/transport.h"
#include "platform/poller.h"
#include "platform/stream_filter.h"
#include "platform/timer.h"
#include "transports/common/links.h"
#include "transports/tcp/link/link.h"
#include "transports/tcp/link/resumer.h"
#include "transports/tcp/meet/acceptor.h"
#include "transports/tcp/meet/dialer.h"
#include "transports/tcp/meet/inquiry.h"
#include "transports/tcp/meet/reach.h"
#include "transports/tcp/relay/relay.h"
#include "transports/tcp/relay/relay_search.h"

namespace goss::transports {

/// The rank with the higher number calls the other, and is called by it when that fails; the higher rank alone decides
/// which of the connections is the link. Ranks that cannot call each other are relayed by a third one. Messages go
/// straight from and to the callers' buffers; with Config::connections_per_peer > 1 (the caller's counts) large ones
/// are striped over that many connections more. A caller without the job's secret is dropped, and logged once.
/// Depending on Config::reconnect of the calling rank, links that nobody relays survive their connections: a broken
/// connection is made anew and goes on where it was (Resumer). Without encryption, links between hosts are checked for
/// bytes that the network corrupted, or as the stricter of both ends' Config::tcp_checksum says.
class TcpTransport final : public Transport, public Relaying {
 public:
  /// With `security` it is the transport "tls": every connection is greeted before anything of it is read, an address
  /// begins with this rank's identity, and only a process that proves the identity in a rank's address is accepted as
  /// that rank.
  explicit TcpTransport(const TransportContext& context, platform::SecurityMaker security = nullptr);
  /// How long this end waits for a peer before it takes another path. TCP sends a lost first packet again after a
  /// second, so shorter waits would relay without need.
  struct Patience {
    std::chrono::milliseconds call_back{500}; ///< After this time the lower rank calls as well.
    std::chrono::milliseconds detour{2000};   ///< Then this end asks other ranks to relay;
    std::chrono::milliseconds detour_anyway{
        10000}; ///< only then, where the peer's system answers, but not its process.
    /// A rank that leaves waits so long for a peer to read bytes that the peer's system has received.
    std::chrono::milliseconds courtesy{250};
    /// A welcomed caller that says no more is hung up on after this time.
    std::chrono::milliseconds welcomed{tcp::Acceptor::kWelcomed};
  };
  /// Called after open(), before connect().
  void setPatience(const Patience& patience);
  /// Waits up to two seconds until the other ends' systems have received everything that was sent. Bytes that they have
  /// not accepted by then, because no receives are posted there, may be lost. For links with records it also waits
  /// until the peer has read the goodbye: a quarter of a second when the peer's system has the goodbye, as long as for
  /// a silent peer while the link is being resumed, and for as long as the peer reads the bytes that this end keeps.
  ~TcpTransport() override;

  [[nodiscard]] std::string_view name() const override { return make_security_ ? "tls" : "tcp"; }
  Result<std::string> open() override;
  [[nodiscard]] bool reaches(std::string_view address) const override;
  Status connect(int peer, std::string_view address) override;
  [[nodiscard]] LinkState link(int peer) const override { return links_.at(peer).state(); }
  [[nodiscard]] Status linkError(int peer) const override { return links_.at(peer).error(); }
  bool send(SendOperation& operation) override { return links_.send(operation, name()); }
  void recv(RecvOperation& operation) override { links_.recv(operation); }
  void cancel(SendOperation& operation) override { links_.cancel(operation); }
  void cancel(RecvOperation& operation) override { links_.cancel(operation); }
  bool progress() override;
  [[nodiscard]] int pollFd() const override;
  bool prepareToSleep() override;
  void sleepEnded() override {}
  void discard(Tag mask, Tag value) override { links_.discard(mask, value); }
  void abandon(int peer, const Status& why) override { links_.at(peer).giveUp(why); }
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const override {
    return links_.peek(peer, mask, value, found);
  }
  [[nodiscard]] PeerStatistics statistics(int peer) const override { return links_.statistics(peer); }
  [[nodiscard]] const Relaying* relaying() const override { return this; }
  [[nodiscard]] bool servesOthers() const override { return relay_ && relay_->isInUse(); }
  [[nodiscard]] int relayedBy(int peer) const override { return links_.at(peer).via(); }
  /// Number of bytes that this rank has relayed between others.
  [[nodiscard]] std::uint64_t relayedBytes() const { return relay_ ? relay_->bytes() : 0; }

 private:
  [[nodiscard]] tcp::Reach reachOf(int peer, const tcp::Address& address) const;
  Status listen();
  /// Decodes an address of this transport's open(). Errors: protocol.
  struct Peer {
    std::string identity; ///< "" without security.
    tcp::Address address;
  };
  [[nodiscard]] Result<Peer> decode(std::string_view address) const;
  /// How to call a peer, and when this end calls back or looks for a relay.
  struct Way {
    std::string identity; ///< Empty until connect(), and without security.
    tcp::Reach reach;
    platform::Deadline call_back; ///< When this end, which the peer should call, calls itself.
    platform::Deadline detour;    ///< Others are asked to relay.
    bool patient = false;         ///< The deadline was extended once, because the peer's system answers.
    bool resumable = false;       ///< Links that this end makes can be resumed; so can those of the next member.
    bool checked = false;
    bool change_told = false; ///< The log already says that the network corrupts bytes.
  };
  [[nodiscard]] tcp::Dialer::Target target(int peer) const;
  void dial(int peer);
  [[nodiscard]] tcp::Dialer* dialerOf(int peer);
  void adoptOwn(int peer, tcp::Dialer::Made made);
  /// Configures the socket of one of `connections` connections to a peer.
  void tunePath(int fd, std::size_t connections);
  void adopt(tcp::Acceptor::Caller caller);
  void settle(int peer);
  [[nodiscard]] Status judge(const tcp::Hello& hello);
  void takeRelayed(int peer, int via, platform::Stream stream);
  [[nodiscard]] std::optional<tcp::RelaySearch::Candidate> candidate(int rank) const;
  void tryOtherWays();
  [[nodiscard]] std::string otherWays(int peer) const;
  bool pollOnlyPeer();
  bool handle(const platform::PollEvent& event);
  bool relayOnly();
  bool runLink(tcp::Link& link, bool broken);
  void tellOfChange(const tcp::Link& link);
  void tick();
  bool mindDialers();
  [[nodiscard]] bool isResumable(const tcp::Address& peer) const;
  void awaitGoodbyes();
  void refuseLateCallers();
  [[nodiscard]] bool awaitsCalls(const tcp::Link& link) const;
  [[nodiscard]] bool awaitsCallers() const;
  void startTicking();
  void stopTickingWhenSettled();

  const TransportContext context_;
  const base::Log log_;
  const platform::SecurityMaker make_security_;
  Patience patience_;
  std::unique_ptr<platform::StreamSecurity> security_; ///< Set by open(); before all members that hold its filters.
  std::vector<Way> ways_;                              ///< By peer.
  std::optional<platform::Poller> poller_;             ///< Set by open(), as are the next two.
  std::optional<platform::Ticker> ticker_;
  std::optional<tcp::Acceptor> acceptor_;
  std::optional<tcp::Relay> relay_;
  std::optional<tcp::RelaySearch> detour_;
  tcp::Address address_; ///< This rank's.
  Links<tcp::Link> links_;
  std::vector<std::unique_ptr<tcp::Dialer>> dialers_; ///< Dialers of links that are not connected yet.
  std::uint64_t next_dial_token_ = 0;
  std::optional<tcp::Resumer> resumer_; ///< Set by open(); after the links.
  std::optional<tcp::Inquiry> inquiry_; ///< Set by open(); after the links.
  bool closing_ = false;                ///< No peer listens to this rank any more.
  bool congestion_refused_ = false;     ///< The system refused the congestion control, and that was logged.
  bool pacing_refused_ = false;         ///< The system refused pacing, and that was logged.
  int shortcuts_ = 0;                   ///< Turns since the last call of the poller.
  platform::Deadline accept_deadline_;  ///< Until all ranks that should call this one have called.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_TCP_TCP_H_

/// Transport over TCP, IPv4 and IPv6, between processes on any hosts; in clear, or through a filter over every
/// connection.
#ifndef GOSS_TRANSPORTS_TCP_TCP_H_
#define GOSS_TRANSPORTS_TCP_TCP_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/log.h"
#include "gossamer/transport.h"
#include "platform/poller.h"
#include "platform/stream_filter.h"
#include "platform/timer.h"
#include "transports/common/deferred.h"
#include "transports/tcp/acceptor.h"
#include "transports/tcp/dialer.h"
#include "transports/tcp/link.h"

namespace goss::transports {

/// The rank with the higher number calls the other. Messages go straight from and to the callers' buffers; with
/// Config::connections_per_peer > 1 (the caller's counts) large ones are striped over that many connections more. Who
/// calls without the job's secret is dropped and logged once.
class TcpTransport final : public Transport {
 public:
  /// With `security` it is the transport "tls": every connection is greeted before anything of it is read, an address
  /// begins with this rank's identity, and only who proves the identity that a rank's address names is that rank.
  explicit TcpTransport(const TransportContext& context, platform::SecurityMaker security = nullptr);
  /// Waits up to two seconds until the other ends' systems have all that was sent. What they have not then, because
  /// they hold it back for want of receives, may be lost.
  ~TcpTransport() override;

  [[nodiscard]] std::string_view name() const override { return make_security_ ? "tls" : "tcp"; }
  [[nodiscard]] const TransportCapabilities& capabilities() const override { return capabilities_; }
  Result<std::string> open() override;
  [[nodiscard]] bool reaches(std::string_view address) const override;
  Status connect(int peer, std::string_view address) override;
  [[nodiscard]] LinkState link(int peer) const override { return at(peer).state(); }
  [[nodiscard]] Status linkError(int peer) const override { return at(peer).error(); }
  bool send(SendOperation& operation) override;
  void recv(RecvOperation& operation) override;
  void cancel(SendOperation& operation) override;
  void cancel(RecvOperation& operation) override;
  bool progress() override;
  [[nodiscard]] int pollFd() const override;
  bool prepareToSleep() override;
  void sleepEnded() override {}
  void discard(Tag mask, Tag value) override;
  void abandon(int peer, const Status& why) override { at(peer).giveUp(why); }
  [[nodiscard]] PeerStatistics statistics(int peer) const override { return at(peer).matcher().statistics(); }

 private:
  tcp::Link& at(int peer) { return *links_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const tcp::Link& at(int peer) const { return *links_[static_cast<std::size_t>(peer)]; }
  /// The peer's addresses that this host can reach, best first.
  [[nodiscard]] std::vector<platform::SocketAddress> reachable(const tcp::Address& address) const;
  /// An address of this transport's open(). Errors: protocol.
  struct Peer {
    std::string identity; ///< "" without security.
    tcp::Address address;
  };
  [[nodiscard]] Result<Peer> decode(std::string_view address) const;
  void tunePath(int fd);
  void adopt(tcp::Acceptor::Caller caller);
  bool pollOnlyPeer();
  bool handle(const platform::PollEvent& event);
  bool runLink(tcp::Link& link, bool broken);
  void tick();
  bool mindDialers();
  void refuseLateCallers();
  void probeStalled();
  [[nodiscard]] bool awaitsCallers() const;
  void startTicking();
  void stopTickingWhenSettled();

  const TransportContext context_;
  TransportCapabilities capabilities_;
  const base::Log log_;
  const platform::SecurityMaker make_security_;
  std::unique_ptr<platform::StreamSecurity> security_; ///< Set by open(); before all that holds its filters.
  std::vector<std::string> identities_;                ///< By peer; "" until connect().
  std::optional<platform::Poller> poller_;             ///< Set by open(), as the next two.
  std::optional<platform::Ticker> ticker_;
  std::optional<tcp::Acceptor> acceptor_;
  tcp::Address address_; ///< This rank's.
  Deferred deferred_;
  std::vector<std::unique_ptr<tcp::Link>> links_;     ///< By peer.
  std::vector<std::unique_ptr<tcp::Dialer>> dialers_; ///< Of links that do not stand yet.
  std::uint64_t next_dial_token_ = 0;
  bool congestion_refused_ = false;    ///< And that was logged.
  int shortcuts_ = 0;                  ///< Turns since the poller was asked.
  platform::Deadline accept_deadline_; ///< Until all who should call us have.
  platform::Deadline probe_deadline_;  ///< When links that are stalled are probed next.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_TCP_TCP_H_

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
#include "gossamer/transport_names.h"
#include "platform/poller.h"
#include "platform/stream_filter.h"
#include "platform/timer.h"
#include "transports/common/links.h"
#include "transports/tcp/connector.h"
#include "transports/tcp/link/link.h"
#include "transports/tcp/link/resumer.h"
#include "transports/tcp/meet/inquiry.h"
#include "transports/tcp/meet/path_tuner.h"
#include "transports/tcp/meet/patience.h"
#include "transports/tcp/relay/relay.h"

namespace goss::transports {

/// Messages go straight from and to the callers' buffers; with Config::connections_per_peer > 1 (that of the rank that
/// calls counts) large ones are striped over that many more connections. A caller without the job's secret is dropped,
/// and logged once. Where Config::reconnect of the rank that calls says so, a direct link survives its connections: a
/// broken connection is made anew, and its bytes go on where they stopped (Resumer). Without encryption, links between
/// hosts are checked for bytes that the network corrupted, or as the stricter of both ends' Config::tcp_checksum says.
/// Connector says which rank calls which, and when links that were prepared are made.
class TcpTransport final : public Transport, public Relaying {
 public:
  /// With `security` it is the transport "tls": every connection is greeted before anything of it is read, an address
  /// begins with this rank's identity, and only a process that proves the identity in a rank's address is accepted as
  /// that rank.
  explicit TcpTransport(const TransportContext& context, platform::SecurityMaker security = nullptr);
  using Patience = tcp::Patience;
  /// Called after open(), before connect().
  void setPatience(const Patience& patience);
  /// Waits up to two seconds until the peers' systems have received everything that was sent. Bytes that they have not
  /// received by then, because no receives are posted there, may be lost. For links with records it also waits until
  /// the peer has read the goodbye: a quarter of a second when the peer's system has the goodbye, as long as for a
  /// silent peer while the link is being resumed, and as long as the peer goes on reading the bytes that this end
  /// keeps.
  ~TcpTransport() override;

  [[nodiscard]] std::string_view name() const override {
    return make_security_ ? transport_names::kTls : transport_names::kTcp;
  }
  Result<std::string> open() override;
  [[nodiscard]] bool reaches(std::string_view address) const override;
  Status connect(int peer, std::string_view address) override;
  Status prepare(int peer, std::string_view address) override;
  [[nodiscard]] LinkState link(int peer) const override { return links_.getOrMake(peer).state(); }
  [[nodiscard]] Status linkError(int peer) const override { return links_.getOrMake(peer).error(); }
  bool send(SendOperation& operation) override {
    if (links_.getOrMake(operation.peer).isOnDemand() && keep(operation)) return false;
    return links_.send(operation, name());
  }
  void recv(RecvOperation& operation) override { links_.recv(operation); }
  void cancel(SendOperation& operation) override { links_.cancel(operation); }
  void cancel(RecvOperation& operation) override { links_.cancel(operation); }
  bool progress() override;
  [[nodiscard]] int pollFd() const override;
  bool prepareToSleep() override;
  void sleepEnded() override {}
  void discard(Tag mask, Tag value) override { links_.discard(mask, value); }
  void abandon(int peer, const Status& why) override { links_.getOrMake(peer).giveUp(why); }
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const override {
    return links_.peek(peer, mask, value, found);
  }
  [[nodiscard]] PeerStatistics statistics(int peer) const override { return links_.statistics(peer); }
  /// As Transport::roundTrip_s(); 0 (not known) where another rank relays the link.
  [[nodiscard]] double roundTrip_s(int peer) const override;
  [[nodiscard]] PathUse pathUse(int peer) const override;
  [[nodiscard]] const Relaying* relaying() const override { return this; }
  [[nodiscard]] bool servesOthers() const override { return relay_ && relay_->isInUse(); }
  [[nodiscard]] int relayedBy(int peer) const override { return links_.getOrMake(peer).connections().via(); }
  /// Number of bytes that this rank has relayed between others.
  [[nodiscard]] std::uint64_t relayedBytes() const { return relay_ ? relay_->bytes() : 0; }

 private:
  bool keep(SendOperation& operation);
  void report(const tcp::Link& link, const Status& why);
  bool pollOnlyPeer();
  bool handle(const platform::PollEvent& event);
  bool relayOnly();
  bool runLink(tcp::Link& link, bool broken);
  void tellOfChange(const tcp::Link& link);
  void tick();
  void awaitGoodbyes();
  void startTicking();
  void stopTickingWhenSettled();

  const TransportContext context_;
  const base::Log log_;
  const platform::SecurityMaker make_security_;
  std::chrono::milliseconds goodbye_timeout_ = Patience().courtesy;
  std::unique_ptr<platform::StreamSecurity> security_; ///< Set by open(); before all members that hold its filters.
  std::optional<platform::Poller> poller_;             ///< Set by open(), as are the next two.
  std::optional<platform::Ticker> ticker_;
  std::optional<tcp::Relay> relay_;
  tcp::PathTuner path_;
  Links<tcp::Link> links_;
  std::uint64_t next_dial_token_ = 0;
  std::optional<tcp::Connector> connector_; ///< Set by open(), as the next two; after the links.
  std::optional<tcp::Resumer> resumer_;
  std::optional<tcp::Inquiry> inquiry_;
  bool closing_ = false;          ///< This rank is leaving, and reports no peers as lost.
  std::vector<bool> change_told_; ///< By peer: the log already says that the network corrupts bytes.
  int shortcuts_ = 0;             ///< Turns since the last call of the poller.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_TCP_TCP_H_

/// Transport over UCX: whatever fabrics it knows (InfiniBand, RoCE, shared memory, TCP), by active messages.
#ifndef GOSS_TRANSPORTS_UCX_UCX_H_
#define GOSS_TRANSPORTS_UCX_UCX_H_

#include <memory>
#include <optional>

#include "base/log.h"
#include "gossamer/transport.h"
#include "gossamer/transport_names.h"
#include "platform/poller.h"
#include "transports/common/links.h"

namespace goss::transports {

namespace ucx {
class Link;
class Worker;
struct Station;
} // namespace ucx

/// Short messages travel with their header. Long ones go in parts over shared memory and TCP, and elsewhere by UCX's
/// rendezvous, without a copy, once their receive is posted. UCX's own variables (UCX_TLS, UCX_NET_DEVICES, ...) choose
/// the fabric. A peer whose process dies is noticed at once on the same host, and elsewhere as soon as UCX does.
/// Nothing is encrypted.
class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(const TransportContext& context);
  /// Waits up to two seconds until the other processes have read all messages that were sent.
  ~UcxTransport() override;

  [[nodiscard]] std::string_view name() const override { return transport_names::kUcx; }
  Result<std::string> open() override;
  [[nodiscard]] bool reaches(std::string_view address) const override;
  Status connect(int peer, std::string_view address) override;
  [[nodiscard]] LinkState link(int peer) const override;
  [[nodiscard]] Status linkError(int peer) const override;
  bool send(SendOperation& operation) override;
  void recv(RecvOperation& operation) override;
  void cancel(SendOperation& operation) override;
  void cancel(RecvOperation& operation) override;
  bool progress() override;
  [[nodiscard]] int pollFd() const override { return poller_->fd(); }
  bool prepareToSleep() override;
  void sleepEnded() override { look_for_deaths_ = true; }
  void discard(Tag mask, Tag value) override;
  void abandon(int peer, const Status& why) override;
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const override;
  [[nodiscard]] PeerStatistics statistics(int peer) const override;

 private:
  void flush();
  bool progressUcx();
  bool lookForDeaths();
  bool runLinks();

  const TransportContext context_;
  const base::Log log_;
  std::unique_ptr<ucx::Station> station_;
  Links<ucx::Link> links_;                 ///< By peer. UCX may call them until the worker is gone.
  std::unique_ptr<ucx::Worker> worker_;    ///< Set by open(), as the next.
  std::optional<platform::Poller> poller_; ///< UCX's descriptor, and one for each process that may die.
  bool look_for_deaths_ = false;
  int turns_ = 0;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_UCX_UCX_H_

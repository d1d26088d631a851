/// Asks whether a process still lives after its connection ended without a goodbye.
#ifndef GOSS_TRANSPORTS_TCP_MEET_INQUIRY_H_
#define GOSS_TRANSPORTS_TCP_MEET_INQUIRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "gossamer/transport_context.h"
#include "platform/poller.h"
#include "transports/tcp/meet/dialer.h"

namespace goss::transports::tcp {

/// For links that are not resumed. Calls the peer where the connection was: when its system says that nobody listens
/// there any more, the process has ended. When the process answers, or nobody does within kSpan, it counts as silent: a
/// middlebox may have ended the connection. One thread.
class Inquiry {
 public:
  /// Called once for each peer that was asked about: why its link ended, and how the peer was lost.
  using Verdict = std::function<void(int peer, const Status& why, PeerLoss how)>;
  /// `next_token` counts poll tokens, with the dialers'. All references outlive this object.
  Inquiry(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token, Verdict verdict)
      : context_(context), poller_(poller), next_token_(next_token), verdict_(std::move(verdict)) {}

  /// `target`: how to call the peer. `remote`: the other end of the connection; if it is none of the target's
  /// addresses, there is nobody to ask, and the verdict comes immediately.
  void ask(Dialer::Target target, const std::optional<platform::SocketAddress>& remote, const Status& why);
  /// Whether an event with this token belongs to this object, which then handles it.
  bool handle(std::uint64_t token);
  void tick();
  [[nodiscard]] bool isIdle() const { return cases_.empty(); }

 private:
  struct Case {
    std::unique_ptr<Dialer> call;
    Status why;
  };
  void settle();

  /// A call that is lost is repeated after a second.
  static constexpr std::int64_t kSpanMs = 2000;

  const TransportContext& context_;
  platform::Poller& poller_;
  std::uint64_t& next_token_;
  const Verdict verdict_;
  std::map<int, Case> cases_; ///< By peer.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_INQUIRY_H_

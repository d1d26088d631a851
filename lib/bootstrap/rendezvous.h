/// The meeting of the ranks of a world: every rank gets the cards of all ranks.
#ifndef GOSS_LIB_BOOTSTRAP_RENDEZVOUS_H_
#define GOSS_LIB_BOOTSTRAP_RENDEZVOUS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/status.h"
#include "gossamer/transport_context.h"

namespace goss {

/// One rank's side of the meeting. One thread, which blocks; makes no threads. All ranks call allGather() equally
/// often.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Gives every rank the cards of all, in rank order; returns when all ranks have called it (a barrier). At most
  /// kMaxCardBytes a card. `timeout_ms` 0: Config::bootstrap_timeout_ms. Errors: bootstrap, naming the ranks that did
  /// not come or that left, on every rank that came; the meeting is over after an error.
  virtual Result<std::vector<std::string>> allGather(const std::string& card, std::int64_t timeout_ms) = 0;

  /// Between two calls of allGather(): whether the meeting is still intact. Returns at once, except with an error,
  /// which rank 0 takes up to a second to report to the others. Errors: as those of allGather().
  virtual Status check() = 0;

  /// The routers between this rank and rank 0.
  [[nodiscard]] const Site& site() const { return site_; }

  /// From now on allGather() calls `turn` on its thread while it waits, every kTurnMs or turnSpan().
  void whileWaiting(std::function<void()> turn) { turn_ = std::move(turn); }

  static constexpr std::size_t kMaxCardBytes = 64u << 10;

 protected:
  static constexpr int kTurnMs = 5;
  std::function<void()> turn_; ///< Empty: there is nothing to call.
  Site site_;
};

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_RENDEZVOUS_H_

/// One rank's part in goss_comm_shrink: the ranks that are left agree on who they are (docs/shrink.md).
#ifndef GOSS_LIB_HEALTH_SHRINK_H_
#define GOSS_LIB_HEALTH_SHRINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/log.h"
#include "gossamer/status.h"
#include "health/agreement.h"
#include "health/peers.h"

namespace goss {

/// One agreement after the other, each an attempt, for one communicator. It lives as long as the communicator: a rank
/// whose call has ended at its deadline still takes part. Every function wants the engine's lock.
class Shrink {
 public:
  struct Hooks {
    /// Reserves a number for the new communicator: `wanted` if it is free, else a higher one, which this attempt has
    /// `raised` so often before.
    std::function<std::uint32_t(std::uint32_t wanted, unsigned raised)> reserve;
    /// Ends the call that waits for the attempt, if there is one, with this status.
    std::function<void(const Status&)> end_call;
  };
  /// Who goes on, and as what.
  struct Survivors {
    std::uint32_t context = 0;    ///< Of the new communicator.
    std::vector<int> world_ranks; ///< By rank of the new communicator.
  };

  Shrink(const Peers& peers, const base::Log& log, Hooks hooks);

  /// Number of the attempt that is going on, or comes next.
  [[nodiscard]] std::uint64_t attempt() const { return attempt_; }
  /// Whether the last attempt has an outcome() that the next call must return: no call has returned it, or this rank
  /// does not go on. Others may have gone on by what this rank agreed to, so it must not agree to anything else.
  [[nodiscard]] bool isBound() const;
  /// Begins an attempt, or goes on with the one of an earlier call, which has not ended. Hooks::end_call may be called
  /// before this returns.
  void begin();
  /// The ranks that the attempt waits for; none between attempts.
  [[nodiscard]] std::vector<int> awaited() const;
  /// Tells the ranks that are awaited again what may have come too early for them.
  void remind();
  /// What the last attempt, which has ended, came to. A call returns it: see isBound(). Errors: peerLost, when the
  /// others left this rank out, or when the ranks that agreed are too few to go on; resource, without numbers for
  /// communicators.
  Result<Survivors> outcome();
  /// Whether any attempt ended with this rank going on.
  [[nodiscard]] bool goesOn() const;

  /// A message of type view or agreed.
  void handle(int rank, const ControlMessage& message);
  /// `rank` is lost: an attempt that is under way accuses it.
  void accuse(int rank);

 private:
  struct Decision {
    AgreementView view;
    /// Set when no rank is awaited any more: the ranks that are known to have agreed, and whether this rank goes on.
    std::vector<int> agreed{};
    bool goes_on = false;
    bool delivered = false; ///< outcome() has returned it.
  };

  void makeAgreement();
  void settle();
  void endAttempt();
  void tellView(const std::vector<int>& ranks);
  void tellDecision(const std::vector<int>& ranks, std::uint64_t attempt);

  const Peers peers_;
  const base::Log& log_;
  const Hooks hooks_;
  std::uint64_t attempt_ = 1;
  std::unique_ptr<Agreement> agreement_;         ///< Null until this rank calls.
  std::map<int, AgreementView> early_views_;     ///< What others told in this attempt before that, by rank.
  std::map<int, AgreementView> early_decisions_; ///< The same.
  std::map<std::uint64_t, Decision> decisions_;  ///< By attempt.
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_SHRINK_H_

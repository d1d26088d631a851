/// One rank's part in goss_comm_shrink: the remaining ranks agree on who they are (docs/shrink.md).
#ifndef GOSS_LIB_HEALTH_SHRINK_H_
#define GOSS_LIB_HEALTH_SHRINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/log.h"
#include "gossamer/status.h"
#include "health/agreement.h"
#include "health/peers.h"
#include "platform/thread_safety.h"

namespace goss {

/// One agreement after the other, each an attempt, for one communicator. It lives as long as the communicator: a rank
/// whose call has ended at its deadline still takes part. Every function needs the engine's lock.
class Shrink {
 public:
  struct Hooks {
    /// Reserves a number for the new communicator: `wanted` if it is free, else a higher one; this attempt has `raised`
    /// it so often before.
    std::function<std::uint32_t(std::uint32_t wanted, unsigned raised)> reserve;
    /// Ends the call that waits for the attempt, if there is one, with this status.
    std::function<void(const Status&)> end_call;
    /// Whether flush() will be called when all messages that have come are read: false while no call waits.
    std::function<bool()> defer;
  };
  /// The ranks that go on, and their new communicator.
  struct Survivors {
    std::uint32_t context = 0;    ///< Context number of the new communicator.
    std::vector<int> world_ranks; ///< By rank of the new communicator.
  };

  Shrink(const Peers& peers, const base::Log& log, Hooks hooks);

  /// Number of the current attempt, or of the next one.
  [[nodiscard]] std::uint64_t attempt() const GOSS_ON_LOOP { return attempt_; }
  /// Whether the last attempt has an outcome() that the next call must return: no call has returned it, or this rank
  /// does not go on. Others may have gone on because this rank agreed, so it must not agree to anything else.
  [[nodiscard]] bool isBound() const GOSS_ON_LOOP;
  /// Begins an attempt, or continues the unfinished one of an earlier call. Hooks::end_call may be called before this
  /// returns.
  void begin() GOSS_ON_LOOP;
  /// The ranks that the attempt waits for, as Agreement::asked(); none between attempts.
  [[nodiscard]] std::vector<int> awaited() const GOSS_ON_LOOP;
  /// Tells the others what this rank's view has learnt since it was told last: see Hooks::defer.
  void flush() GOSS_ON_LOOP;
  /// Sends again what may have come too early for the ranks that are awaited. To be called every half second; it is
  /// done after ever longer pauses, two seconds at most, because ranks that share processors have much to read.
  void remind() GOSS_ON_LOOP;
  /// The outcome of the last attempt, which has ended. A call returns it: see isBound(). Errors: peerLost, when the
  /// others left this rank out, or when too few ranks agreed; resource, when there are no numbers for communicators
  /// left.
  Result<Survivors> outcome() GOSS_ON_LOOP;
  /// Whether any attempt ended with this rank going on.
  [[nodiscard]] bool goesOn() const GOSS_ON_LOOP;
  /// What tells this rank's decision in the last attempt that had one, also when the communicator is gone; of type
  /// view: there was none.
  [[nodiscard]] ControlMessage lastWords() const GOSS_ON_LOOP;

  /// Handles a message of type view or agreed.
  void handle(int rank, const ControlMessage& message) GOSS_ON_LOOP;
  /// `rank` is lost: the current attempt accuses it.
  void accuse(int rank) GOSS_ON_LOOP;

 private:
  /// How an attempt ends for this rank.
  struct Decision {
    AgreementView view;
    bool is_made = true; ///< False: this rank's own view leaves it out, and nobody is left to tell it a decision.
    /// Set when no rank is awaited any more: the ranks that are known to have agreed, and whether this rank goes on.
    std::vector<bool> agreed{};
    bool goes_on = false;
    bool delivered = false; ///< outcome() has returned it.
  };

  void makeAgreement() GOSS_ON_LOOP;
  void settle() GOSS_ON_LOOP;
  void endAttempt() GOSS_ON_LOOP;
  void tellView(const std::vector<int>& ranks) GOSS_ON_LOOP;
  enum class Answer { none, ifAwaited, wanted };
  void tellDecision(const std::vector<int>& ranks, std::uint64_t attempt, Answer answer = Answer::none) GOSS_ON_LOOP;
  [[nodiscard]] ControlMessage decisionMessage(std::uint64_t attempt) const GOSS_ON_LOOP;
  void hear(int rank, const ControlMessage& message) GOSS_ON_LOOP;

  const Peers peers_;
  const base::Log& log_;
  const Hooks hooks_;
  const Agreement::Manner manner_;
  std::uint64_t attempt_ GOSS_GUARDED = 1;
  std::unique_ptr<Agreement> agreement_ GOSS_GUARDED; ///< Null until this rank calls.
  bool untold_ GOSS_GUARDED = false;                  ///< The others do not know this rank's view.
  unsigned reminders_ GOSS_GUARDED = 0;               ///< Calls of remind() since begin().
  /// By rank: views that others sent in this attempt before this rank's call.
  std::map<int, AgreementView> early_views_ GOSS_GUARDED;
  /// By rank: decisions that others sent before this rank's call.
  std::map<int, AgreementOutcome> early_decisions_ GOSS_GUARDED;
  std::set<int> owed_ GOSS_GUARDED; ///< Ranks to be told this rank's view beside Agreement::audience().
  std::map<std::uint64_t, Decision> decisions_ GOSS_GUARDED; ///< By attempt.
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_SHRINK_H_

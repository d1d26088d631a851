/// One rank's part in goss_comm_shrink: the remaining ranks agree on who they are (docs/shrink.md).
#ifndef GOSS_LIB_HEALTH_SHRINK_H_
#define GOSS_LIB_HEALTH_SHRINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
    /// Reserves a context number for the new communicator: `wanted` if it is free, else a higher one. `raised`: how
    /// often this attempt has got a higher one so far.
    std::function<std::uint32_t(std::uint32_t wanted, unsigned raised)> reserve;
    /// Ends the call that waits for the attempt, if a call waits, with this status.
    std::function<void(const Status&)> end_call;
    /// Whether flush() will be called when all messages that have come are read. False: no call waits, and nobody will
    /// call it.
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
  /// Whether the next call must return the outcome() of the last attempt: no call has returned it yet, or this rank
  /// does not go on. Other ranks may have gone on because this rank agreed, so this rank must not agree to anything
  /// else.
  [[nodiscard]] bool isBound() const GOSS_ON_LOOP;
  /// Begins an attempt, or continues the one that an earlier call has begun and not ended. Calls Hooks::end_call where
  /// the attempt ends at once.
  void begin() GOSS_ON_LOOP;
  /// As Agreement::asked() of the current attempt; none before this rank has begun it.
  [[nodiscard]] std::vector<int> asked() const GOSS_ON_LOOP {
    return agreement_ != nullptr ? agreement_->asked() : std::vector<int>();
  }
  /// As Agreement::watched() of the current attempt; none before this rank has begun it.
  [[nodiscard]] std::vector<int> watched(const std::function<bool(int rank)>& is_silent) const GOSS_ON_LOOP;
  /// Sends this rank's view, or its decision, to those of the other ranks that need it and do not have it.
  void flush() GOSS_ON_LOOP;
  /// Sends this rank's view, or its decision, to Agreement::asked() again, because these ranks may have received it
  /// before they could use it. To be called every half second; sends after ever longer pauses, two seconds at most,
  /// because ranks that share processors have much to read.
  void remind() GOSS_ON_LOOP;
  /// The outcome of the last attempt, which has ended, for the call that returns it: see isBound(). Errors: peerLost,
  /// when the others left this rank out, or when too few ranks agreed; resource, when no context number is left.
  Result<Survivors> outcome() GOSS_ON_LOOP;
  /// Whether an attempt has ended after which this rank goes on.
  [[nodiscard]] bool goesOn() const GOSS_ON_LOOP;
  /// The message that tells this rank's decision in the last attempt in which it made or adopted one; none: in no
  /// attempt. The world sends it when the communicator is destroyed.
  [[nodiscard]] std::optional<ControlMessage> lastDecision() const GOSS_ON_LOOP;

  /// Handles a message of type view or agreed from `rank`.
  void handle(int rank, const ControlMessage& message) GOSS_ON_LOOP;
  /// `rank` is lost: the current attempt accuses it.
  void accuse(int rank) GOSS_ON_LOOP;

 private:
  /// The decision of an attempt, as this rank has made or adopted it.
  struct Decision {
    AgreementView view;
    /// False: `view` is this rank's own, which leaves this rank out, and no rank is left that could tell it a decision.
    bool is_made = true;
    std::vector<bool> agreed{}; ///< When the attempt has ended: as Agreement::agreed().
    bool goes_on = false;       ///< When the attempt has ended: this rank goes on.
    bool delivered = false;     ///< outcome() has returned it.
  };

  void makeAgreement() GOSS_ON_LOOP;
  void settle() GOSS_ON_LOOP;
  void endAttempt() GOSS_ON_LOOP;
  /// From which of the ranks that are told this rank's decision it requests theirs.
  enum class Request { none, ofAwaited, ofAll };
  void tell(const std::vector<int>& ranks, Request request) GOSS_ON_LOOP;
  void tellView(const std::vector<int>& ranks) GOSS_ON_LOOP;
  void tellDecision(const std::vector<int>& ranks, std::uint64_t attempt, Request request = Request::none) GOSS_ON_LOOP;
  [[nodiscard]] ControlMessage decisionMessage(std::uint64_t attempt) const GOSS_ON_LOOP;
  void receive(int rank, const ControlMessage& message) GOSS_ON_LOOP;

  const Peers peers_;
  const base::Log& log_;
  const Hooks hooks_;
  const Agreement::Manner manner_;
  std::uint64_t attempt_ GOSS_GUARDED = 1;
  std::unique_ptr<Agreement> agreement_ GOSS_GUARDED; ///< Of the current attempt; null until this rank begins it.
  bool untold_ GOSS_GUARDED = false;                  ///< Agreement::audience() is to be told this rank's news.
  unsigned reminders_ GOSS_GUARDED = 0;               ///< Calls of remind() since begin().
  /// By rank: views that others have sent in the current attempt, which this rank has not begun yet.
  std::map<int, AgreementView> early_views_ GOSS_GUARDED;
  /// By rank: decisions that others have sent in the current attempt, which this rank has not begun yet.
  std::map<int, AgreementOutcome> early_decisions_ GOSS_GUARDED;
  std::set<int> owed_ GOSS_GUARDED; ///< Ranks to be told this rank's view, besides Agreement::audience().
  std::map<std::uint64_t, Decision> decisions_ GOSS_GUARDED; ///< By attempt.
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_SHRINK_H_

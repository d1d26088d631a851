/// Compares plans of large all-reduces over wide-area links by how long their calls take. All ranks run the same plan.
#ifndef GOSS_LIB_RUNNER_PLAN_TRIALS_H_
#define GOSS_LIB_RUNNER_PLAN_TRIALS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "call/call.h"
#include "execution/run_environment.h"
#include "health/peers.h"
#include "planner/followed_links.h"
#include "planner/observed_links.h"
#include "planner/planner.h"
#include "platform/thread_safety.h"
#include "runner/trial_record.h"
#include "runner/trial_series.h"

namespace goss {

/// Calls of equally many bytes form a kind. Each rank numbers the calls of a kind in the order in which they start,
/// which is the same on all ranks. The calls run in stretches, each with one plan (trial_series.h). When a rank's calls
/// of a stretch have ended (all of them, or all but the last where nothing is compared), the rank reports to rank 0 how
/// long they took, and what it sent to each rank meanwhile as its system counts it. Rank 0 then decides the next
/// stretch and tells all ranks. The operation of a call beyond the last stretch that this rank knows waits for that
/// decision; to start it never blocks. Reports and decisions are control messages, which a rank handles also while its
/// application computes.
///
/// Used under the engine's lock. The end of the communicator ends operations that wait.
class PlanTrials {
 public:
  /// Smaller vectors take about as long with any plan.
  static constexpr std::uint64_t kMinBytes = 1 << 20;

  struct Rules {
    std::optional<TrialSeries::Reason> reason; ///< World::comparesPlans(), equal on all ranks; nullopt: never.
    const Catalogue& catalogue;
    const base::Log& log;
  };

 private:
  struct Kind;

 public:
  /// An operation's position among the calls of its kind. Its address must not change while the operation is active.
  struct Ticket {
    Operation* operation = nullptr;
    Kind* kind = nullptr;
    std::uint64_t number = 0;             ///< Among the calls of its kind, from 0.
    std::uint64_t stretch = 0;            ///< The stretch of its plan; set by planFor(), as are the members below.
    std::uint32_t hash = 0;               ///< Hash of the stretch and its plan, by which ranks notice that they differ.
    std::shared_ptr<const Plan> replaced; ///< Later calls no longer run this plan, which others kept; null: none.
  };

  /// `links` are the prices that the communicator begins with. If they put several ranks on one host, nothing is
  /// compared, because the direct exchange among all ranks by which rates are observed would send far more between
  /// hosts than other plans. `environment`, `peers` and what `rules` refers to outlive this object.
  PlanTrials(const RunEnvironment& environment, const Peers& peers, const Rules& rules, const schedule::Links& links);
  ~PlanTrials();

  /// Whether the call runs as a TrialOperation. All ranks answer alike.
  [[nodiscard]] bool takes(const Call& call) const GOSS_ON_LOOP;
  /// Numbers the operation of this ticket: a call of so many bytes that takes() accepts.
  void number(Ticket& ticket, std::uint64_t bytes) GOSS_ON_LOOP;
  /// The plan of the operation. Null: rank 0 has not decided yet, and the engine will advance the operation when it
  /// has.
  Result<std::shared_ptr<const Plan>> planFor(Ticket& ticket) GOSS_ON_LOOP;
  /// Counts an operation that has ended with success after so many seconds.
  void ended(const Ticket& ticket, double seconds) GOSS_ON_LOOP;
  /// Whether later calls of that kind will run `plan` too, as far as this rank knows.
  [[nodiscard]] bool keeps(const Ticket& ticket, const Plan& plan) const GOSS_ON_LOOP;
  /// The operation no longer waits for a plan.
  void forget(Ticket& ticket) GOSS_ON_LOOP;
  /// The ranks whose messages are missing before the plan of an operation is known.
  [[nodiscard]] std::vector<int> awaitedFor(const Ticket& ticket) const GOSS_ON_LOOP;
  /// Handles a report or decision that has arrived from `rank`.
  void handle(int rank, const ControlMessage& message) GOSS_ON_LOOP;
  /// The text of goss_comm_trials: what was compared, and what runs.
  [[nodiscard]] std::string json() const GOSS_ON_LOOP;
  /// Later calls are planned without trials. To be called by all ranks after the same call.
  void stop() GOSS_ON_LOOP { wanted_ = false; }
  /// From now on large calls are planned by `links`, which were measured, and compared with other plans when flows show
  /// that links have changed. To be called by all ranks before the first call, which the rules may forbid.
  void follow(const schedule::Links& links) GOSS_ON_LOOP;

 private:
  struct Report {
    double seconds = 0;
    std::vector<ObservedFlow> flows; ///< By receiver.
  };

  static std::uint32_t hashOf(const Kind& kind);
  [[nodiscard]] bool mayBeHeldBack(const Kind& kind) const GOSS_ON_LOOP;
  TrialSeries::Sight observe(Kind& kind, const std::vector<ObservedFlow>& flows) GOSS_ON_LOOP;
  Kind& kindOf(std::uint64_t bytes) GOSS_ON_LOOP;
  void enter(Kind& kind, TrialSeries::Stretch stretch) GOSS_ON_LOOP;
  void report(Kind& kind) GOSS_ON_LOOP;
  void take(Kind& kind, int rank, Report report) GOSS_ON_LOOP;
  void decide(Kind& kind) GOSS_ON_LOOP;
  void noteAdoption(Kind& kind) GOSS_ON_LOOP;
  void judge(Kind& kind, const TrialSeries::Comparison& ended) GOSS_ON_LOOP;
  TrialFinding findingOf(const Kind& kind, const TrialSeries::Comparison& ended) GOSS_ON_LOOP;
  void setNext(Kind& kind, TrialSeries::Stretch stretch) GOSS_ON_LOOP;
  Status handleReport(int rank, const ControlMessage& message) GOSS_ON_LOOP;
  Status handleDecision(int rank, const ControlMessage& message) GOSS_ON_LOOP;
  [[nodiscard]] std::vector<ObservedFlow> flows() const GOSS_ON_LOOP;
  std::vector<TrialPlan> proposeBy(Kind& kind, const TrialPlan& used, const std::string& rates) GOSS_ON_LOOP;
  Result<Planner*> plannerBy(const std::string& rates) GOSS_ON_LOOP;
  std::vector<TrialPlan> propose(Kind& kind, const TrialPlan& used) GOSS_ON_LOOP;
  std::shared_ptr<const Plan> trialPlan(std::uint64_t bytes, const TrialPlan& trial) GOSS_ON_LOOP;

  const RunEnvironment& environment_;
  const Peers& peers_;
  const Rules rules_;
  schedule::Links links_;             ///< As the constructor or follow() got them; without trials those of one rank.
  bool wanted_ GOSS_GUARDED = false;  ///< Plans are compared.
  bool follows_ GOSS_GUARDED = false; ///< follow() was called.
  std::map<std::uint64_t, std::unique_ptr<Kind>> kinds_ GOSS_GUARDED;     ///< By bytes.
  std::map<std::string, std::unique_ptr<Planner>> planners_ GOSS_GUARDED; ///< By rates.
  ObservedLinks observed_ GOSS_GUARDED;                                   ///< Filled on rank 0 alone.
  TrialRecord record_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_PLAN_TRIALS_H_

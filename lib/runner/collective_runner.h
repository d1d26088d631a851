/// The collectives of a communicator: runs and starts them.
#ifndef GOSS_LIB_RUNNER_COLLECTIVE_RUNNER_H_
#define GOSS_LIB_RUNNER_COLLECTIVE_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "call/call.h"
#include "engine/sampled_duration.h"
#include "execution/run_environment.h"
#include "platform/thread_safety.h"
#include "runner/execution_pool.h"
#include "runner/idle_list.h"
#include "runner/multi_phase_operation.h"
#include "runner/plan_trials.h"
#include "schedule/links.h"

namespace goss {

/// Here a validated call becomes a planned, numbered, running operation. Thread-safe where not marked OnLoop; OnLoop
/// functions need the engine's lock.
class CollectiveRunner {
 public:
  CollectiveRunner(const RunEnvironment& environment, const Peers& peers, Planner planner,
                   const PlanTrials::Rules& trials);
  CollectiveRunner(const CollectiveRunner&) = delete; // pool_ refers to environment_.
  CollectiveRunner& operator=(const CollectiveRunner&) = delete;

  /// Runs a call to its end in this thread. If `key` is not null, the call has the arguments of `key` and no options:
  /// then later calls may find it by runCached().
  Status run(const Call& call, const CallKey* key = nullptr);
  /// Runs a cached call without validation or planning, and returns its status. nullopt: it is not cached; call run().
  std::optional<Status> runCached(const CallKey& key);
  /// Starts a call; `persistent` ones are planned only. The operation is the caller's until releaseOnLoop(), or until
  /// the communicator goes.
  Result<Operation*> start(const Call& call, bool persistent);
  /// Ends the caller's use of an operation that start() returned, and that is not active.
  void releaseOnLoop(Operation& operation) GOSS_ON_LOOP;

  /// The text of goss_comm_trials: PlanTrials::json().
  std::string trials();
  /// Handles a report or a decision: PlanTrials::handle().
  void handleControlOnLoop(int rank, const ControlMessage& message) GOSS_ON_LOOP { trials_.handle(rank, message); }

  /// The links by which calls are planned. Blocks until no multi-phase operation is active: each phase is planned when
  /// it begins, and the links must not change between the phases of one operation on one rank, and before them on
  /// another.
  schedule::Links linksBetweenPhases();
  /// Later calls, and communicators that inherit the links, are planned by `links`, which must be equal on all ranks.
  /// To be called by all of them after the same call, and after linksBetweenPhases().
  void useLinks(schedule::Links links);
  /// As useLinks(), for links that were measured before the first call: their changes are followed.
  void beginWithLinks(schedule::Links links);
  /// The links by which calls are planned, where they were measured.
  [[nodiscard]] std::optional<schedule::Links> measuredLinks();
  /// The links of beginWithLinks() or inheritLinks(). All ranks of the communicator know these; after a failure some
  /// ranks may not know the links that useLinks() has set on others.
  [[nodiscard]] std::optional<schedule::Links> firstLinks();
  /// The links of a parent, if there are any, hold here too. Its ranks are `all`; these are a part of them.
  void inheritLinks(const std::optional<schedule::Links>& links, const Group& all);

 private:
  [[nodiscard]] bool isMultiPhase(const Call& call) const {
    return call.codecs != nullptr && call.codecs->multiPhase();
  }
  Result<std::unique_ptr<MultiPhaseOperation>> acquireMultiPhaseOnLoop(const Call& call) GOSS_ON_LOOP;
  Status runMultiPhase(Engine::Lock& lock, const Call& call) GOSS_ON_LOOP;
  Status runBlocking(Engine::Lock& lock, std::unique_ptr<Execution> execution) GOSS_ON_LOOP;
  bool tryRunOnLoop(Execution& execution) GOSS_ON_LOOP;

  const RunEnvironment environment_;
  ExecutionPool pool_ GOSS_GUARDED;
  PlanTrials trials_ GOSS_GUARDED;
  IdleList<MultiPhaseOperation> idle_multi_phase_ GOSS_GUARDED;
  SampledDuration board_time_ GOSS_GUARDED; ///< Duration of collectives on boards that do not become active.
  bool measured_ GOSS_GUARDED = false;      ///< The links come from useLinks(), of this communicator or its parent.
  std::optional<schedule::Links> first_links_ GOSS_GUARDED; ///< The contents of beginWithLinks().
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_COLLECTIVE_RUNNER_H_

#include "runner/collective_runner.h"

#include <utility>
#include <vector>

#include "runner/trial_operation.h"

namespace goss {

CollectiveRunner::CollectiveRunner(const RunEnvironment& environment, const Peers& peers, Planner planner,
                                   const PlanTrials::Rules& trials)
    : environment_(environment),
      pool_(environment_, std::move(planner)),
      trials_(environment_, peers, trials, pool_.links()) {}

/// Runs an execution on the board and looks briefly whether it completes: then it needs no deadline, and no place in
/// the lists of the loop. True: it has completed. False: it must start; perhaps it has written on the board.
bool CollectiveRunner::tryRunOnLoop(Execution& execution) {
  Engine& engine = environment_.engine;
  if (!execution.mayRunAtOnce() || !engine.isIdleOnLoop()) return false;
  OperationTable& operations = environment_.operations;
  operations.numberOnLoop(execution);
  const TimePoint begun = board_time_.begin();
  const int yields = engine.oversubscribed() ? Engine::kYields : 0;
  bool done = execution.tryRunOnLoop(yields > 0 ? 1 : Engine::kLooks);
  for (int i = 0; !done && i < yields && engine.yieldOnLoop(); ++i)
    done = execution.tryRunOnLoop(1);
  if (!done) {
    board_time_.skip();
    return false;
  }
  operations.countUnstartedOnLoop(execution, board_time_.end(begun));
  return true;
}

Status CollectiveRunner::run(const Call& call, const CallKey* key) {
  auto lock = environment_.engine.enter();
  if (isMultiPhase(call)) return runMultiPhase(lock, call);
  if (trials_.takes(call)) {
    TrialOperation operation(environment_, pool_, trials_, call);
    return environment_.operations.run(lock, operation);
  }
  auto acquired = pool_.acquire(call);
  if (!acquired.isOk()) return acquired.status();
  std::unique_ptr<Execution> execution = acquired.take();
  if (tryRunOnLoop(*execution)) {
    pool_.release(std::move(execution));
  } else {
    // The communicator's destructor waits for this thread until the call is cached.
    const BlockedCallGuard inside(environment_.operations.blockedCalls(), lock);
    if (Status status = runBlocking(lock, std::move(execution)); !status.isOk()) return status;
  }
  if (key != nullptr && !trials_.takes(call)) pool_.cache(*key, call);
  return Status::ok();
}

Status CollectiveRunner::runBlocking(Engine::Lock& lock, std::unique_ptr<Execution> execution) {
  Status status = environment_.operations.run(lock, *execution);
  if (status.isOk()) {
    pool_.release(std::move(execution));
  } else {
    environment_.operations.retire(std::move(execution));
  }
  return status;
}

std::optional<Status> CollectiveRunner::runCached(const CallKey& key) {
  auto lock = environment_.engine.enter();
  std::unique_ptr<Execution>* idle = pool_.cached(key);
  if (idle == nullptr || !environment_.operations.asyncError().isOk()) return std::nullopt;
  if (tryRunOnLoop(**idle)) return Status::ok();
  return runBlocking(lock, std::move(*idle));
}

Result<Operation*> CollectiveRunner::start(const Call& call, bool persistent) {
  auto lock = environment_.engine.enter();
  std::unique_ptr<Operation> operation;
  if (isMultiPhase(call)) {
    auto acquired = acquireMultiPhaseOnLoop(call);
    if (!acquired.isOk()) return acquired.status();
    operation = acquired.take();
  } else if (!persistent && trials_.takes(call)) {
    if (!environment_.operations.asyncError().isOk()) return environment_.operations.asyncError();
    operation = std::make_unique<TrialOperation>(environment_, pool_, trials_, call);
  } else {
    auto acquired = pool_.acquire(call);
    if (!acquired.isOk()) return acquired.status();
    operation = acquired.take();
  }
  operation->persistent = persistent;
  OperationTable& operations = environment_.operations;
  const auto launch = [&]() GOSS_ON_LOOP -> Result<Operation*> {
    Operation* handed_out = operations.handOut(std::move(operation)); // Before the start, which must not be undone.
    if (persistent) return handed_out;
    if (Status status = operations.launchOnLoop(*handed_out); !status.isOk()) {
      operations.takeBack(*handed_out);
      return status;
    }
    return handed_out;
  };
  StreamOrdered* const ordered = operation->streamOrdered();
  if (persistent || ordered == nullptr) return launch();
  operations.blockedCalls().enter();
  lock.unlock();
  Status prepared = ordered->prepare(call.device.grouped);
  auto again = environment_.engine.enter(); // A thread that drives lets in those that enter.
  operations.blockedCalls().leave(again);
  return prepared.isOk() ? launch() : prepared;
}

std::string CollectiveRunner::trials() {
  auto lock = environment_.engine.enter();
  return trials_.json();
}

void CollectiveRunner::releaseOnLoop(Operation& operation) {
  std::unique_ptr<Operation> owned = environment_.operations.takeBack(operation);
  if (operation.persistent || operation.isTrial() || !operation.status().isOk())
    return environment_.operations.retire(std::move(owned));
  if (operation.isPhased()) {
    idle_multi_phase_.put(std::unique_ptr<MultiPhaseOperation>(static_cast<MultiPhaseOperation*>(owned.release())));
  } else {
    pool_.release(std::unique_ptr<Execution>(static_cast<Execution*>(owned.release())));
  }
}

// ---- Operations in phases ------------------------------------------------------------------------------------------

Result<std::unique_ptr<MultiPhaseOperation>> CollectiveRunner::acquireMultiPhaseOnLoop(const Call& call) {
  if (!environment_.operations.asyncError().isOk()) return environment_.operations.asyncError();
  if (!call.algorithm.empty()) { // A wrong name that only a phase finds would fail the communicator.
    if (Status status = pool_.check(call, sizeof(float)); !status.isOk()) return status;
  }
  std::unique_ptr<MultiPhaseOperation> operation =
      idle_multi_phase_.take([&](const MultiPhaseOperation& idle) { return idle.fits(call); });
  if (operation == nullptr) {
    operation = std::make_unique<MultiPhaseOperation>(environment_, pool_, call);
  } else {
    operation->bind(call);
  }
  operation->setInactive();
  environment_.mismatches.know(call.codecs);
  if (operation->timeout_ms == 0) operation->timeout_ms = environment_.default_timeout_ms;
  return operation;
}

Status CollectiveRunner::runMultiPhase(Engine::Lock& lock, const Call& call) {
  auto acquired = acquireMultiPhaseOnLoop(call);
  if (!acquired.isOk()) return acquired.status();
  std::unique_ptr<MultiPhaseOperation> operation = acquired.take();
  Status status = environment_.operations.run(lock, *operation);
  if (status.isOk()) idle_multi_phase_.put(std::move(operation));
  return status;
}

// ---- The links that calls are planned by ---------------------------------------------------------------------------

schedule::Links CollectiveRunner::linksBetweenPhases() {
  auto lock = environment_.engine.enter();
  OperationTable& operations = environment_.operations;
  const BlockedCallGuard inside(operations.blockedCalls(), lock);
  environment_.engine.driveUntil(lock, [&]() GOSS_ON_LOOP {
    bool pending = false;
    operations.forEachActiveOnLoop([&](const Operation& operation) { pending = pending || operation.isPhased(); });
    return !pending;
  });
  return pool_.links();
}

void CollectiveRunner::useLinks(schedule::Links links) {
  auto lock = environment_.engine.enter();
  pool_.useLinks(std::move(links));
  trials_.stop();
  measured_ = true;
}

void CollectiveRunner::beginWithLinks(schedule::Links links) {
  auto lock = environment_.engine.enter();
  first_links_ = links;
  trials_.follow(links);
  pool_.useLinks(std::move(links));
  measured_ = true;
}

std::optional<schedule::Links> CollectiveRunner::measuredLinks() {
  auto lock = environment_.engine.enter();
  return measured_ ? std::optional(pool_.links()) : std::nullopt;
}

std::optional<schedule::Links> CollectiveRunner::firstLinks() {
  auto lock = environment_.engine.enter();
  return first_links_;
}

void CollectiveRunner::inheritLinks(const std::optional<schedule::Links>& links, const Group& all) {
  if (!links.has_value()) return;
  std::vector<int> members;
  for (const int world_rank : environment_.group.worldRanks())
    members.push_back(all.rankOfWorld(world_rank));
  beginWithLinks(links->subset(members));
}

} // namespace goss

#include "communicator/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "call/tag.h"
#include "communicator/blocked_calls_of_several.h"
#include "execution/multi_phase_operation.h"
#include "platform/clock.h"
#include "world/world.h"

namespace goss {

namespace {

constexpr std::size_t kMaxIdleExecutions = 256;

PlanKey keyOf(const Call& call) {
  PlanKey key;
  key.collective = call.collective;
  key.count = call.count;
  key.element_bytes = static_cast<std::uint32_t>(call.shape.element_bytes);
  key.root = call.root;
  key.uneven = call.uneven;
  key.algorithm = call.algorithm;
  key.codecs = call.codecs.get();
  return key;
}

} // namespace

Communicator::Communicator(std::shared_ptr<World> world, std::uint32_t context, std::vector<int> ranks)
    : world_(std::move(world)),
      context_(context),
      group_(std::move(ranks), world_->rank(), world_->size()),
      engine_(world_->engine()),
      mesh_(world_->mesh()),
      default_timeout_ms_(world_->config().timeout_ms),
      flat_(world_->makeFlatChannel(context_, group_.worldRanks(), rank())),
      planner_(rank(), world_->linksBetween(group_.worldRanks()), world_->catalogue(),
               Preferences{world_->config().algorithm, world_->config().fragment_bytes,
                           std::string(world_->preferredAmongEquals()), world_->takesTurns()},
               flat_ != nullptr ? flat_->capacity() : 0),
      operations_(engine_, *this),
      blocked_calls_(engine_),
      peers_{group_, context_, mesh_, world_->control()},
      detector_(peers_, operations_,
                {std::chrono::milliseconds(world_->config().silence_ms),
                 [this](int world_rank) { return world_->isSeenToRun(world_rank); }}),
      failing_(peers_, operations_, world_->log(), [this](int except) { world_->flushControlOnLoop(except); }),
      mismatches_(peers_, operations_, failing_),
      shrink_(peers_, operations_, blocked_calls_, failing_, world_->log(),
              [this](std::uint32_t wanted, unsigned raised) {
                return world_->contextsOnLoop().reserve(wanted, context_, raised);
              }),
      messenger_({*this, group_, context_, default_timeout_ms_, engine_, mesh_, operations_, blocked_calls_}) {
  auto lock = engine().enter();
  world_->registerOnLoop(context_, group_, *this);
}

Communicator::~Communicator() {
  auto lock = engine().enter();
  failing_.fail(Status::error(GOSS_ERR_ABORTED, "the communicator was destroyed while the operation was pending",
                              ErrorScope::communicator),
                CommunicatorFailure::Origin::destroyed);
  blocked_calls_.close(lock);
  operations_.freeHandedOut();
  world_->unregisterOnLoop(context_, shrink_.agreement().goesOn());
}

std::string Communicator::transportName(int rank) const {
  const Transport* transport = mesh().transport(worldRank(rank));
  return transport != nullptr ? std::string(transport->name()) : "self";
}

// ---- Starting and ending operations
// ----------------------------------------------------------------------------------

Result<std::unique_ptr<Execution>> Communicator::acquireExecutionOnLoop(const Call& call) {
  if (!operations_.failure().isOk()) return operations_.failure();
  auto plan = planner_.plan(keyOf(call));
  if (!plan.isOk()) return plan.status();
  const auto idle = idle_executions_.find(plan.value().get());
  std::unique_ptr<Execution> execution;
  if (idle != idle_executions_.end() && idle->second != nullptr) {
    execution = std::move(idle->second);
  } else {
    execution = std::make_unique<Execution>(*this, plan.take());
  }
  execution->bind(call);
  execution->state_ = Operation::State::inactive;
  if (call.codecs != nullptr && call.phase_of == nullptr) mismatches_.know(call.codecs);
  if (execution->timeout_ms == 0) execution->timeout_ms = defaultTimeoutMs();
  return execution;
}

void Communicator::releaseExecution(std::unique_ptr<Execution> execution) {
  if (idle_executions_.size() >= kMaxIdleExecutions) {
    idle_executions_.clear();
    recent_ = {};
  }
  const Plan* plan = &execution->plan();
  idle_executions_[plan] = std::move(execution);
}

/// What is over before others would notice that it began needs no deadline, and no place in the lists of the loop.
/// True: it has completed. False: startOnLoop() must follow.
bool Communicator::tryRunOnLoop(Execution& execution) {
  if (execution.numbered_ || !execution.runsOnBoard() || !engine().isIdleOnLoop()) return false;
  execution.numberOnLoop(operations_.history());
  const TimePoint begun = board_time_.begin();
  const int yields = engine().oversubscribed() ? Engine::kYields : 0;
  bool done = execution.tryRunOnLoop(yields > 0 ? 1 : Engine::kLooks);
  for (int i = 0; !done && i < yields && engine().yieldOnLoop(); ++i)
    done = execution.lookAgainOnLoop(1);
  execution.numbered_ = !done;
  if (!done) {
    board_time_.skip();
    return false;
  }
  operations_.count(execution.payload_bytes, board_time_.end(begun));
  return true;
}

Status Communicator::run(const Call& call) {
  auto lock = engine().enter();
  if (call.codecs != nullptr && call.codecs->multiPhase()) return runPhased(lock, call);
  auto acquired = acquireExecutionOnLoop(call);
  if (!acquired.isOk()) return acquired.status();
  return runToEnd(lock, acquired.take());
}

Status Communicator::runToEnd(Engine::Lock& lock, std::unique_ptr<Execution> execution) {
  if (tryRunOnLoop(*execution)) {
    releaseExecution(std::move(execution));
    return Status::ok();
  }
  const BlockedCallGuard inside(blocked_calls_, lock);
  if (Status status = startOnLoop(*execution); !status.isOk()) return status;
  engine().driveUntil(lock, [&] { return execution->state() == Operation::State::complete; });
  Status status = execution->status();
  if (status.isOk()) releaseExecution(std::move(execution));
  return status;
}

std::optional<Status> Communicator::runCached(const CallKey& key) {
  auto lock = engine().enter();
  const CachedCall& recent = recent_[key.hash() % kRecent];
  if (recent.idle == nullptr || *recent.idle == nullptr || !(recent.key == key)) return std::nullopt;
  Execution& execution = **recent.idle;
  if (execution.binding() != recent.binding || !operations_.failure().isOk()) return std::nullopt;
  if (tryRunOnLoop(execution)) return Status::ok();
  return runToEnd(lock, std::move(*recent.idle));
}

void Communicator::cacheCall(const CallKey& key, const Call& call) {
  if (call.codecs != nullptr && call.codecs->multiPhase()) return;
  auto lock = engine().enter();
  const auto plan = planner_.plan(keyOf(call));
  if (!plan.isOk()) return;
  const auto idle = idle_executions_.find(plan.value().get());
  if (idle == idle_executions_.end() || idle->second == nullptr || !idle->second->isBoundTo(call)) return;
  recent_[key.hash() % kRecent] = {key, &idle->second, idle->second->binding()};
}

Result<Operation*> Communicator::start(const Call& call, bool persistent) {
  auto lock = engine().enter();
  std::unique_ptr<Operation> operation;
  if (call.codecs != nullptr && call.codecs->multiPhase()) {
    auto acquired = acquirePhasedOnLoop(call);
    if (!acquired.isOk()) return acquired.status();
    operation = acquired.take();
  } else {
    auto acquired = acquireExecutionOnLoop(call);
    if (!acquired.isOk()) return acquired.status();
    operation = acquired.take();
  }
  operation->persistent = persistent;
  if (!persistent) {
    operation->signalled_ = operations_.signals();
    if (Status status = startOnLoop(*operation); !status.isOk()) return status;
    engine().startedOnLoop(*operation);
  }
  return operations_.handOut(std::move(operation));
}

Status Communicator::restart(Operation& operation) {
  auto lock = engine().enter();
  if (!operation.persistent) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "goss_start: the request is not persistent; pass GOSS_PERSISTENT");
  }
  // One that is complete has a status that nobody has seen yet; whether it is must not depend on the moment.
  if (operation.state() != Operation::State::inactive) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "goss_start: the request was started and not waited for since; wait for it first");
  }
  operation.signalled_ = operations_.signals();
  Status status = startOnLoop(operation);
  if (!status.isOk()) operation.signalled_ = false;
  engine().startedOnLoop(operation);
  return status;
}

Status Communicator::finish(Operation* operation, goss_message* message) {
  if (operation->home_ == Operation::Owner::fixed) {
    if (message != nullptr) *message = operation->message;
    return Status::ok();
  }
  auto lock = engine().enter();
  const BlockedCallGuard inside(blocked_calls_, lock);
  if (operation->state() == Operation::State::inactive) return Status::ok();
  if (operation->state() == Operation::State::active && !messages().receiveUnpostedUntilOnLoop(*operation)) {
    engine().driveUntil(lock, [&] { return operation->state() == Operation::State::complete; });
  }
  return finishOnLoop(operation, message);
}

/// It is complete.
Status Communicator::finishOnLoop(Operation* operation, goss_message* message) {
  if (operation->state() == Operation::State::inactive) return Status::ok();
  if (operation->signalled_) operations_.unsignal(*operation);
  if (operation->home_ != Operation::Owner::fixed) operation->state_ = Operation::State::inactive;
  Status status = operation->status();
  if (message != nullptr && status.isOk()) *message = operation->message;
  if (!operation->persistent) releaseOnLoop(operation);
  return status;
}

bool Communicator::test(Operation& operation) {
  auto lock = engine().enter();
  if (operation.state() == Operation::State::active && !messages().receiveUnpostedUntilOnLoop(operation))
    engine().turnOnce(lock);
  return operation.state() != Operation::State::active;
}

Status Communicator::finishAny(std::span<Operation*> operations, std::size_t& index, goss_message* message) {
  index = operations.size();
  const auto some = std::find_if(operations.begin(), operations.end(), [](const Operation* o) { return o != nullptr; });
  if (some == operations.end()) return Status::ok();
  Engine& engine = of(**some).engine();
  for (const Operation* operation : operations) {
    if (operation == nullptr || &of(*operation).engine() == &engine) continue;
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        "goss_wait_any: the requests belong to communicators of several worlds; wait for each world's");
  }
  auto lock = engine.enter();
  std::vector<Operation*> awaited(operations.begin(), operations.end());
  for (Operation*& operation : awaited) {
    if (operation != nullptr && operation->state() == Operation::State::inactive) operation = nullptr;
  }
  if (std::all_of(awaited.begin(), awaited.end(), [](const Operation* o) { return o == nullptr; })) return Status::ok();
  AllBlockedCallsGuard inside(awaited, lock);
  auto finished = awaited.end();
  engine.driveUntil(lock, [&] {
    finished = std::find_if(awaited.begin(), awaited.end(), [](const Operation* operation) {
      return operation != nullptr && operation->state() == Operation::State::complete;
    });
    return finished != awaited.end();
  });
  index = static_cast<std::size_t>(finished - awaited.begin());
  return inside.finish(operations[index], message);
}

Status Communicator::finishAll(std::span<Operation*> operations) {
  Operation* some = nullptr;
  bool alike = true;
  for (Operation*& operation : operations) {
    if (operation == nullptr) continue;
    if (operation->home_ == Operation::Owner::fixed) {
      operation = nullptr;
      continue;
    }
    if (some == nullptr) some = operation;
    alike = alike && &operation->host() == &some->host();
  }
  if (some == nullptr) return Status::ok();
  if (!alike) return finishOfSeveral(operations);
  // At once: to leave the loop after each would wake others.
  Communicator& communicator = of(*some);
  auto lock = communicator.engine().enter();
  std::size_t left = operations.size(); // Those behind it are complete.
  const auto done = [&] {
    while (left > 0 && (operations[left - 1] == nullptr || operations[left - 1]->state() != Operation::State::active))
      --left;
    return left == 0;
  };
  const BlockedCallGuard inside(communicator.blocked_calls_, lock);
  while (!done() && communicator.messages().receiveUnpostedUntilOnLoop(*operations[left - 1])) {
  }
  communicator.engine().driveUntil(lock, done);
  Status first;
  for (Operation*& operation : operations) {
    if (operation == nullptr) continue;
    if (operation->home_ == Operation::Owner::pool && operation->state_ == Operation::State::complete &&
        operation->status_.isOk()) {
      communicator.messages().putBackOnLoop(*std::exchange(operation, nullptr));
      continue;
    }
    const bool persistent = operation->persistent;
    Status status = communicator.finishOnLoop(operation, nullptr);
    if (!persistent) operation = nullptr;
    if (!status.isOk() && first.isOk()) first = std::move(status);
  }
  return first;
}

/// Of several communicators, and perhaps of several worlds.
Status Communicator::finishOfSeveral(std::span<Operation*> operations) {
  Engine* engine = nullptr;
  bool alike = true;
  for (const Operation* operation : operations) {
    if (operation == nullptr) continue;
    Engine& its = of(*operation).engine();
    alike = alike && (engine == nullptr || engine == &its);
    engine = &its;
  }
  if (alike) {
    auto lock = engine->enter();
    return AllBlockedCallsGuard(operations, lock).finishAll(operations);
  }
  Status first;
  for (Operation*& operation : operations) {
    if (operation == nullptr) continue;
    const bool persistent = operation->persistent;
    Status status = of(*operation).finish(operation, nullptr);
    if (!persistent) operation = nullptr;
    if (!status.isOk() && first.isOk()) first = std::move(status);
  }
  return first;
}

void Communicator::release(Operation* operation) {
  auto lock = engine().enter();
  releaseOnLoop(operation);
}

void Communicator::releaseOnLoop(Operation* operation) {
  assert(operation->state() != Operation::State::active);
  if (operation->failsAlone()) return messages().releaseOnLoop(*operation);
  if (operation->signalled_) operations_.unsignal(*operation);
  std::unique_ptr<Operation> owned = operations_.takeBack(*operation);
  if (operation->persistent || !operation->status().isOk()) return;
  if (operation->isPhased()) {
    idle_phased_.put(std::unique_ptr<MultiPhaseOperation>(static_cast<MultiPhaseOperation*>(owned.release())));
  } else {
    releaseExecution(std::unique_ptr<Execution>(static_cast<Execution*>(owned.release())));
  }
}

// ---- Information and derivation
// --------------------------------------------------------------------------------------

goss_counters Communicator::counters() {
  auto lock = engine().enter();
  return operations_.counters();
}

Result<std::unique_ptr<Communicator>> Communicator::split(std::int32_t color, std::int32_t key) {
  SplitEntry mine{color, key, 0};
  std::vector<SplitEntry> all(group_.worldRanks().size());
  std::vector<std::int32_t> colors;
  std::uint32_t base = 0;
  // Another thread may split another communicator of ours meanwhile and take the same numbers; then we try again.
  for (bool taken = false; !taken;) {
    Result<bool> agreed = proposeContexts(mine, all, colors, base);
    if (!agreed.isOk()) return agreed.status();
    taken = agreed.value();
  }
  if (color < 0) return std::unique_ptr<Communicator>();

  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)].color == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all[static_cast<std::size_t>(a)].key < all[static_cast<std::size_t>(b)].key;
  });
  for (int& member : members)
    member = worldRank(member);
  const auto index = std::lower_bound(colors.begin(), colors.end(), color) - colors.begin();
  auto made = std::make_unique<Communicator>(world_, base + static_cast<std::uint32_t>(index), std::move(members));
  auto lock = engine().enter();
  inheritLinksOnLoop(*made);
  return made;
}

/// One attempt: the ranks tell each other their lowest free context, each takes the highest of these (one for each
/// color, from `base`), and they find out whether these were still free on all of them. Nothing is held while a rank
/// waits for others, so splits of several threads cannot wait for each other in a circle.
Result<bool> Communicator::proposeContexts(SplitEntry& mine, std::vector<SplitEntry>& all,
                                           std::vector<std::int32_t>& colors, std::uint32_t& base) {
  {
    auto lock = engine().enter();
    mine.next_context = world_->contextsOnLoop().next();
  }
  Call gather;
  gather.collective = Collective::allGather;
  gather.dtype = GOSS_INT32;
  gather.input = &mine;
  gather.output = all.data();
  gather.count = sizeof(SplitEntry) / sizeof(std::int32_t);
  setUniformShape(gather, size());
  if (Status status = run(gather); !status.isOk()) return status;

  base = 0;
  colors.clear();
  for (const SplitEntry& entry : all) {
    base = std::max(base, entry.next_context);
    if (entry.color >= 0) colors.push_back(entry.color);
  }
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  if (base + colors.size() > kMaxContext) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("goss_comm_split: more than {} communicators were made", kMaxContext));
  }
  std::int32_t free_everywhere = 0;
  {
    auto lock = engine().enter();
    ContextNumbers& contexts = world_->contextsOnLoop();
    free_everywhere = contexts.next() <= base ? 1 : 0;
    for (std::uint32_t i = 0; i < colors.size(); ++i)
      contexts.take(base + i);
  }
  Call vote;
  vote.collective = Collective::allReduce;
  vote.dtype = GOSS_INT32;
  vote.op = GOSS_MIN;
  vote.input = vote.output = &free_everywhere;
  vote.count = 1;
  setUniformShape(vote, size());
  if (Status status = run(vote); !status.isOk()) return status;
  return free_everywhere == 1;
}

} // namespace goss

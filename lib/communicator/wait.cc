#include "communicator/wait.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "communicator/call_guard.h"
#include "platform/thread_safety.h"

namespace goss {

namespace {

/// Counts a thread that waits for operations of several communicators as blocked in each of them, until the operation
/// of that communicator is finished. So destroying a communicator does not wait for operations of the others. Skips
/// null operations. Lives while the engine's lock is held.
class AllBlockedCallsGuard {
 public:
  AllBlockedCallsGuard(std::span<Operation* const> operations, Engine::Lock& lock) : lock_(lock) {
    entered_.reserve(operations.size()); // Nothing may throw between enter() and leave().
    for (const Operation* operation : operations) {
      if (operation == nullptr) continue;
      entered_.push_back(&requestsOf(*operation));
      entered_.back()->operations().blockedCalls().enter();
    }
  }
  ~AllBlockedCallsGuard() {
    while (!entered_.empty())
      leave(*entered_.back());
  }
  AllBlockedCallsGuard(const AllBlockedCallsGuard&) = delete;
  AllBlockedCallsGuard& operator=(const AllBlockedCallsGuard&) = delete;

  /// Requests::finishOnLoop() for one of them, which is null afterwards unless it is persistent.
  Status finish(Operation*& operation, goss_message* message) GOSS_ON_LOOP {
    Requests& requests = requestsOf(*operation);
    const bool persistent = operation->persistent;
    Status status = requests.finishOnLoop(*operation, message);
    if (!persistent) operation = nullptr;
    leave(requests);
    return status;
  }
  /// finish() for all operations, as they complete. Returns the first error in their order.
  Status finishAll(std::span<Operation*> operations) GOSS_ON_LOOP {
    const auto isOver = [](const Operation* o) { return o != nullptr && o->state() != Operation::State::active; };
    std::vector<Operation*> left(operations.begin(), operations.end());
    std::vector<Status> statuses(operations.size());
    while (!entered_.empty()) {
      Engine& engine = entered_.front()->operations().engine();
      engine.driveUntil(lock_, [&] { return std::any_of(left.begin(), left.end(), isOver); });
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (!isOver(left[i])) continue;
        left[i] = nullptr;
        statuses[i] = finish(operations[i], nullptr);
      }
    }
    const auto failed = std::find_if(statuses.begin(), statuses.end(), [](const Status& s) { return !s.isOk(); });
    return failed == statuses.end() ? Status::ok() : *failed;
  }

 private:
  static Requests& requestsOf(const Operation& operation) { return Communicator::of(operation).requests(); }

  void leave(Requests& requests) GOSS_ON_LOOP {
    entered_.erase(std::find(entered_.rbegin(), entered_.rend(), &requests).base() - 1);
    requests.operations().blockedCalls().leave(lock_);
  }

  std::vector<Requests*> entered_;
  Engine::Lock& lock_;
};

/// The engine of all operations that are not null; null: they have several.
Engine* engineOf(std::span<Operation* const> operations) {
  Engine* engine = nullptr;
  for (const Operation* operation : operations) {
    if (operation == nullptr) continue;
    Engine& its = Communicator::of(*operation).engine();
    if (engine != nullptr && engine != &its) return nullptr;
    engine = &its;
  }
  return engine;
}

/// The operations belong to several communicators, and perhaps to several worlds.
Status waitForSeveral(std::span<Operation*> operations) {
  if (Engine* engine = engineOf(operations); engine != nullptr) {
    auto lock = engine->enter();
    return AllBlockedCallsGuard(operations, lock).finishAll(operations);
  }
  std::vector<std::shared_ptr<Lifetime>> lifetimes(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] == nullptr) continue;
    lifetimes[i] = Communicator::of(*operations[i]).lifetime();
    lifetimes[i]->fence();
  }
  Status first;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] == nullptr) continue;
    Status status = waitAllOfOne(*lifetimes[i], operations.subspan(i, 1));
    if (!status.isOk() && first.isOk()) first = std::move(status);
  }
  return first;
}

} // namespace

Status waitAll(std::span<Operation*> operations) {
  Operation* some = nullptr;
  bool alike = true;
  for (Operation*& operation : operations) {
    if (operation == nullptr) continue;
    if (operation->isAlwaysComplete()) {
      operation = nullptr;
      continue;
    }
    if (some == nullptr) some = operation;
    alike = alike && &operation->host() == &some->host();
  }
  if (some == nullptr) return Status::ok();
  return alike ? Communicator::of(*some).requests().finishAll(operations) : waitForSeveral(operations);
}

Status waitAllOfOne(Lifetime& lifetime, std::span<Operation*> operations) {
  std::optional<CallGuard> guard;
  if (enterCall(lifetime, *operations.front(), guard)) return waitAll(operations);
  std::fill(operations.begin(), operations.end(), nullptr);
  return Lifetime::endedError();
}

Status waitAny(std::span<Operation*> operations, std::size_t& index, goss_message* message) {
  index = operations.size();
  if (std::all_of(operations.begin(), operations.end(), [](const Operation* o) { return o == nullptr; }))
    return Status::ok();
  Engine* engine = engineOf(operations);
  if (engine == nullptr) {
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        "goss_wait_any: the requests belong to communicators of several worlds; wait for each world's");
  }
  auto lock = engine->enter();
  std::vector<Operation*> awaited(operations.begin(), operations.end());
  for (Operation*& operation : awaited) {
    if (operation != nullptr && operation->state() == Operation::State::inactive) operation = nullptr;
  }
  if (std::all_of(awaited.begin(), awaited.end(), [](const Operation* o) { return o == nullptr; })) return Status::ok();
  AllBlockedCallsGuard inside(awaited, lock);
  auto finished = awaited.end();
  engine->driveUntil(lock, [&] {
    finished = std::find_if(awaited.begin(), awaited.end(), [](const Operation* operation) {
      return operation != nullptr && operation->state() == Operation::State::complete;
    });
    return finished != awaited.end();
  });
  index = static_cast<std::size_t>(finished - awaited.begin());
  return inside.finish(operations[index], message);
}

} // namespace goss

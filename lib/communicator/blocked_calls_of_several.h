/// For the sources of Communicator alone: a thread that blocks in calls of several communicators.
#ifndef GOSS_LIB_COMMUNICATOR_BLOCKED_CALLS_OF_SEVERAL_H_
#define GOSS_LIB_COMMUNICATOR_BLOCKED_CALLS_OF_SEVERAL_H_

#include <algorithm>
#include <span>
#include <vector>

#include "communicator/communicator.h"

namespace goss {

/// A thread that waits for operations of several communicators of one world counts in each of them until that one's
/// operation is finished: who destroys a communicator does not wait for the operations of others. Null operations are
/// skipped. Lives while the engine's lock is held.
class Communicator::AllBlockedCallsGuard {
 public:
  AllBlockedCallsGuard(std::span<Operation* const> operations, Engine::Lock& lock) : lock_(lock) {
    for (const Operation* operation : operations) {
      if (operation == nullptr) continue;
      communicators_.push_back(&Communicator::of(*operation));
      communicators_.back()->blocked_calls_.enter();
    }
  }
  ~AllBlockedCallsGuard() {
    while (!communicators_.empty())
      leave(*communicators_.back());
  }
  AllBlockedCallsGuard(const AllBlockedCallsGuard&) = delete;
  AllBlockedCallsGuard& operator=(const AllBlockedCallsGuard&) = delete;

  /// finishOnLoop() for one of them, which is null afterwards unless it is persistent.
  Status finish(Operation*& operation, goss_message* message) {
    Communicator& communicator = Communicator::of(*operation);
    const bool persistent = operation->persistent;
    Status status = communicator.finishOnLoop(operation, message);
    if (!persistent) operation = nullptr;
    leave(communicator);
    return status;
  }
  /// The same for all, as they complete. Returns the first error in their order.
  Status finishAll(std::span<Operation*> operations) {
    const auto isOver = [](const Operation* o) { return o != nullptr && o->state() != Operation::State::active; };
    std::vector<Operation*> left(operations.begin(), operations.end());
    std::vector<Status> statuses(operations.size());
    while (!communicators_.empty()) {
      communicators_.front()->engine().driveUntil(lock_, [&] { return std::any_of(left.begin(), left.end(), isOver); });
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
  void leave(Communicator& communicator) {
    communicators_.erase(std::find(communicators_.rbegin(), communicators_.rend(), &communicator).base() - 1);
    communicator.blocked_calls_.leave(lock_);
  }

  std::vector<Communicator*> communicators_;
  Engine::Lock& lock_;
};

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_BLOCKED_CALLS_OF_SEVERAL_H_

/// Keeps a communicator alive during a call that blocks several times.
#ifndef GOSS_LIB_COMMUNICATOR_CALL_GUARD_H_
#define GOSS_LIB_COMMUNICATOR_CALL_GUARD_H_

#include <optional>

#include "communicator/communicator.h"

namespace goss {

/// While it lives, this thread counts among those that block in calls of the communicator, for which the communicator's
/// destructor waits. So the thread may use the communicator also between two operations. Takes the engine's lock for a
/// moment when it is made and when it goes; nothing of the communicator may be touched afterwards.
class CallGuard {
 public:
  explicit CallGuard(Communicator& communicator) : operations_(communicator.requests().operations()) {
    auto lock = operations_.engine().enter();
    operations_.blockedCalls().enter();
  }
  ~CallGuard() {
    auto lock = operations_.engine().enter();
    operations_.blockedCalls().leave(lock);
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  OperationTable& operations_;
};

/// Makes a guard of the call of `operation`, whose communicator has this lifetime. False: the communicator does not
/// exist any more.
inline bool enterCall(Lifetime& lifetime, const Operation& operation, std::optional<CallGuard>& guard) {
  return lifetime.whileItLasts([&] { guard.emplace(Communicator::of(operation)); });
}

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_CALL_GUARD_H_

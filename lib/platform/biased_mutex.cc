#include "platform/biased_mutex.h"

#include <sched.h>

#include "platform/fence.h"
#include "platform/relax.h"

namespace goss::platform {

namespace {

/// So many turns in a row make a thread the owner. Suspending an owner costs as much as a hundred turns of a
/// std::mutex.
constexpr int kTurnsToOwn = 32;
constexpr int kLooksBeforeSleep = 100;

} // namespace

BiasedMutex::BiasedMutex() : fenced_(joinOwnFences()) {}

BiasedMutex::~BiasedMutex() {
  while (leaving_.load(std::memory_order_acquire))
    ::sched_yield();
}

// Called with mutex_ held. If the system refused the fence, which it does not once joined, the owner could be inside
// unseen.
void BiasedMutex::suspendOwner() {
  if (active_owner_.load(std::memory_order_relaxed) == 0) return;
  active_owner_.store(0, std::memory_order_seq_cst);
  while (!fenceOwn())
    relaxProcessor();
}

void BiasedMutex::renounce() {
  helper_ = thisThread();
  turns_ = 0;
}

void BiasedMutex::count() {
  const ThreadId self = thisThread();
  turns_ = last_ == self && self != helper_ ? turns_ + 1 : 0;
  last_ = self;
  if (!fenced_ || turns_ < kTurnsToOwn) return;
  turns_ = 0;
  if (owner_ == 0) owner_ = self;
  if (owner_ == self) active_owner_.store(self, std::memory_order_relaxed);
}

// A waiter that has just announced itself must see that the owner is not inside: hence the read-modify-write.
void BiasedMutex::wakeWaiter() {
  inside_.exchange(0, std::memory_order_seq_cst);
  inside_.notify_all();
}

void BiasedMutex::lockSlowly() {
  mutex_.lock();
  suspendOwner();
  for (int look = 0; inside_.load(std::memory_order_acquire) != 0; ++look) {
    if (look < kLooksBeforeSleep) {
      relaxProcessor();
    } else {
      inside_.wait(1, std::memory_order_acquire);
    }
  }
  count();
}

bool BiasedMutex::tryLockSlowly() {
  if (!mutex_.try_lock()) return false;
  suspendOwner();
  if (inside_.load(std::memory_order_acquire) != 0) {
    mutex_.unlock();
    return false;
  }
  count();
  return true;
}

} // namespace goss::platform

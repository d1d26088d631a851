#include "engine/progress_thread.h"

#include <pthread.h>
#include <signal.h>

#include "engine/engine.h"

namespace goss {

namespace {

/// How long a probe may wait for its answer when no thread drives the loop.
constexpr int kIdleMs = 50;

/// The library must not handle the application's signals, and a thread inherits the signal mask of its creator. The
/// creator's mask is restored, also when no thread can be made.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

} // namespace

ProgressThread::ProgressThread(Engine& engine) : engine_(engine) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] {
    auto lock = engine_.enterAsHelper();
    while (!engine_.stopped())
      engine_.driveIdle(lock, kIdleMs);
  });
  pthread_setname_np(thread_.native_handle(), "goss-progress");
}

ProgressThread::~ProgressThread() {
  {
    auto lock = engine_.enter();
    engine_.stop(lock);
  }
  thread_.join();
}

} // namespace goss

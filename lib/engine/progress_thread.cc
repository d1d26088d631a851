#include "engine/progress_thread.h"

#include <pthread.h>
#include <signal.h>

#include "engine/engine.h"

namespace goss {

namespace {

/// How long a probe may wait for its answer when nobody drives the loop.
constexpr int kIdleMs = 50;

/// The application's signals are not ours to handle: a thread inherits the mask of its maker. The maker gets its own
/// back, also when no thread can be made.
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

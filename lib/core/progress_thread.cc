#include "core/progress_thread.h"

#include <pthread.h>
#include <signal.h>

#include "core/engine.h"

namespace goss::core {

namespace {

/// How long a probe may wait for its answer when nobody drives the loop.
constexpr int kIdleMs = 50;

} // namespace

ProgressThread::ProgressThread(Engine& engine) : engine_(engine) {
  // The application's signals are not ours to handle.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] {
    auto lock = engine_.enter();
    while (!engine_.stopped())
      engine_.driveIdle(lock, kIdleMs);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread_.native_handle(), "goss-progress");
}

ProgressThread::~ProgressThread() {
  {
    auto lock = engine_.enter();
    engine_.stop(lock);
  }
  thread_.join();
}

} // namespace goss::core

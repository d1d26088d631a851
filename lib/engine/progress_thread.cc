#include "engine/progress_thread.h"

#include "engine/engine.h"
#include "platform/signals.h"

namespace goss {

namespace {

/// How long a probe may wait for its answer when no thread drives the loop.
constexpr int kIdleMs = 50;

} // namespace

ProgressThread::ProgressThread(Engine& engine) : engine_(engine) {
  const platform::SignalsBlocked blocked;
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

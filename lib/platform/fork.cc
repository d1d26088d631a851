#include "platform/fork.h"

#include <pthread.h>

namespace goss::platform {

std::atomic<std::uint32_t> ProcessMark::generation_{0};

ProcessMark::ProcessMark() {
  // The child has one thread, and its handler runs before fork() returns there. vfork() and posix_spawn() run no
  // handlers, but their children call exec().
  static const int watched = ::pthread_atfork(nullptr, nullptr, [] { generation_.fetch_add(1); });
  (void)watched;
  made_in_ = generation_.load(std::memory_order_relaxed);
}

} // namespace goss::platform

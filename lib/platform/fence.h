/// What a thread needs beside std::atomic to wait for memory that another one writes.
#ifndef GOSS_LIB_PLATFORM_FENCE_H_
#define GOSS_LIB_PLATFORM_FENCE_H_

#include <atomic>

namespace goss::platform {

/// Orders all memory accesses before it before all after it.
inline void fullFence() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences. It needs this one for nothing: only atomics are accessed around it.
  std::atomic<int> own{0};
  own.exchange(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Tells the processor that this thread looks at the same memory over and over.
inline void relaxProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FENCE_H_

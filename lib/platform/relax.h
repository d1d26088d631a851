/// A hint to the processor in a spinning thread.
#ifndef GOSS_LIB_PLATFORM_RELAX_H_
#define GOSS_LIB_PLATFORM_RELAX_H_

namespace goss::platform {

/// Tells the processor that this thread polls the same memory over and over.
inline void relaxProcessor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_RELAX_H_

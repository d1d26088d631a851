/// Distinguishes objects that fork() has copied into a child from those that this process has made.
#ifndef GOSS_LIB_PLATFORM_FORK_H_
#define GOSS_LIB_PLATFORM_FORK_H_

#include <atomic>
#include <cstdint>

namespace goss::platform {

/// Remembers the process in which it was constructed. Thread-safe.
class ProcessMark {
 public:
  ProcessMark();
  /// Whether this process is a forked child of the process that constructed the mark. A child has copies of objects
  /// that the parent's threads, sockets and shared memory serve: using or freeing these would act in the parent's name.
  /// Costs a load and a comparison.
  [[nodiscard]] bool isInherited() const { return made_in_ != generation_.load(std::memory_order_relaxed); }

 private:
  /// Number of forks between the first process that made a mark and this one. fork() passes no argument to its
  /// handlers, so the count must be static.
  static std::atomic<std::uint32_t> generation_;

  std::uint32_t made_in_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FORK_H_

/// Tells objects that fork() has copied into a child from those that this process has made.
#ifndef GOSS_LIB_PLATFORM_FORK_H_
#define GOSS_LIB_PLATFORM_FORK_H_

#include <atomic>
#include <cstdint>

namespace goss::platform {

/// Remembers the process that made it. Thread-safe.
class ProcessMark {
 public:
  ProcessMark();
  /// Whether fork() has made this process since. A child has copies of what its parent's threads, sockets and shared
  /// memory serve: to use or free these would be to act for the parent. Costs a load and a comparison.
  [[nodiscard]] bool isInherited() const { return made_in_ != generation_.load(std::memory_order_relaxed); }

 private:
  /// How many forks lie between the first process that made a mark and this one. fork() hands its handlers nothing, so
  /// the count has no other place.
  static std::atomic<std::uint32_t> generation_;

  std::uint32_t made_in_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FORK_H_

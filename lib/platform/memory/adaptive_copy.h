/// Copies to memory that another processor reads next.
#ifndef GOSS_LIB_PLATFORM_MEMORY_ADAPTIVE_COPY_H_
#define GOSS_LIB_PLATFORM_MEMORY_ADAPTIVE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace goss::platform {

/// As memcpy, with stores through the caches of this processor or past them (copyStreaming()), whichever measures
/// faster.
///
/// Stores that go through the caches first fetch each line from the processor that read it last. Where the two share a
/// cache that is quick, and the reader then finds the bytes there. Where they do not (two dies of a package, two
/// packages) it takes a quarter of a microsecond a line and few lines at a time: 2 GB/s on a Zen 4 whose cores were 250
/// ns apart, 39 past the caches, while the reader takes 13 to 15 either way. Which case applies can change: processes
/// move, and so do the processors of a virtual machine. So both ways are tried now and then, on the bytes to be copied.
///
/// One object for each destination that is written repeatedly. One thread at a time.
class AdaptiveCopy {
 public:
  /// Shorter copies always go through the caches.
  static constexpr std::size_t kMinBytes = 4096;

  /// Ordered as memcpy is, before a later store with release order. The ranges do not overlap; neither is null unless
  /// `bytes` is 0.
  void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes >= kMinBytes) {
      copyLong(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    } else if (bytes > 0) {
      std::memcpy(to, from, bytes);
    }
  }

  [[nodiscard]] bool pastCaches() const { return past_; }
  /// Records a trial: the times of equal copies through and past the caches. Copies go past the caches when at least
  /// three of the last eight trials show a gain, and through the caches again when at most one does. Single trials
  /// mislead: another program may take the processor in the middle of a trial, and half of the lines that were last
  /// stored through the caches may arrive quickly while the others do not.
  void saw(double through_s, double past_s);

 private:
  void copyLong(std::byte* to, const std::byte* from, std::size_t bytes);
  void tryBoth(std::byte* to, const std::byte* from);

  bool past_ = false;
  /// The next trial copies past the caches first, because the first copy waits for its source longer.
  bool past_first_ = false;
  std::uint8_t gains_ = 0; ///< A bit for each of the last trials: copying past the caches was faster.
  std::size_t untried_bytes_ = 0;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_MEMORY_ADAPTIVE_COPY_H_

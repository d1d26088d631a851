/// Measures how long short operations take, without reading the clock for each.
#ifndef GOSS_LIB_ENGINE_SAMPLED_DURATION_H_
#define GOSS_LIB_ENGINE_SAMPLED_DURATION_H_

#include <chrono>
#include <cstdint>

#include "platform/clock.h"

namespace goss {

/// Times every sixteenth operation; the others count as long as the last one that was timed. Reading the clock twice
/// takes a fifth of the smallest collective, and more than all else of a short message. Not thread-safe.
class SampledDuration {
 public:
  /// Whether the next operation is to be timed.
  [[nodiscard]] bool isDue() const { return count_ % kTimedOf == 0; }
  /// Start time of the next operation; zero: it is not timed.
  [[nodiscard]] platform::Clock::time_point begin() const {
    return isDue() ? platform::Clock::now() : platform::Clock::time_point{};
  }
  /// The operation that began at `begun` is over. Returns the duration that it counts.
  std::chrono::nanoseconds end(platform::Clock::time_point begun) {
    ++count_;
    if (begun != platform::Clock::time_point{}) last_ = platform::Clock::now() - begun;
    return last_;
  }
  /// The next operation will not call end().
  void skip() { ++count_; }
  /// Sets the duration that was measured elsewhere.
  void set(std::chrono::nanoseconds took) { last_ = took; }
  /// The duration that an operation counts if it is not timed.
  [[nodiscard]] std::chrono::nanoseconds last() const { return last_; }

 private:
  static constexpr std::uint64_t kTimedOf = 16;
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds last_{0};
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_SAMPLED_DURATION_H_

/// Monotonic time and deadlines.
#ifndef GOSS_LIB_PLATFORM_CLOCK_H_
#define GOSS_LIB_PLATFORM_CLOCK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace goss::platform {

using Clock = std::chrono::steady_clock;

/// Clock::now() as the system updated it last: up to kRoughClock late, for a quarter of the price.
Clock::time_point roughNow();
/// A tick of the slowest timer that Linux is built with.
inline constexpr std::chrono::milliseconds kRoughClock(10);

/// A point in time at which waiting ends. A value; safe to copy and share.
class Deadline {
 public:
  /// Never expires.
  Deadline() = default;
  explicit Deadline(Clock::time_point at) : at_(at) {}
  /// A negative span has expired already; a span that the clock cannot represent never expires.
  static Deadline after(std::chrono::milliseconds span) {
    const Clock::time_point now = Clock::now();
    if (span > std::chrono::duration_cast<std::chrono::milliseconds>(Clock::time_point::max() - now)) return {};
    return Deadline(now + span);
  }

  [[nodiscard]] bool never() const { return at_ == Clock::time_point::max(); }
  [[nodiscard]] Clock::time_point at() const { return at_; }
  [[nodiscard]] bool expired(Clock::time_point now = Clock::now()) const { return !never() && now >= at_; }
  /// Milliseconds left, rounded up so that a poll of that length does not end early; 0 when expired.
  [[nodiscard]] std::int64_t leftMs(Clock::time_point now = Clock::now()) const {
    if (never()) return std::numeric_limits<std::int64_t>::max();
    if (now >= at_) return 0;
    return std::chrono::ceil<std::chrono::milliseconds>(at_ - now).count();
  }
  /// The timeout for poll() and epoll_wait(); -1 when the deadline never expires.
  [[nodiscard]] int pollMs(Clock::time_point now = Clock::now()) const {
    if (never()) return -1;
    return static_cast<int>(std::min<std::int64_t>(leftMs(now), std::numeric_limits<int>::max()));
  }
  friend Deadline earlier(Deadline a, Deadline b) { return a.at_ < b.at_ ? a : b; }

 private:
  Clock::time_point at_ = Clock::time_point::max();
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_CLOCK_H_

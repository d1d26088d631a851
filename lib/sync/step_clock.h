/// How long the steps of a period took this rank.
#ifndef GOSS_LIB_SYNC_STEP_CLOCK_H_
#define GOSS_LIB_SYNC_STEP_CLOCK_H_

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/wire.h"

namespace goss::sync {

/// The caller tells how long a step took; else it is the time between two calls of goss_sync_step. One thread.
class StepClock {
 public:
  /// The caller measures the current step, or makes its time up.
  void tell(double seconds) { told_ = seconds; }
  /// The caller has asked whether it computes the current step.
  void ask() { is_asked_ = true; }
  [[nodiscard]] bool isAsked() const { return is_asked_; }
  /// The current step is over; `counts`: this rank computed it.
  void end(bool counts) {
    if (counts) {
      seconds_ += told_.value_or(std::chrono::duration<double>(Clock::now() - since_).count());
      ++steps_;
    }
    told_.reset();
    is_asked_ = false;
  }
  /// From here to end() this rank waits for no other.
  void begin() { since_ = Clock::now(); }
  /// Seconds of a step, averaged over the period, above 0; the next period begins.
  double takeMean() {
    constexpr double kShortest = 1e-9; // for a step too short for the clock
    constexpr double kLongest = 1e9;   // sums of times that were made up may be infinite
    const double mean = steps_ == 0 ? 0 : seconds_ / static_cast<double>(steps_);
    seconds_ = 0;
    steps_ = 0;
    return mean > kShortest ? std::min(mean, kLongest) : kShortest;
  }

  void save(base::WireWriter& writer) const { writer.integer(std::bit_cast<std::uint64_t>(seconds_)).integer(steps_); }
  void load(base::WireReader& reader) {
    seconds_ = std::bit_cast<double>(reader.integer<std::uint64_t>());
    steps_ = reader.integer<std::uint64_t>();
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<double> told_;
  bool is_asked_ = false;
  Clock::time_point since_;
  double seconds_ = 0;
  std::uint64_t steps_ = 0;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_STEP_CLOCK_H_

/// A descriptor that becomes readable at regular intervals.
#ifndef GOSS_LIB_PLATFORM_TIMER_H_
#define GOSS_LIB_PLATFORM_TIMER_H_

#include <chrono>

#include "gossamer/status.h"
#include "platform/fd.h"

namespace goss::platform {

/// Stopped after construction. One thread.
class Ticker {
 public:
  static Result<Ticker> create();
  void start(std::chrono::milliseconds interval);
  void stop();
  [[nodiscard]] bool running() const { return running_; }
  /// Makes the descriptor unreadable until the next tick; returns whether there was one.
  bool drain() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Ticker(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
  bool running_ = false;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_TIMER_H_

#include "platform/timer.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>

namespace goss::platform {

namespace {

void set(int fd, std::chrono::milliseconds interval) {
  timespec span{};
  span.tv_sec = static_cast<time_t>(interval.count() / 1000);
  span.tv_nsec = static_cast<long>(interval.count() % 1000) * 1'000'000;
  const itimerspec times{span, span};
  ::timerfd_settime(fd, 0, &times, nullptr);
}

} // namespace

Result<Ticker> Ticker::create() {
  UniqueFd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd.valid())
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot make a timer descriptor: {}", errnoText(errno)));
  return Ticker(std::move(fd));
}

void Ticker::start(std::chrono::milliseconds interval) {
  set(fd_.get(), interval);
  running_ = true;
}

void Ticker::stop() {
  set(fd_.get(), std::chrono::milliseconds(0));
  running_ = false;
}

bool Ticker::drain() const {
  std::uint64_t ticks = 0;
  return ::read(fd_.get(), &ticks, sizeof ticks) == sizeof ticks;
}

} // namespace goss::platform

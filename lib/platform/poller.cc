#include "platform/poller.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

namespace goss::platform {

namespace {

constexpr int kEventsPerWait = 64;

Status control(int poller, int operation, int fd, epoll_event event) {
  if (::epoll_ctl(poller, operation, fd, &event) == 0) return Status::ok();
  return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot watch descriptor {}: {}", fd, errnoText(errno)));
}

epoll_event interest(bool read, bool write, std::uint64_t token) {
  epoll_event event{};
  event.events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u);
  event.data.u64 = token;
  return event;
}

} // namespace

Result<Poller> Poller::create() {
  UniqueFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd.valid())
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot make an epoll descriptor: {}", errnoText(errno)));
  return Poller(std::move(fd));
}

Status Poller::add(int fd, bool read, bool write, std::uint64_t token) {
  return control(fd_.get(), EPOLL_CTL_ADD, fd, interest(read, write, token));
}

Status Poller::change(int fd, bool read, bool write, std::uint64_t token) {
  return control(fd_.get(), EPOLL_CTL_MOD, fd, interest(read, write, token));
}

void Poller::remove(int fd) { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

const std::vector<PollEvent>& Poller::wait(int timeout_ms) {
  std::array<epoll_event, kEventsPerWait> due;
  const int count = ::epoll_wait(fd_.get(), due.data(), kEventsPerWait, timeout_ms);
  events_.clear();
  for (int i = 0; i < count; ++i) {
    const std::uint32_t bits = due[static_cast<std::size_t>(i)].events;
    events_.push_back({due[static_cast<std::size_t>(i)].data.u64, (bits & EPOLLIN) != 0, (bits & EPOLLOUT) != 0,
                       (bits & (EPOLLERR | EPOLLHUP)) != 0});
  }
  return events_;
}

Result<Wakeup> Wakeup::create() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid())
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot make an event descriptor: {}", errnoText(errno)));
  return Wakeup(std::move(fd));
}

void Wakeup::notify() const {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

bool Wakeup::drain() const {
  std::uint64_t count = 0;
  return ::read(fd_.get(), &count, sizeof count) == sizeof count;
}

} // namespace goss::platform

/// Waits for events of many descriptors; wakes a waiter from another thread.
#ifndef GOSS_LIB_PLATFORM_POLLER_H_
#define GOSS_LIB_PLATFORM_POLLER_H_

#include <cstdint>
#include <vector>

#include "gossamer/status.h"
#include "platform/fd.h"

namespace goss::platform {

struct PollEvent {
  std::uint64_t token = 0;
  bool readable = false; ///< There are bytes, an end of stream, or a new connection.
  bool writable = false;
  bool broken = false; ///< An error or a hang-up: the next read or write tells which.
};

/// Level-triggered. One thread at a time. fd() is itself pollable: readable when wait() would return events.
class Poller {
 public:
  static Result<Poller> create();

  /// Errors: resource. `token` comes back in the events.
  Status add(int fd, bool read, bool write, std::uint64_t token);
  Status change(int fd, bool read, bool write, std::uint64_t token);
  void remove(int fd);

  /// Returns the events that are due, waiting up to `timeout_ms` (-1: for ever) for the first. The reference holds
  /// until the next call.
  const std::vector<PollEvent>& wait(int timeout_ms);
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Poller(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
  std::vector<PollEvent> events_;
};

/// A descriptor that one thread makes readable for another. notify() is safe from any thread.
class Wakeup {
 public:
  static Result<Wakeup> create();
  void notify() const;
  /// Makes the descriptor unreadable again; returns whether there was a notification.
  bool drain() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Wakeup(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_POLLER_H_

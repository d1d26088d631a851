/// A socket that listens and is watched by a poller, also when there are no descriptors left.
#ifndef GOSS_LIB_PLATFORM_LISTENING_SOCKET_H_
#define GOSS_LIB_PLATFORM_LISTENING_SOCKET_H_

#include <cstdint>
#include <optional>

#include "platform/clock.h"
#include "platform/fd.h"
#include "platform/poller.h"
#include "platform/socket.h"

namespace goss::platform {

/// A caller that cannot be accepted for want of a descriptor stays in the queue and keeps the socket readable, so that
/// a poller would return immediately, for ever. It is accepted with a descriptor that is kept for this and hung up on;
/// where that one is gone too, the poller does not watch the socket for kRestMs. One thread.
class ListeningSocket {
 public:
  /// `fd` listens. `poller`, which outlives this, tells its callers as `token`. Errors: resource.
  static Result<ListeningSocket> create(UniqueFd fd, Poller& poller, std::uint64_t token);

  /// The next waiting caller; an invalid descriptor when none waits, or while this rests. Errors: resource: a caller
  /// was hung up on, or this rests now. The next call goes on.
  Result<Accepted> accept();
  /// Watches the socket again when the time of the rest is over.
  void tick();
  /// When the rest is over; never() when this does not rest.
  [[nodiscard]] Deadline restsUntil() const { return rest_; }
  [[nodiscard]] int get() const { return fd_.get(); }

 private:
  ListeningSocket(UniqueFd fd, Poller& poller, std::uint64_t token);
  enum class Waiting { unknown, nobody, hungUp };
  /// Accepts the first waiting caller with the spare descriptor and closes the connection.
  Waiting hangUp();
  void rest();

  static constexpr std::int64_t kRestMs = 100;

  UniqueFd fd_;
  UniqueFd spare_;
  Poller* poller_;
  std::uint64_t token_;
  Deadline rest_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_LISTENING_SOCKET_H_

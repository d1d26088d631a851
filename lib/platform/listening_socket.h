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
/// a poller would return immediately, for ever. This class accepts it with a spare descriptor and hangs up; where the
/// spare descriptor is gone too, the poller does not watch the socket for kRestMs. One thread.
class ListeningSocket {
 public:
  /// `fd` listens. `poller`, which outlives this object, reports callers with `token`. Errors: resource.
  static Result<ListeningSocket> create(UniqueFd fd, Poller& poller, std::uint64_t token);

  /// Accepts the next waiting caller; returns an invalid descriptor when none waits, or while the socket rests. Errors:
  /// resource: a caller was hung up on, or the socket rests now. The next call continues.
  Result<Accepted> accept();
  /// Watches the socket again when the rest is over.
  void tick();
  /// End of the rest; never() when the socket does not rest.
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

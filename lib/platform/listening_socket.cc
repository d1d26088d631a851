#include "platform/listening_socket.h"

#include <fcntl.h>

#include <utility>

namespace goss::platform {

namespace {

UniqueFd takeSpare() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

} // namespace

ListeningSocket::ListeningSocket(UniqueFd fd, Poller& poller, std::uint64_t token)
    : fd_(std::move(fd)), spare_(takeSpare()), poller_(&poller), token_(token) {}

Result<ListeningSocket> ListeningSocket::create(UniqueFd fd, Poller& poller, std::uint64_t token) {
  Status watched = poller.add(fd.get(), true, false, token);
  if (!watched.isOk()) return watched;
  return ListeningSocket(std::move(fd), poller, token);
}

Result<Accepted> ListeningSocket::accept() {
  if (!rest_.never()) return Accepted{};
  Result<Accepted> accepted = acceptFrom(fd_.get());
  if (accepted.isOk()) {
    if (!spare_.valid()) spare_ = takeSpare();
    return accepted;
  }
  // Without a descriptor for a caller the system does not even check whether there is a caller.
  Waiting waiting = Waiting::unknown;
  if (spare_.valid()) waiting = hangUp();
  if (waiting == Waiting::nobody) return Accepted{};
  if (waiting == Waiting::unknown) rest();
  return accepted;
}

ListeningSocket::Waiting ListeningSocket::hangUp() {
  spare_.reset();
  Waiting waiting = Waiting::unknown;
  if (const Result<Accepted> last = acceptFrom(fd_.get()); last.isOk())
    waiting = last.value().fd.valid() ? Waiting::hungUp : Waiting::nobody;
  // Another thread may have taken the descriptor in between.
  spare_ = takeSpare();
  return waiting;
}

void ListeningSocket::rest() {
  [[maybe_unused]] const Status quiet = poller_->change(fd_.get(), false, false, token_);
  rest_ = Deadline::after(std::chrono::milliseconds(kRestMs));
}

void ListeningSocket::tick() {
  if (!rest_.expired()) return;
  rest_ = Deadline();
  [[maybe_unused]] const Status watched = poller_->change(fd_.get(), true, false, token_);
}

} // namespace goss::platform

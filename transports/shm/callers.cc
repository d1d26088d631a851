#include "transports/shm/callers.h"

#include <algorithm>
#include <utility>

namespace goss::transports::shm {

namespace {

// Other processes may connect and send nothing, so that the oldest caller without a hello is dropped when there are too
// many. That is no rank: a rank sends its hello at once.
constexpr std::size_t kMaxWaiting = 256;

} // namespace

Callers::Callers(const TransportContext& context, platform::Poller& poller, std::uint64_t listener_token,
                 std::uint64_t caller_tokens, Handler handler)
    : context_(context),
      poller_(poller),
      listener_token_(listener_token),
      caller_tokens_(caller_tokens),
      handler_(std::move(handler)) {}

Status Callers::listen(const std::string& name) {
  Result<platform::UniqueFd> socket = listenAt(name);
  if (!socket.isOk()) return socket.status();
  Result<platform::ListeningSocket> watched =
      platform::ListeningSocket::create(socket.take(), poller_, listener_token_);
  if (!watched.isOk()) return watched.status();
  listener_.emplace(watched.take());
  return Status::ok();
}

void Callers::accept() {
  for (;;) {
    Result<platform::Accepted> accepted = listener_->accept();
    if (!accepted.isOk()) continue; // No descriptor is left for this caller.
    platform::UniqueFd fd = std::move(accepted.value().fd);
    if (!fd.valid()) return;
    if (waiting_.size() == kMaxWaiting) {
      poller_.remove(waiting_.front().get());
      waiting_.erase(waiting_.begin());
    }
    const int number = fd.get();
    waiting_.push_back(std::move(fd));
    if (awaitsMore(number) &&
        !poller_.add(number, true, false, caller_tokens_ + static_cast<std::uint64_t>(number)).isOk())
      std::erase_if(waiting_, [&](const platform::UniqueFd& caller) { return caller.get() == number; });
  }
}

void Callers::read(int fd) { static_cast<void>(awaitsMore(fd)); }

// Reads the hello of an accepted socket. Returns whether the socket waits for more of it.
bool Callers::awaitsMore(int fd) {
  const auto at =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& caller) { return caller.get() == fd; });
  if (at == waiting_.end()) return false;
  Hello hello;
  const HelloResult result = readHello(fd, context_, hello);
  if (result == HelloResult::again) return true;
  platform::UniqueFd socket = std::move(*at);
  waiting_.erase(at);
  poller_.remove(fd);
  if (result == HelloResult::good) handler_(std::move(socket), std::move(hello));
  return false;
}

} // namespace goss::transports::shm

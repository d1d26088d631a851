/// A pair of connected sockets, for programs that measure what plain sockets reach.
#ifndef GOSS_BENCH_CONNECTED_PAIR_H_
#define GOSS_BENCH_CONNECTED_PAIR_H_

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace goss::bench {

/// Two connected non-blocking ends over 127.0.0.1, which the caller closes. Throws std::runtime_error.
inline std::pair<int, int> connectedPair() {
  const auto require = [](bool good, const char* what) {
    if (!good) throw std::runtime_error(what);
  };
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  require(::bind(listener, generic, length) == 0 && ::listen(listener, 1) == 0, "listening on 127.0.0.1 failed");
  ::getsockname(listener, generic, &length);
  const int caller = ::socket(AF_INET, SOCK_STREAM, 0);
  require(::connect(caller, generic, length) == 0, "connecting to 127.0.0.1 failed");
  const int called = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  for (const int fd : {caller, called}) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5); // The fastest choice where no packets are lost.
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return {caller, called};
}

} // namespace goss::bench

#endif // GOSS_BENCH_CONNECTED_PAIR_H_

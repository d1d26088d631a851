/// TCP ports of loopback that nobody uses at the moment, below those that the kernel gives out by itself: what runs
/// beside a test does not get them before it does.
#ifndef GOSS_TESTS_SUPPORT_FREE_PORT_H_
#define GOSS_TESTS_SUPPORT_FREE_PORT_H_

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace goss::test {

inline bool isFreePort(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return free;
}

/// The lowest of `count` neighbouring ports.
inline std::uint16_t freePorts(int count) {
  int first = 20000 + getpid() % 10000;
  for (int free = 0; free < count; ++free) {
    if (isFreePort(first + free)) continue;
    first += free + 1;
    free = -1;
  }
  return static_cast<std::uint16_t>(first);
}

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_FREE_PORT_H_

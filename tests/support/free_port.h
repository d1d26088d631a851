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

/// The lowest of `count` neighbouring ports. Tests that run at the same time have neighbouring process numbers, so each
/// number has some ports of its own to begin at, and each call of a process begins behind the last.
inline std::uint16_t freePorts(int count) {
  constexpr int kOfAProcess = 16;
  static int next = 20000 + getpid() % 700 * kOfAProcess;
  if (next > 32000) next = 20000;
  int first = next;
  for (int free = 0; free < count; ++free) {
    if (isFreePort(first + free)) continue;
    first += free + 1;
    free = -1;
  }
  next = first + count;
  return static_cast<std::uint16_t>(first);
}

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_FREE_PORT_H_

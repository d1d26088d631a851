/// A TCP port of loopback that nobody uses at the moment.
#ifndef GOSS_TESTS_FAULTS_FREE_PORT_H_
#define GOSS_TESTS_FAULTS_FREE_PORT_H_

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace goss::test {

inline int freePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

} // namespace goss::test

#endif // GOSS_TESTS_FAULTS_FREE_PORT_H_

/// Tests in which sockets listen.
#ifndef GOSS_TESTS_LIB_PLATFORM_LISTENING_H_
#define GOSS_TESTS_LIB_PLATFORM_LISTENING_H_

#include <sys/socket.h>

namespace goss::test {

/// Whether `fd` is a socket that listens.
inline bool isListening(int fd) {
  int listening = 0;
  socklen_t length = sizeof listening;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0;
}

} // namespace goss::test

#endif // GOSS_TESTS_LIB_PLATFORM_LISTENING_H_

// How processes of a host find each other.
#include "transports/shm/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace goss::transports {
namespace {

TEST(ShmDial, RefusesAListenerOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as another user";
  const std::string name = "gossamer-test-" + std::to_string(::getpid());
  int ready[2];
  int done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  char byte = 0;
  if (child == 0) {
    ::close(done[1]);
    constexpr uid_t kNobody = 65534;
    const bool is_other = ::setuid(kNobody) == 0;
    const auto listener = shm::listenAt(name);
    if (!is_other || !listener.isOk()) ::_exit(1); // The parent reads the end of the pipe.
    [[maybe_unused]] ssize_t moved = ::write(ready[1], "r", 1);
    moved = ::read(done[0], &byte, 1);
    ::_exit(0);
  }
  ::close(ready[1]);
  ::close(done[0]);
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  const auto socket = shm::dial(name, 1);
  EXPECT_FALSE(socket.isOk());
  EXPECT_EQ(socket.status().kind(), GOSS_ERR_PEER_LOST);
  EXPECT_NE(socket.status().text().find("another user"), std::string::npos) << socket.status().text();
  ::close(ready[0]);
  ::close(done[1]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

} // namespace
} // namespace goss::transports

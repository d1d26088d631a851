#include "platform/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>

#include "platform/host.h"

namespace goss::platform {
namespace {

using ::testing::StartsWith;

/// What `write` returns in a child that stays until `meanwhile` has returned.
template <typename Meanwhile>
std::string inChild(std::string (*write)(), Meanwhile meanwhile) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = write();
    if (::write(pipe[1], text.data(), text.size()) < 0) ::_exit(1);
    ::close(pipe[1]);
    ::pause();
  }
  ::close(pipe[1]);
  std::string text(1024, '\0');
  std::size_t length = 0;
  for (ssize_t got = 1; got > 0; length += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
    got = ::read(pipe[0], text.data() + length, text.size() - length);
  ::close(pipe[0]);
  text.resize(length);
  meanwhile(text, child);
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return text;
}

std::string tokenOrNone() { return processToken().isOk() ? processToken().value() : std::string(); }
std::string nameOrNone() { return ownProcessName().isOk() ? ownProcessName().value() : std::string(); }

TEST(Process, HasATokenThatItsThreadsShareAndNoChildHas) {
  const std::string own = tokenOrNone();
  ASSERT_EQ(own.size(), 16U);
  std::string of_thread;
  std::thread([&] { of_thread = tokenOrNone(); }).join();
  EXPECT_EQ(of_thread, own);
  const auto nothing = [](const std::string&, pid_t) {};
  const std::string one = inChild(tokenOrNone, nothing);
  const std::string other = inChild(tokenOrNone, nothing);
  ASSERT_EQ(one.size(), 16U);
  EXPECT_NE(one, own);
  EXPECT_NE(one, other);
  EXPECT_EQ(tokenOrNone(), own);
}

TEST(Process, IsFoundByItsNameWhileItRuns) {
  EXPECT_EQ(findProcess(nameOrNone()), processId());
  EXPECT_TRUE(isSeenToRun(nameOrNone()));
  const std::string name = inChild(nameOrNone, [](const std::string& running, pid_t child) {
    EXPECT_THAT(running, StartsWith(hostIdentity().text() + "/"));
    EXPECT_EQ(findProcess(running), child);
    EXPECT_TRUE(isSeenToRun(running));
    // Another process namespace may have a process of this id and start time.
    std::string elsewhere = running;
    elsewhere.insert(hostIdentity().text().size() + 1, "1");
    EXPECT_EQ(findProcess(elsewhere), 0);
    EXPECT_FALSE(isSeenToRun(elsewhere));
    EXPECT_EQ(findProcess('x' + running), 0);
  });
  EXPECT_EQ(findProcess(name), 0);
  EXPECT_FALSE(isSeenToRun(name));
  for (const char* text : {"", "/", "///", "1/2", "a/1/2/3/4/5/6"})
    EXPECT_EQ(findProcess(text), 0) << text;
}

} // namespace
} // namespace goss::platform

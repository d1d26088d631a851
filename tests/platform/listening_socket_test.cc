#include "platform/listening_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "platform/stream.h"
#include "tests/platform/descriptor_limit.h"

namespace goss::platform {
namespace {

using ::testing::HasSubstr;

class Listening : public ::testing::Test {
 protected:
  Listening() : poller_(Poller::create().take()) {
    UniqueFd fd = listenOn(*SocketAddress::parse("127.0.0.1", 0), {}).take();
    at_ = *localAddress(fd.get());
    socket_.emplace(ListeningSocket::create(std::move(fd), poller_, 7).take());
  }
  UniqueFd call() {
    UniqueFd fd = dial(at_).take();
    EXPECT_TRUE(waitWritable(fd.get(), Deadline::after(std::chrono::seconds(5))));
    return fd;
  }
  [[nodiscard]] bool isReadable(int timeout_ms) { return !poller_.wait(timeout_ms).empty(); }

  Poller poller_;
  SocketAddress at_;
  std::optional<ListeningSocket> socket_;
};

TEST_F(Listening, CallersAreHungUpOnWithoutDescriptors) {
  const std::vector<UniqueFd> callers = [&] {
    std::vector<UniqueFd> made;
    for (int i = 0; i < 3; ++i)
      made.push_back(call());
    return made;
  }();
  ASSERT_TRUE(isReadable(5000));
  {
    const test::DescriptorLimit limit(0);
    for (std::size_t i = 0; i < callers.size(); ++i)
      EXPECT_THAT(socket_->accept().status().text(), HasSubstr("Too many open files"));
    EXPECT_FALSE(socket_->accept().value().fd.valid());
    EXPECT_FALSE(isReadable(0)) << "nobody is left for whom a poller would return at once, again and again";
  }
  for (const UniqueFd& caller : callers) {
    char byte = 0;
    EXPECT_TRUE(waitReadable(caller.get(), Deadline::after(std::chrono::seconds(5))));
    EXPECT_TRUE(readSome(caller.get(), &byte, 1).ended);
  }
  const UniqueFd later = call();
  ASSERT_TRUE(isReadable(5000));
  EXPECT_TRUE(socket_->accept().value().fd.valid());
}

TEST_F(Listening, RestsWhenThereIsNoDescriptorToHangUpWith) {
  const UniqueFd caller = call();
  std::optional<test::DescriptorLimit> limit(std::in_place, 0);
  // The spare one is taken by somebody else, as by another thread.
  socket_.reset();
  UniqueFd fd = listenOn(at_, {}).take();
  at_ = *localAddress(fd.get());
  UniqueFd last(::dup(fd.get()));
  socket_.emplace(ListeningSocket::create(std::move(fd), poller_, 7).take());
  limit.reset();
  const UniqueFd waiting = call();
  limit.emplace(0);
  ASSERT_TRUE(isReadable(5000));
  EXPECT_FALSE(socket_->accept().isOk());
  EXPECT_FALSE(socket_->restsUntil().never());
  EXPECT_FALSE(isReadable(0)) << "the caller waits, and the poller does not watch";
  EXPECT_FALSE(socket_->accept().value().fd.valid());
  limit.reset();
  while (!socket_->restsUntil().never())
    socket_->tick();
  ASSERT_TRUE(isReadable(5000));
  EXPECT_TRUE(socket_->accept().value().fd.valid());
}

} // namespace
} // namespace goss::platform

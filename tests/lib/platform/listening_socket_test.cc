#include "platform/listening_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "platform/stream.h"
#include "tests/lib/platform/descriptor_limit.h"

namespace goss::platform {
namespace {

using ::testing::HasSubstr;

/// Not a fixture: UBSan opens descriptors to inspect a fixture's type, and this test has none left.
class Listener {
 public:
  Listener() : poller_(Poller::create().take()) { listen(); }
  /// Begins anew where the descriptor that it would keep as a spare is taken by somebody else, as by another thread.
  void beginWithoutSpare() {
    socket_.reset();
    listen([&](int fd) { taken_ = UniqueFd(::dup(fd)); });
  }
  UniqueFd call() {
    UniqueFd fd = dial(at_).take();
    EXPECT_TRUE(waitWritable(fd.get(), Deadline::after(std::chrono::seconds(5))));
    return fd;
  }
  [[nodiscard]] bool isReadable(int timeout_ms) { return !poller_.wait(timeout_ms).empty(); }
  ListeningSocket& socket() { return *socket_; }

 private:
  void listen(const std::function<void(int)>& before_the_spare = [](int) {}) {
    UniqueFd fd = listenOn(at_, {}).take();
    at_ = *localAddress(fd.get());
    before_the_spare(fd.get());
    socket_.emplace(ListeningSocket::create(std::move(fd), poller_, 7).take());
  }

  Poller poller_;
  SocketAddress at_ = *SocketAddress::parse("127.0.0.1", 0);
  std::optional<ListeningSocket> socket_;
  UniqueFd taken_;
};

TEST(Listening, CallersAreHungUpOnWithoutDescriptors) {
  Listener listener;
  const std::vector<UniqueFd> callers = [&] {
    std::vector<UniqueFd> made;
    for (int i = 0; i < 3; ++i)
      made.push_back(listener.call());
    return made;
  }();
  ASSERT_TRUE(listener.isReadable(5000));
  {
    const test::DescriptorLimit limit(0);
    for (std::size_t i = 0; i < callers.size(); ++i)
      EXPECT_THAT(listener.socket().accept().status().text(), HasSubstr("Too many open files"));
    EXPECT_FALSE(listener.socket().accept().value().fd.valid());
    EXPECT_FALSE(listener.isReadable(0)) << "nobody is left for whom a poller would return at once, again and again";
  }
  for (const UniqueFd& caller : callers) {
    char byte = 0;
    EXPECT_TRUE(waitReadable(caller.get(), Deadline::after(std::chrono::seconds(5))));
    EXPECT_TRUE(readSome(caller.get(), &byte, 1).ended);
  }
  const UniqueFd later = listener.call();
  ASSERT_TRUE(listener.isReadable(5000));
  EXPECT_TRUE(listener.socket().accept().value().fd.valid());
}

TEST(Listening, RestsWhenThereIsNoDescriptorToHangUpWith) {
  Listener listener;
  const UniqueFd caller = listener.call();
  std::optional<test::DescriptorLimit> limit(std::in_place, 0);
  listener.beginWithoutSpare();
  limit.reset();
  const UniqueFd waiting = listener.call();
  limit.emplace(0);
  ASSERT_TRUE(listener.isReadable(5000));
  EXPECT_FALSE(listener.socket().accept().isOk());
  EXPECT_FALSE(listener.socket().restsUntil().never());
  EXPECT_FALSE(listener.isReadable(0)) << "the caller waits, and the poller does not watch";
  EXPECT_FALSE(listener.socket().accept().value().fd.valid());
  limit.reset();
  while (!listener.socket().restsUntil().never())
    listener.socket().tick();
  ASSERT_TRUE(listener.isReadable(5000));
  EXPECT_TRUE(listener.socket().accept().value().fd.valid());
}

} // namespace
} // namespace goss::platform

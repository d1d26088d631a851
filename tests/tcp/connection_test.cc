// How a connection's end is understood.
#include "transports/tcp/connection.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <utility>

#include "platform/fd.h"
#include "platform/poller.h"
#include "platform/socket.h"
#include "platform/stream.h"

namespace goss::test {
namespace {

using transports::tcp::Connection;

/// Two ends of a connection over loopback.
std::pair<platform::UniqueFd, platform::UniqueFd> connected() {
  platform::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any_port = *platform::SocketAddress::parse("127.0.0.1", 0);
  EXPECT_EQ(::bind(listener.get(), any_port.raw(), any_port.length()), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  auto one = platform::dial(*platform::localAddress(listener.get()));
  EXPECT_TRUE(one.isOk());
  platform::UniqueFd other(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(platform::waitWritable(one.value().get(), platform::Deadline::after(std::chrono::seconds(20))));
  return {one.take(), std::move(other)};
}

class TcpConnection : public ::testing::Test {
 protected:
  void SetUp() override {
    auto [here, there] = connected();
    there_ = std::move(there);
    auto poller = platform::Poller::create();
    ASSERT_TRUE(poller.isOk());
    poller_.emplace(poller.take());
    ASSERT_TRUE(connection_.openResumable(platform::Stream(std::move(here)), *poller_, 1, 0).isOk());
  }
  void expectLost() {
    EXPECT_TRUE(platform::waitReadable(connection_.fd(), platform::Deadline::after(std::chrono::seconds(20))));
    const std::string bytes(1000, 'x');
    connection_.write(bytes.data(), bytes.size());
    connection_.flush();
    EXPECT_TRUE(connection_.isLost());
  }

  platform::UniqueFd there_;
  std::optional<platform::Poller> poller_;
  Connection connection_;
};

// The write takes the reset's error off the socket, and a read finds an end of stream after that.
TEST_F(TcpConnection, AResetThatAWriteFindsIsNoOrderlyEnd) {
  platform::resetOnClose(there_.get());
  there_.reset();
  expectLost();
  EXPECT_FALSE(connection_.wasClosed()) << connection_.lostReason();
  EXPECT_EQ(connection_.lostReason(), platform::errnoText(ECONNRESET));
}

TEST_F(TcpConnection, AnOrderlyEndIsOneAlsoWhenItIsWrittenTo) {
  there_.reset();
  expectLost();
  connection_.flush();
  EXPECT_TRUE(connection_.wasClosed()) << connection_.lostReason();
}

} // namespace
} // namespace goss::test

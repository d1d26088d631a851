// How a connection's end is understood.
#include "transports/tcp/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "platform/fd.h"
#include "platform/poller.h"
#include "platform/socket.h"
#include "platform/stream.h"
#include "tests/support/connected_sockets.h"

namespace goss::test {
namespace {

using transports::tcp::Connection;

class TcpConnection : public ::testing::Test {
 protected:
  void SetUp() override {
    auto [here, there] = connectedSockets();
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

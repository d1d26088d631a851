// How a connection's end is understood.
#include "transports/tcp/link/connection.h"

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
    ASSERT_TRUE(connection_.openRecords(platform::Stream(std::move(here)), *poller_, 1, {}).isOk());
  }
  void expectLost() {
    EXPECT_TRUE(platform::waitReadable(connection_.fd(), platform::Deadline::after(std::chrono::seconds(20))));
    std::string bytes(1000, 'x');
    const iovec piece{bytes.data(), bytes.size()};
    connection_.write(std::span(&piece, 1));
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

/// Sends `connection` a record with a flipped bit, and returns what it reads then.
platform::StreamResult readsChanged(Connection& connection, int other) {
  using namespace transports::tcp;
  auto header = encodeRecordHeader({0, 0}, true);
  header[9] ^= 1;
  EXPECT_EQ(platform::writeSome(other, header.data(), header.size()).bytes, header.size());
  char room[10];
  EXPECT_TRUE(platform::waitReadable(connection.fd(), platform::Deadline::after(std::chrono::seconds(20))));
  connection.read(room, sizeof room);
  return connection.read(room, sizeof room);
}

TEST(TcpCheckedConnection, IsLostWhenBytesWereChanged) {
  auto poller = platform::Poller::create();
  for (const bool resumable : {false, true}) {
    Connection connection;
    auto [here, there] = connectedSockets();
    ASSERT_TRUE(
        connection.openRecords(platform::Stream(std::move(here)), poller.value(), 1, {true, resumable, 0}).isOk());
    EXPECT_EQ(readsChanged(connection, there.get()).ended, !resumable);
    EXPECT_EQ(connection.isLost(), resumable);
    EXPECT_EQ(connection.isOver(), !resumable);
    EXPECT_TRUE(connection.wasCorrupted());
    EXPECT_FALSE(connection.wasClosed());
    EXPECT_EQ(connection.lostReason(), "bytes from it were changed on their way: their CRC32C is wrong");
  }
}

// Something that changes all bytes does so on purpose, and resuming again and again would hang.
TEST(TcpCheckedConnection, IsGivenUpWhenAllBytesAreChanged) {
  auto poller = platform::Poller::create();
  Connection connection;
  auto [here, there] = connectedSockets();
  ASSERT_TRUE(connection.openRecords(platform::Stream(std::move(here)), poller.value(), 1, {true, true, 0}).isOk());
  std::uint32_t times = 0;
  for (; !connection.isOver(); ++times) {
    ASSERT_LT(times, 1000u);
    if (times > 0) {
      std::tie(here, there) = connectedSockets();
      ASSERT_TRUE(connection.resume(platform::Stream(std::move(here)), times).isOk());
    }
    readsChanged(connection, there.get());
  }
  EXPECT_GE(times, 10u);
}

} // namespace
} // namespace goss::test

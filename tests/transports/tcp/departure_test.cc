// What a peer completed before it left is delivered, however late the receives come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

class TcpDeparture : public ::testing::TestWithParam<int> {};

TEST_P(TcpDeparture, MessagesWithoutAReceiveSurviveTheGoodbye) {
  World world(2, 2, [](Config& config) {
    config.unexpected_bytes = 200'000;
    config.connections_per_peer = GetParam();
  });
  ASSERT_TRUE(world.connectAll());
  constexpr std::size_t kBytes = 8'000;
  std::vector<std::unique_ptr<Send>> sends;
  for (Tag tag = 0; tag < 6; ++tag) {
    sends.push_back(std::make_unique<Send>(0, tag, kBytes));
    const bool sent = world.transport(1).send(*sends.back());
    ASSERT_TRUE(world.until([&] { return sent || sends.back()->done; }));
  }
  world.driveFor(std::chrono::milliseconds(20));
  world[1].transport.reset();
  ASSERT_TRUE(world.until([&] { return !world[0].losses.empty(); }));
  for (Tag tag = 0; tag < 6; ++tag) {
    Recv recv(1, tag, kBytes);
    world.transport(0).recv(recv);
    ASSERT_TRUE(world.until([&] { return recv.done; })) << tag;
    ASSERT_TRUE(recv.status.isOk()) << recv.status.text();
    EXPECT_EQ(recv.contents(), sends[tag]->contents());
  }
  EXPECT_EQ(world[0].losses[0].how, PeerLoss::departed);
  EXPECT_EQ(world[0].losses.size(), 1u);
}

TEST_P(TcpDeparture, LargeMessagesAreWholeThoughTheSenderLeavesAtOnce) {
  World world(2, 2, [](Config& config) { config.connections_per_peer = GetParam(); });
  ASSERT_TRUE(world.connectAll());
  constexpr std::size_t kBytes = 3'000'000;
  Recv recv(1, 1, kBytes);
  world.transport(0).recv(recv);
  Send send(0, 1, kBytes);
  const bool sent = world.transport(1).send(send);
  ASSERT_TRUE(world.until([&] { return sent || send.done; }));
  world[1].transport.reset();
  ASSERT_TRUE(world.until([&] { return recv.done && !world[0].losses.empty(); }));
  EXPECT_TRUE(recv.status.isOk()) << recv.status.text();
  EXPECT_EQ(recv.contents(), send.contents());
  EXPECT_EQ(world[0].losses[0].how, PeerLoss::departed);
}

INSTANTIATE_TEST_SUITE_P(Connections, TcpDeparture, ::testing::Values(1, 4));

} // namespace
} // namespace goss::test

// Ranks that cannot be called: they call, and where two of them want each other, a third one relays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/stream.h"
#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using transports::tcp::Answer;
using transports::tcp::encodeAnswer;
using transports::tcp::encodeHello;

/// Loopback loses nothing, so that there is less to wait for.
constexpr transports::TcpTransport::Patience kLittle{std::chrono::milliseconds(100), std::chrono::milliseconds(600)};

void say(int fd, std::string_view bytes) {
  ASSERT_TRUE(platform::writeAll(fd, bytes, platform::Deadline::after(kLong)).isOk());
}

TEST(TcpRelay, WhoCannotBeCalledCallsBack) {
  for (const int hidden : {0, 1}) {
    World world(2, 2, [](Config& config) { config.connections_per_peer = 3; });
    world.setPatience(kLittle);
    world.hide(hidden);
    ASSERT_TRUE(world.connectAll());
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, std::size_t{2000000}}) {
      EXPECT_TRUE(world.exchange(0, 1, bytes));
      EXPECT_TRUE(world.exchange(1, 0, bytes));
    }
    EXPECT_EQ(world.transport(0).relayedBy(1), -1);
  }
}

TEST(TcpRelay, ThoseThatOnlyCallAreRelayedByTheOthers) {
  World world(6, 6, [](Config& config) {
    config.connections_per_peer = 2;
    config.tcp_checksum = "on";
  });
  world.setPatience(kLittle);
  for (const int hidden : {1, 2, 4, 5})
    world.hide(hidden);
  ASSERT_TRUE(world.connectAll());
  const auto hides = [](int rank) { return rank % 3 != 0; };
  for (int from = 0; from < 6; ++from)
    for (int to = 0; to < 6; ++to) {
      if (from == to) continue;
      const int via = world.transport(from).relayedBy(to);
      EXPECT_EQ(via >= 0, hides(from) && hides(to)) << from << " to " << to;
      EXPECT_EQ(via, world.transport(to).relayedBy(from));
      for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, std::size_t{300000}})
        EXPECT_TRUE(world.exchange(from, to, bytes)) << from << " to " << to;
    }
  const std::uint64_t relayed = world.transport(0).relayedBytes() + world.transport(3).relayedBytes();
  EXPECT_GE(relayed, 12 * 300000u);
  EXPECT_LT(relayed, 12 * 310000u) << "and nothing else";
  for (const int hidden : {1, 2, 4, 5})
    EXPECT_FALSE(world.transport(hidden).servesOthers());
}

TEST(TcpRelay, AReaderThatHoldsBackHoldsUpTheWriterNotTheRelay) {
  World world(3, 3, [](Config& config) { config.unexpected_bytes = 64 << 10; });
  world.setPatience(kLittle);
  world.hide(1);
  world.hide(2);
  ASSERT_TRUE(world.connectAll());
  const std::size_t bytes = 32 << 20;
  Send send(2, 7, bytes);
  ASSERT_FALSE(world.transport(1).send(send));
  // Sockets and the relay hold a bounded number of bytes: at some time nothing moves.
  std::uint64_t before = 1;
  while (before != world.transport(0).relayedBytes()) {
    before = world.transport(0).relayedBytes();
    world.driveFor(std::chrono::milliseconds(100));
  }
  EXPECT_LT(before, bytes);
  EXPECT_FALSE(send.done);
  EXPECT_TRUE(world.exchange(1, 0, 1000));
  EXPECT_TRUE(world.exchange(0, 2, 1000));
  Recv recv(1, 7, bytes);
  world.transport(2).recv(recv);
  ASSERT_TRUE(world.until([&] { return recv.done && send.done; }));
  EXPECT_TRUE(recv.status.isOk());
  EXPECT_EQ(recv.contents(), send.contents());

  EXPECT_TRUE(world.deliversBeforeLeaving(1, 2));
  EXPECT_TRUE(world.until([&] { return !world.transport(0).servesOthers(); }));
}

TEST(TcpRelay, WhenTheRelayIsGoneTheLossNamesIt) {
  World world(3, 3);
  world.setPatience(kLittle);
  world.hide(1);
  world.hide(2);
  ASSERT_TRUE(world.connectAll());
  ASSERT_TRUE(world.exchange(1, 2, 100000));
  world[0].transport.reset();
  ASSERT_TRUE(world.until([&] { return world[1].losses.size() == 2 && world[2].losses.size() == 2; }));
  for (const int rank : {1, 2}) {
    const auto& losses = world[rank].losses;
    const Loss& loss = losses[losses[0].peer == 0 ? 1 : 0];
    EXPECT_EQ(loss.peer, 3 - rank);
    EXPECT_NE(loss.how, PeerLoss::departed);
    EXPECT_THAT(loss.status.text(), HasSubstr("is relayed by rank 0"));
  }
}

TEST(TcpRelay, WhereNobodyRelaysTheErrorSaysSo) {
  World world(3, 3, [](Config& config) {
    config.bootstrap_timeout_ms = 5000;
    config.relay = "off";
  });
  world.setPatience(kLittle);
  world.hide(1);
  world.hide(2);
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to)
      if (from != to) {
        EXPECT_TRUE(world.transport(from).connect(to, world[to].address).isOk());
      }
  ASSERT_TRUE(world.until([&] {
    return world.transport(1).link(2) == LinkState::failed && world.transport(2).link(1) == LinkState::failed;
  }));
  EXPECT_EQ(world.transport(0).link(1), LinkState::ready);
  for (const int rank : {1, 2})
    EXPECT_THAT(world.transport(rank).linkError(3 - rank).text(),
                AllOf(HasSubstr("rank 1 and rank 2 can at most call others"), HasSubstr("nobody could relay (rank 0: "),
                      HasSubstr("GOSS_RELAY=off"), HasSubstr("add a rank that both can call")));
}

TEST(TcpRelay, ARankIsAskedToRelayOnlyByMembers) {
  World world(3, 1);
  ::testing::internal::CaptureStderr();
  auto hello = world.hello(1, 0);
  hello.purpose = transports::tcp::Purpose::relay;
  hello.relayed_to = 2;
  hello.job[0] ^= std::byte{1};
  const platform::UniqueFd stranger = world.call(0);
  say(stranger.get(), encodeHello(hello));
  EXPECT_THAT(world.readToEnd(stranger.get()), HasSubstr("it belongs to another job"));
  ::testing::internal::GetCapturedStderr();
}

/// A socket that has got as far as waiting for the other end at the relaying rank 0, or was refused.
platform::UniqueFd waitAtRelay(World& world, int from, int to, std::string& answer) {
  auto hello = world.hello(from, 0);
  hello.purpose = transports::tcp::Purpose::relay;
  hello.relayed_to = static_cast<std::uint32_t>(to);
  platform::UniqueFd fd = world.call(0);
  say(fd.get(), encodeHello(hello));
  answer.assign(transports::tcp::kAnswerBytes, '\0');
  std::size_t got = 0;
  EXPECT_TRUE(world.until([&] {
    got += platform::readSome(fd.get(), answer.data() + got, answer.size() - got).bytes;
    return got == answer.size();
  }));
  if (answer == encodeAnswer(Answer::welcome)) say(fd.get(), encodeAnswer(Answer::go));
  return fd;
}

TEST(TcpRelay, WhoAsksForMoreAndMoreIsRefused) {
  World world(400, 1);
  std::vector<platform::UniqueFd> sockets;
  std::string answer;
  // Relays the same two ranks again and again.
  int pairs = 0;
  for (; pairs < 20; ++pairs) {
    sockets.push_back(waitAtRelay(world, 1, 2, answer));
    if (answer != encodeAnswer(Answer::welcome)) break;
    sockets.push_back(waitAtRelay(world, 2, 1, answer));
    char joined[transports::tcp::kAnswerBytes];
    ASSERT_TRUE(world.until([&] { return platform::readSome(sockets.back().get(), joined, 8).bytes == 8; }));
  }
  EXPECT_EQ(pairs, 4);
  // A rank that waits for more and more others.
  int waiting = 0;
  for (; waiting < 390; ++waiting) {
    sockets.push_back(waitAtRelay(world, 3, 4 + waiting, answer));
    if (answer != encodeAnswer(Answer::welcome)) break;
  }
  EXPECT_EQ(waiting, 256);
  EXPECT_TRUE(world.transport(0).servesOthers());
}

} // namespace
} // namespace goss::test

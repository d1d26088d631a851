// Whatever calls the listening port, the ranks that belong together go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "platform/stream.h"
#include "tests/lib/platform/descriptor_limit.h"
#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using transports::tcp::encodeFrame;
using transports::tcp::encodeHello;
using transports::tcp::FrameKind;

void say(int fd, std::string_view bytes) {
  ASSERT_TRUE(platform::writeAll(fd, bytes, platform::Deadline::after(kLong)).isOk());
}

std::string text(const transports::tcp::FrameBytes& bytes) { return {bytes.data(), bytes.size()}; }

TEST(TcpStrangers, GarbageIsDroppedLoggedOnceAndTheOthersGoOn) {
  World world(2, 2);
  ASSERT_TRUE(world.connectAll());
  ::testing::internal::CaptureStderr();
  for (const std::string& garbage :
       {std::string(1000, '\xee'), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GO")}) {
    const platform::UniqueFd stranger = world.call(0);
    say(stranger.get(), garbage);
    if (garbage.size() == 2) continue; // Could still become a greeting; it leaves instead.
    EXPECT_THAT(world.readToEnd(stranger.get()), HasSubstr("it does not speak Gossamer's TCP protocol"));
    EXPECT_TRUE(world.exchange(0, 1, 100000));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("TCP caller 127.0.0.1:"));
  EXPECT_EQ(log.find("refused"), log.rfind("refused")) << log;
}

TEST(TcpStrangers, WrongSecretIsRefused) {
  World world(2, 1);
  ::testing::internal::CaptureStderr();
  const platform::UniqueFd stranger = world.call(0);
  auto hello = world.hello(1, 0);
  hello.job[15] ^= std::byte{1};
  say(stranger.get(), encodeHello(hello));
  EXPECT_THAT(world.readToEnd(stranger.get()), HasSubstr("it belongs to another job"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("it belongs to another job"));
}

TEST(TcpStrangers, WrongRankOrSizeIsRefused) {
  World world(3, 2);
  ::testing::internal::CaptureStderr();
  auto wrong_size = world.hello(2, 0);
  wrong_size.size = 4;
  for (const auto& hello : {wrong_size, world.hello(2, 1), world.hello(0, 1)}) {
    const platform::UniqueFd stranger = world.call(hello.from == 0 ? 1 : 0);
    say(stranger.get(), encodeHello(hello));
    EXPECT_THAT(world.readToEnd(stranger.get()), AnyOf(HasSubstr("means to call rank"), HasSubstr("not waited for")));
  }
  ::testing::internal::GetCapturedStderr();
}

TEST(TcpStrangers, SecondConnectionOfARankIsDropped) {
  World world(2, 2);
  ASSERT_TRUE(world.connectAll());
  ::testing::internal::CaptureStderr();
  const platform::UniqueFd twin = world.call(0);
  say(twin.get(), encodeHello(world.hello(1, 0)) + transports::tcp::encodeAnswer(transports::tcp::Answer::go));
  world.readToEnd(twin.get());
  EXPECT_TRUE(world.exchange(1, 0, 100000));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("connection 0 of rank 1 exists already"));
}

TEST(TcpStrangers, ManySilentCallersDoNotHoldUpARankThatConnectsLater) {
  World world(2, 2);
  ::testing::internal::CaptureStderr();
  std::vector<platform::UniqueFd> silent;
  for (int i = 0; i < 300; ++i)
    silent.push_back(world.call(0));
  world.driveFor(std::chrono::milliseconds(20));
  const auto begin = platform::Clock::now();
  ASSERT_TRUE(world.connectAll());
  EXPECT_LT(platform::Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(world.exchange(0, 1, 1000000));
  ::testing::internal::GetCapturedStderr();
}

TEST(TcpStrangers, SlowCallersAreDroppedWhileTrafficGoesOn) {
  World world(2, 2);
  ASSERT_TRUE(world.connectAll());
  ::testing::internal::CaptureStderr();
  const platform::UniqueFd slow = world.call(0);
  const std::string hello = encodeHello(world.hello(1, 0));
  const auto begin = platform::Clock::now();
  bool dropped = false;
  for (std::size_t i = 0; i < hello.size() - 1 && !dropped; ++i) {
    dropped = platform::writeSome(slow.get(), hello.data() + i, 1).ended;
    EXPECT_TRUE(world.exchange(0, 1, 1000));
    world.driveFor(std::chrono::milliseconds(150));
    char byte = 0;
    dropped = dropped || platform::readSome(slow.get(), &byte, 1).ended;
  }
  EXPECT_TRUE(dropped);
  EXPECT_LT(platform::Clock::now() - begin, std::chrono::seconds(7));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("it did not introduce itself in time"));
}

/// The acceptor has hung up on so many of these callers.
std::size_t ended(const std::vector<platform::UniqueFd>& callers) {
  return static_cast<std::size_t>(std::count_if(callers.begin(), callers.end(), [](const platform::UniqueFd& caller) {
    char bytes[transports::tcp::kAnswerBytes];
    while (platform::readSome(caller.get(), bytes, sizeof bytes).bytes > 0) {
    }
    return platform::readSome(caller.get(), bytes, 1).ended;
  }));
}

TEST(TcpStrangers, WelcomedCallersThatSayNothingAreFewAndGetLittleTime) {
  World world(2, 2);
  transports::TcpTransport::Patience patience;
  patience.welcomed = std::chrono::milliseconds(500);
  world.setPatience(patience);
  ASSERT_TRUE(world.connectAll());
  ::testing::internal::CaptureStderr();
  std::vector<platform::UniqueFd> callers;
  for (int i = 0; i < 200; ++i) {
    callers.push_back(world.call(0));
    say(callers.back().get(), encodeHello(world.hello(1, 0)));
  }
  ASSERT_TRUE(world.until([&] { return ended(callers) >= 200 - 128; }));
  EXPECT_TRUE(world.exchange(0, 1, 100000));
  ASSERT_TRUE(world.until([&] { return ended(callers) == callers.size(); }));
  EXPECT_TRUE(world.exchange(1, 0, 100000));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("too many callers have the job's secret and say no more"));
  EXPECT_THAT(log, HasSubstr("it was welcomed and said nothing"));
}

TEST(TcpStrangers, WithoutDescriptorsCallersAreHungUpOnAndTheRankIsAtRest) {
  World world(2, 2);
  ASSERT_TRUE(world.connectAll());
  ::testing::internal::CaptureStderr();
  std::vector<platform::UniqueFd> callers;
  for (int i = 0; i < 40; ++i)
    callers.push_back(world.call(0));
  {
    const DescriptorLimit limit(8);
    ASSERT_TRUE(world.until([&] { return ended(callers) >= 40 - 8; }));
    EXPECT_TRUE(world.exchange(0, 1, 100000));
    // A poller that is told of callers again and again never has nothing to do.
    EXPECT_TRUE(world.until([&] { return !world.transport(0).progress(); }));
    EXPECT_TRUE(world.exchange(1, 0, 100000));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("Too many open files"));
  EXPECT_EQ(log.find("Too many"), log.rfind("Too many")) << log;
  const platform::UniqueFd later = world.call(0);
  say(later.get(), "hello?");
  EXPECT_THAT(world.readToEnd(later.get()), HasSubstr("it does not speak Gossamer's TCP protocol"));
}

class MalformedFrame : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string bytes(const std::string& name) {
    MessageHeaderOf header;
    if (name == "oversized") {
      header.bytes = (std::uint64_t{1} << 48) + 1;
      return text(encodeFrame(FrameKind::announce, header));
    }
    header.bytes = 1000;
    const std::string announce = text(encodeFrame(FrameKind::announce, header));
    if (name == "stripeWithoutConnections")
      return text(encodeFrame({FrameKind::announce, header, 1000})) +
             text(encodeFrame(FrameKind::stripe, {1, 1000, {}}));
    if (name == "goodbyeWithBytes") return text(encodeFrame(FrameKind::goodbye, header));
    if (name == "chunkWithoutGrant") return announce + text(encodeFrame(FrameKind::chunk, {1, 1000, {}}));
    if (name == "chunkOfNothing") return announce + text(encodeFrame(FrameKind::chunk, {2, 1000, {}}));
    if (name == "grantOfNothing") return text(encodeFrame(FrameKind::grant, {1, 0, {}}));
    if (name == "dropOfNothing") return text(encodeFrame(FrameKind::drop, {1, 0, {}}));
    if (name == "withdrawalOfNothing") return text(encodeFrame(FrameKind::withdraw, {1, 0, {}}));
    if (name == "advanceOfNothing") return text(encodeFrame(FrameKind::advance, {1, 1000, {}}));
    if (name == "advanceTwice")
      return announce + text(encodeFrame(FrameKind::advance, {1, 1000, {}})) +
             text(encodeFrame(FrameKind::advance, {1, 1000, {}}));
    if (name == "creditForNothing") return text(encodeFrame(FrameKind::credit, {1, 1000, {}}));
    if (name == "roomAgain")
      return text(encodeFrame(FrameKind::room, {0, 1, {}})) + text(encodeFrame(FrameKind::room, {}));
    if (name == "moreThanTheCredit") {
      std::string all;
      header.bytes = transports::tcp::kMaxMessageBytes;
      for (int i = 0; i < 70; ++i) // 4 MiB each.
        all += text(encodeFrame({FrameKind::announce, header, 4 << 20}));
      return all;
    }
    return std::string(transports::tcp::kFrameBytes, '\x77');
  }
  using MessageHeaderOf = transports::MessageHeader;
};

TEST_P(MalformedFrame, IsAProtocolErrorOfThatLinkAlone) {
  World world(3, 2);
  ASSERT_TRUE(world.connectAll());
  const platform::UniqueFd impostor = world.impersonate(2, 0);
  say(impostor.get(), bytes(GetParam()));
  ASSERT_TRUE(world.until([&] { return !world[0].losses.empty(); }));
  EXPECT_EQ(world[0].losses[0].peer, 2);
  EXPECT_NE(world[0].losses[0].how, PeerLoss::departed);
  EXPECT_EQ(world[0].losses[0].status.kind(), GOSS_ERR_PROTOCOL);
  EXPECT_THAT(world[0].losses[0].status.text(), HasSubstr("rank 2 sent bytes that are no frame"));
  EXPECT_EQ(world.transport(0).link(2), LinkState::failed);
  EXPECT_TRUE(world.exchange(0, 1, 100000));
  EXPECT_TRUE(world.exchange(1, 0, 100000));
}

INSTANTIATE_TEST_SUITE_P(Frames, MalformedFrame,
                         ::testing::Values("garbage", "oversized", "stripeWithoutConnections", "goodbyeWithBytes",
                                           "chunkWithoutGrant", "chunkOfNothing", "grantOfNothing", "dropOfNothing",
                                           "withdrawalOfNothing", "creditForNothing", "advanceOfNothing",
                                           "advanceTwice", "roomAgain", "moreThanTheCredit"),
                         [](const auto& one) { return std::string(one.param); });

TEST(TcpStrangers, AnnouncedBytesAreNotAllocated) {
  World world(2, 1);
  const platform::UniqueFd impostor = world.impersonate(1, 0);
  transports::MessageHeader header;
  header.bytes = std::uint64_t{1} << 47; // More than any memory; within the format.
  say(impostor.get(), text(encodeFrame(FrameKind::announce, header)));
  world.driveFor(std::chrono::milliseconds(50));
  EXPECT_EQ(world.transport(0).link(1), LinkState::ready) << "it waits for a receive, as any message beyond the credit";
}

} // namespace
} // namespace goss::test

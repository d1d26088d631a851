// Links that survive their connections, through a proxy that resets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "platform/stream.h"
#include "tests/transports/tcp/proxy.h"
#include "tests/transports/tcp/world.h"
#ifdef GOSS_TEST_TLS
#include "security/security.h"
#include "tests/support/credential_files.h"
#endif

namespace goss::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using transports::tcp::Hello;
using transports::tcp::Purpose;

struct Manner {
  const char* name = "";
  bool tls = false;
  int connections = 1;
  std::array<const char*, 2> checksum = {"auto", "auto"}; ///< For rank 0 and rank 1.
  const char* reconnect = "on";
};

/// Rank 1 calls rank 0 through a proxy.
struct Joined {
  explicit Joined(const Manner& manner = {}, std::int64_t silence_ms = 20000)
      : world(
            2, 2,
            [=, this, rank = std::make_shared<std::size_t>(0)](Config& config) {
              config.reconnect = manner.reconnect;
              config.tcp_checksum = manner.checksum.at((*rank)++);
              config.connections_per_peer = manner.connections;
              config.silence_ms = silence_ms;
#ifdef GOSS_TEST_TLS
              if (manner.tls) config.tls = files.certificates();
#endif
            },
            maker(manner.tls)),
        identity(manner.tls ? platform::kIdentityBytes : 0),
        proxy(transports::tcp::decodeAddress(world[0].address.substr(identity)).value().sockets.front()) {
  }

  static std::function<platform::SecurityMaker(const Config&)> maker(bool tls) {
#ifdef GOSS_TEST_TLS
    if (tls) return [](const Config& config) { return [&config] { return security::openSecurity(config); }; };
#endif
    (void)tls;
    return nullptr;
  }

  ~Joined() {
    proxy.setSilent(false);
    world.leaveTogether([this] { proxy.turn(); });
  }

  bool connect() {
    const std::string& real = world[0].address;
    transports::tcp::Address address = transports::tcp::decodeAddress(real.substr(identity)).value();
    address.sockets = {proxy.address()};
    if (!world.transport(1).connect(0, real.substr(0, identity) + encodeAddress(address)).isOk()) return false;
    if (!world.transport(0).connect(1, world[1].address).isOk()) return false;
    return until([&] {
      return world.transport(1).link(0) == LinkState::ready && world.transport(0).link(1) == LinkState::ready;
    });
  }
  bool until(const std::function<bool()>& condition) {
    return world.until([&] {
      proxy.turn();
      return condition();
    });
  }
  /// Both ways at once.
  void exchange(std::size_t bytes, Tag tag) {
    Send there(1, tag, bytes), back(0, tag, bytes);
    Recv at_one(0, tag, bytes), at_zero(1, tag, bytes);
    world.transport(1).recv(at_one);
    world.transport(0).recv(at_zero);
    const bool sent_there = world.transport(0).send(there);
    const bool sent_back = world.transport(1).send(back);
    ASSERT_TRUE(
        until([&] { return at_one.done && at_zero.done && (sent_there || there.done) && (sent_back || back.done); }));
    ASSERT_TRUE(at_one.status.isOk()) << at_one.status.text();
    ASSERT_TRUE(at_zero.status.isOk()) << at_zero.status.text();
    EXPECT_TRUE(at_one.contents() == there.contents());
    EXPECT_TRUE(at_zero.contents() == back.contents());
  }
  [[nodiscard]] bool lostNothing() { return world[0].losses.empty() && world[1].losses.empty(); }

#ifdef GOSS_TEST_TLS
  CredentialFiles files;
#endif
  World world;
  std::size_t identity;
  Proxy proxy;
};

class TcpReconnect : public ::testing::TestWithParam<Manner> {};

TEST_P(TcpReconnect, MessagesGoOnWhereTheyWereInterrupted) {
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  std::mt19937 random(11);
  for (Tag tag = 0; tag < 8; ++tag) {
    setup.proxy.setOrderly(tag % 2 == 1);
    setup.proxy.cutAfter(random() % 2'500'000);
    setup.exchange(1'500'000 + random() % 1000, tag);
    ASSERT_FALSE(HasFatalFailure()) << "message " << tag;
  }
  EXPECT_TRUE(setup.lostNothing());
  EXPECT_GE(setup.proxy.cuts(), 4);
}

// Most of a message waits in buffers of both ends when a slow line is cut: each byte arrives, and once.
TEST_P(TcpReconnect, ASlowLineThatIsCutWithinMessagesLosesNothing) {
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  setup.proxy.slowDown(6'000'000);
  std::mt19937 random(12);
  for (Tag tag = 0; tag < 4; ++tag) {
    setup.proxy.cutAfter(200'000 + random() % 1'000'000);
    setup.exchange(900'000 + random() % 1000, tag);
    ASSERT_FALSE(HasFatalFailure()) << "message " << tag;
  }
  EXPECT_TRUE(setup.lostNothing());
  EXPECT_GE(setup.proxy.cuts(), 4);
}

TEST_P(TcpReconnect, AdviceOnThePaceOutlivesTheConnections) {
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  const auto share = static_cast<std::uint64_t>(400'000'000 / GetParam().connections);
  for (Tag tag = 0; tag < 2; ++tag) {
    Send send(0, tag, 3'000'000);
    Recv recv(1, tag, 3'000'000);
    send.pace_bytes_per_s = 400'000'000;
    setup.world.transport(0).recv(recv);
    send.done = setup.world.transport(1).send(send);
    ASSERT_TRUE(setup.until([&] { return send.done && recv.done; }));
    EXPECT_EQ(paces().size(), static_cast<std::size_t>(GetParam().connections)) << "message " << tag;
    EXPECT_EQ(paces().count(share), paces().size());
    if (tag == 0) setup.proxy.cut();
  }
  EXPECT_TRUE(setup.lostNothing());
}

TEST_P(TcpReconnect, BreaksWithinTheHandshakeOfTheNextConnectionHealToo) {
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  Tag tag = 0;
  for (const std::size_t bytes : {1u, 72u, 90u, 700u, 3000u}) {
    setup.proxy.cut();
    setup.proxy.cutAfter(bytes);
    setup.exchange(100'000, tag++);
    ASSERT_FALSE(HasFatalFailure()) << "broken after " << bytes;
  }
  EXPECT_EQ(setup.proxy.cuts(), 10);
  EXPECT_TRUE(setup.lostNothing());
}

TEST_P(TcpReconnect, AnIdleLinkHealsAndWhatIsSentMeanwhileArrives) {
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  for (Tag tag = 0; tag < 4; ++tag) {
    setup.exchange(1000, tag);
    setup.proxy.cut();
    Send send(static_cast<int>(tag % 2), 100 + tag, 70'000);
    Recv recv(static_cast<int>(1 - tag % 2), 100 + tag, 70'000);
    setup.world.transport(static_cast<int>(tag % 2)).recv(recv);
    setup.world.transport(static_cast<int>(1 - tag % 2)).send(send);
    ASSERT_TRUE(setup.until([&] { return recv.done; }));
    EXPECT_TRUE(recv.status.isOk() && recv.contents() == send.contents());
  }
  EXPECT_TRUE(setup.lostNothing());
}

TEST_P(TcpReconnect, WhoLeavesWhileTheLinkIsBrokenStillDelivers) {
  for (const int leaves : {0, 1}) {
    Joined setup(GetParam());
    // A busy machine may keep the one that stays from its turn for long.
    transports::TcpTransport::Patience patience;
    patience.courtesy = kLong;
    setup.world.setPatience(patience);
    ASSERT_TRUE(setup.connect());
    const int stays = 1 - leaves;
    setup.exchange(1000, 6); // Both have told each other what room they have.
    // Bytes that have left and not arrived are lost with the connection.
    setup.proxy.setSilent(true);
    Send send(stays, 7, 20'000);
    ASSERT_TRUE(setup.world.transport(leaves).send(send));
    setup.proxy.setSilent(false);
    setup.proxy.cut();
    setup.world.driveFor(std::chrono::milliseconds(5));
    std::atomic<bool> over = false;
    std::thread leaving([&] {
      setup.world[leaves].transport.reset();
      over = true;
    });
    Recv recv(leaves, 7, 20'000);
    setup.world.transport(stays).recv(recv);
    auto& left = setup.world.transport(stays);
    const platform::Deadline deadline = platform::Deadline::after(kLong);
    // Until the goodbye has come, and word of that has come back.
    while (!(over && !setup.world[stays].losses.empty()) && !deadline.expired()) {
      setup.proxy.turn();
      left.progress();
    }
    leaving.join();
    ASSERT_FALSE(setup.world[stays].losses.empty());
    EXPECT_EQ(setup.world[stays].losses[0].how, PeerLoss::departed) << setup.world[stays].losses[0].status.text();
    EXPECT_TRUE(recv.done && recv.status.isOk() && recv.contents() == send.contents());
  }
}

TEST_P(TcpReconnect, APeerThatIsNotThereAnyMoreIsLostAtOnce) {
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  Recv recv(0, 1, 100);
  setup.world.transport(1).recv(recv);
  setup.proxy.close();
  const auto before = platform::Clock::now();
  setup.proxy.cut();
  ASSERT_TRUE(setup.until([&] { return recv.done && !setup.world[1].losses.empty(); }));
  // Sooner than the 20 seconds that the link has, with some allowance for a busy machine.
  EXPECT_LT(platform::Clock::now() - before, std::chrono::seconds(5));
  EXPECT_EQ(recv.status.kind(), GOSS_ERR_PEER_LOST);
  EXPECT_THAT(recv.status.text(), HasSubstr("refused"));
  // The called rank learns it too, when it asks: the link has ended at the caller.
  ASSERT_TRUE(setup.until([&] { return !setup.world[0].losses.empty(); }));
}

TEST_P(TcpReconnect, AWayThatStaysShutIsGivenUpAfterTheSilence) {
  Joined setup(GetParam(), 600);
  ASSERT_TRUE(setup.connect());
  Recv recv(0, 1, 100);
  setup.world.transport(1).recv(recv);
  setup.proxy.cut();
  setup.proxy.setSilent(true);
  const auto before = platform::Clock::now();
  ASSERT_TRUE(
      setup.until([&] { return recv.done && !setup.world[1].losses.empty() && !setup.world[0].losses.empty(); }));
  EXPECT_GE(platform::Clock::now() - before, std::chrono::milliseconds(500));
  EXPECT_THAT(recv.status.text(), HasSubstr("in time"));
}

class TcpFlips : public ::testing::TestWithParam<Manner> {};

TEST_P(TcpFlips, AreFoundAndTheBytesAreSentAgain) {
  ::testing::internal::CaptureStderr();
  Joined setup(GetParam());
  ASSERT_TRUE(setup.connect());
  std::mt19937 random(13);
  for (Tag tag = 0; tag < 8; ++tag) {
    setup.proxy.flipAfter(random() % 2'500'000);
    setup.exchange(1'500'000 + random() % 1000, tag);
    ASSERT_FALSE(HasFatalFailure() || HasNonfatalFailure()) << "message " << tag;
  }
  EXPECT_TRUE(setup.lostNothing());
  EXPECT_GE(setup.proxy.flips(), 4);
  const std::string log = ::testing::internal::GetCapturedStderr();
  if (!GetParam().tls) {
    EXPECT_THAT(log, HasSubstr("were changed on their way and are sent again"));
  }
}

std::vector<Manner> manners() {
  std::vector<Manner> all{
      {"tcp", false, 1}, {"tcpChecked", false, 1, {"on", "on"}}, {"tcpStriped", false, 3, {"on", "off"}}};
#ifdef GOSS_TEST_TLS
  all.push_back({"tls", true, 1});
  all.push_back({"tlsStriped", true, 2});
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(Manners, TcpReconnect, ::testing::ValuesIn(manners()),
                         [](const auto& test) { return std::string(test.param.name); });
/// The first connection does not check for them.
std::vector<Manner> checkedManners() {
  std::vector<Manner> all = manners();
  all.erase(all.begin());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Manners, TcpFlips, ::testing::ValuesIn(checkedManners()),
                         [](const auto& test) { return std::string(test.param.name); });

// Whichever of the two wants it.
TEST(TcpChecked, OneRankThatWantsItIsEnough) {
  ::testing::internal::CaptureStderr();
  for (const Manner& manner : {Manner{"", false, 1, {"off", "on"}}, Manner{"", false, 1, {"on", "auto"}}}) {
    Joined setup(manner);
    ASSERT_TRUE(setup.connect());
    setup.proxy.flipAfter(70'000);
    setup.exchange(100'000, 1);
    EXPECT_EQ(setup.proxy.flips(), 1);
    EXPECT_TRUE(setup.lostNothing());
  }
  ::testing::internal::GetCapturedStderr();
}

TEST(TcpChecked, BitsThatFlipWhileAConnectionIsMadeAnewHealToo) {
  ::testing::internal::CaptureStderr();
  Joined setup({"", false, 1, {"on", "on"}});
  ASSERT_TRUE(setup.connect());
  Tag tag = 0;
  // Corrupts the hello, except its magic number and version; the welcome; the go; and the first records.
  for (const std::size_t at : {10u, 12u, 30u, 50u, 70u, 72u, 76u, 78u, 80u, 84u, 90u, 100u, 110u, 130u}) {
    setup.proxy.cut();
    setup.proxy.flipAfter(at);
    setup.exchange(100'000, tag++);
    ASSERT_FALSE(HasFatalFailure() || HasNonfatalFailure()) << "flipped after " << at;
  }
  EXPECT_EQ(setup.proxy.flips(), 14);
  EXPECT_TRUE(setup.lostNothing());
  ::testing::internal::GetCapturedStderr();
}

// A link that is not resumed ends: nothing that was changed is taken for a message.
TEST(TcpChecked, WithoutReconnectingBitsThatFlipEndTheLink) {
  std::mt19937 random(14);
  for (int connections : {1, 3}) {
    for (int turn = 0; turn < 10; ++turn) {
      Joined setup({"", false, connections, {"on", "on"}, "off"});
      ASSERT_TRUE(setup.connect());
      setup.exchange(300'000, 1);
      setup.proxy.flipAfter(random() % 900'000);
      Send there(1, 2, 1'000'000);
      Recv at_one(0, 2, 1'000'000);
      setup.world.transport(1).recv(at_one);
      setup.world.transport(0).send(there);
      ASSERT_TRUE(setup.until([&] { return !setup.world[0].losses.empty() && !setup.world[1].losses.empty(); }));
      ASSERT_EQ(setup.proxy.flips(), 1);
      ASSERT_TRUE(at_one.done);
      EXPECT_TRUE(!at_one.status.isOk() || at_one.contents() == there.contents());
      const std::string texts = setup.world[0].losses[0].status.text() + setup.world[1].losses[0].status.text();
      EXPECT_THAT(texts, HasSubstr("were changed on their way"));
      EXPECT_EQ(setup.world[1].losses[0].peer, 0);
    }
  }
}

/// A stranger calls rank 0 as rank 1 with this hello; returns what it is told.
std::string asks(Joined& setup, const Hello& hello) {
  platform::UniqueFd fd = setup.world.call(0);
  const std::string bytes = encodeHello(hello);
  EXPECT_EQ(platform::writeSome(fd.get(), bytes.data(), bytes.size()).bytes, bytes.size());
  std::string answer;
  EXPECT_TRUE(setup.until([&] {
    std::array<char, 512> room;
    const auto got = platform::readSome(fd.get(), room.data(), room.size());
    answer.append(room.data(), got.bytes);
    return got.ended || answer == transports::tcp::encodeAnswer(transports::tcp::Answer::welcome);
  }));
  return answer;
}

TEST(TcpReconnectStrangers, AreRefusedAndTheLinkGoesOn) {
  ::testing::internal::CaptureStderr();
  Joined setup;
  ASSERT_TRUE(setup.connect());
  Hello hello = setup.world.hello(1, 0);
  hello.purpose = Purpose::resume;
  hello.epoch = 1;
  hello.token.fill(std::byte{5});
  EXPECT_THAT(asks(setup, hello), HasSubstr("it does not know the secret of the link that it means"));
  hello.epoch = 0xffffffff;
  EXPECT_THAT(asks(setup, hello), HasSubstr("it does not know the secret"));
  hello.job.fill(std::byte{1});
  EXPECT_THAT(asks(setup, hello), HasSubstr("it belongs to another job"));
  hello = setup.world.hello(1, 0);
  hello.purpose = Purpose::recall;
  hello.token.fill(std::byte{5});
  EXPECT_THAT(asks(setup, hello), HasSubstr("it does not know the secret"));
  setup.exchange(100'000, 1);
  EXPECT_TRUE(setup.lostNothing());
  EXPECT_EQ(setup.proxy.cuts(), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("does not know the secret"));
}

TEST(TcpReconnectStrangers, AFloodOfThemDisturbsNothing) {
  ::testing::internal::CaptureStderr();
  Joined setup;
  ASSERT_TRUE(setup.connect());
  Hello hello = setup.world.hello(1, 0);
  std::vector<platform::UniqueFd> callers;
  for (unsigned i = 0; i < 300; ++i) {
    hello.purpose = i % 2 == 0 ? Purpose::resume : Purpose::recall;
    hello.epoch = 1 + i * 7919;
    hello.token.fill(static_cast<std::byte>(1 + i % 255));
    callers.push_back(setup.world.call(0));
    const std::string bytes = encodeHello(hello);
    ASSERT_EQ(platform::writeSome(callers.back().get(), bytes.data(), bytes.size()).bytes, bytes.size());
    if (i % 60 == 0) setup.exchange(50'000, i);
    ASSERT_FALSE(HasFatalFailure());
  }
  setup.exchange(50'000, 1000);
  // Each is told to go, and those that stay make room for the next ones.
  for (const platform::UniqueFd& caller : callers)
    EXPECT_THAT(setup.world.readToEnd(caller.get()), Not(HasSubstr(encodeAnswer(transports::tcp::Answer::welcome))));
  EXPECT_TRUE(setup.lostNothing());
  EXPECT_EQ(setup.proxy.cuts(), 0);
  ::testing::internal::GetCapturedStderr();
}

#ifdef GOSS_TEST_TLS
TEST(TcpReconnectStrangers, AnotherMemberOfTheSwarmCannotResumeALink) {
  ::testing::internal::CaptureStderr();
  CredentialFiles files;
  World world(
      2, 2,
      [&](Config& config) {
        config.reconnect = "on";
        config.tls = files.sharedKey();
      },
      [](const Config& config) { return [&config] { return security::openSecurity(config); }; });
  ASSERT_TRUE(world.connectAll());
  // It has the shared key, but is another process than rank 1.
  auto other = security::openSecurity(world[1].config);
  ASSERT_TRUE(other.isOk());
  platform::Stream stream(world.call(0), other.value()->caller({}).take());
  platform::Greeting greeting = platform::Greeting::underway;
  ASSERT_TRUE(world.until([&] {
    greeting = stream.greet();
    return greeting != platform::Greeting::underway;
  }));
  ASSERT_EQ(greeting, platform::Greeting::ready);
  Hello hello = world.hello(1, 0);
  hello.purpose = Purpose::resume;
  hello.epoch = 1;
  hello.token.fill(std::byte{5});
  const std::string bytes = encodeHello(hello);
  ASSERT_EQ(stream.write(bytes).bytes, bytes.size());
  std::string answer;
  EXPECT_TRUE(world.until([&] {
    std::array<char, 512> room;
    const auto got = stream.read(room.data(), room.size());
    answer.append(room.data(), got.bytes);
    return got.ended;
  }));
  EXPECT_THAT(answer, HasSubstr("it claims rank 1, which is another process"));
  EXPECT_TRUE(world.exchange(0, 1, 100'000));
  EXPECT_TRUE(world[0].losses.empty() && world[1].losses.empty());
  ::testing::internal::GetCapturedStderr();
}
#endif

TEST(TcpReconnectStrangers, APlainLinkIsNotResumed) {
  ::testing::internal::CaptureStderr();
  World world(2, 2);
  ASSERT_TRUE(world.connectAll());
  Hello hello = world.hello(1, 0);
  hello.purpose = Purpose::resume;
  hello.epoch = 1;
  hello.token.fill(std::byte{5});
  platform::UniqueFd fd = world.call(0);
  const std::string bytes = encodeHello(hello);
  EXPECT_EQ(platform::writeSome(fd.get(), bytes.data(), bytes.size()).bytes, bytes.size());
  EXPECT_THAT(world.readToEnd(fd.get()), HasSubstr("it does not know the secret"));
  EXPECT_TRUE(world.exchange(0, 1, 100'000));
  ::testing::internal::GetCapturedStderr();
}

} // namespace
} // namespace goss::test

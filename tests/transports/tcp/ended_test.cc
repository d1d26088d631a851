// What shows that a peer's process has ended, and what does not.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "platform/host.h"
#include "platform/stream.h"
#include "tests/support/connected_sockets.h"
#include "tests/transports/tcp/world.h"
#include "transports/common/deferred.h"
#include "transports/tcp/link/link.h"
#include "transports/tcp/link/resumer.h"
#include "transports/tcp/meet/dialer.h"

namespace goss::test {
namespace {

using platform::SocketAddress;
using platform::UniqueFd;
using std::chrono::milliseconds;
using transports::tcp::Answer;
using transports::tcp::Dialer;
using transports::tcp::Hello;
using transports::tcp::Purpose;

/// A socket at a free port of `host`, whose system answers calls as a test wants.
class Door {
 public:
  explicit Door(const char* host) : listener_(platform::listenOn(*SocketAddress::parse(host, 0), {}).take()) {}
  [[nodiscard]] SocketAddress address() const { return *platform::localAddress(listener_.get()); }
  /// The system drops all further calls, as if they were lost on the way.
  void dropCalls() {
    ASSERT_EQ(::listen(listener_.get(), 0), 0);
    waiting_ = platform::dial(address()).take();
    ASSERT_TRUE(platform::waitWritable(waiting_.get(), platform::Deadline::after(kLong)));
  }
  /// The system resets the calls that it has accepted, and refuses all further ones.
  void close() { listener_.reset(); }
  /// The next caller that has been accepted; an invalid descriptor when there is none.
  UniqueFd accept() { return platform::acceptFrom(listener_.get()).take().fd; }

 private:
  UniqueFd listener_;
  UniqueFd waiting_;
};

/// Rank 0 of two is linked to rank 1, which a test plays. Rank 1 ends step by step, as the system ends the sockets of a
/// killed process: the link's before the listening one.
class Played {
 public:
  Played(const char* reconnect, std::int64_t silence_ms)
      : world(2, 1, [=](Config& config) { config.silence_ms = silence_ms; }), door("127.0.0.1") {
    hello_ = world.hello(1, 0);
    if (std::string(reconnect) == "on") {
      hello_.purpose = Purpose::resumable;
      hello_.token.fill(std::byte{7});
    }
    const transports::tcp::Address address{platform::hostIdentity().text(), {door.address()}};
    EXPECT_TRUE(world.transport(0).connect(1, encodeAddress(address)).isOk());
  }
  void connect() {
    link = world.introduce(hello_, 0);
    sayGo();
    ASSERT_TRUE(world.until([&] { return world.transport(0).link(1) == LinkState::ready; }));
  }
  void endLinkAtOnce() {
    link = world.introduce(hello_, 0);
    sayGo();
    platform::resetOnClose(link.get());
    link.reset();
  }
  PeerLoss loss() {
    EXPECT_TRUE(world.until([&] { return !world[0].losses.empty(); }));
    return world[0].losses.empty() ? PeerLoss::silent : world[0].losses[0].how;
  }

  World world;
  Door door;
  UniqueFd link;

 private:
  void sayGo() {
    const std::string go = encodeAnswer(Answer::go);
    ASSERT_EQ(platform::writeSome(link.get(), go.data(), go.size()).bytes, go.size());
  }
  Hello hello_;
};

constexpr std::int64_t kShort = 200; // Milliseconds, less than the dialer's pause and a tick.
constexpr std::int64_t kAmple = 20000;

class TcpEnded : public ::testing::TestWithParam<const char*> {};

TEST_P(TcpEnded, APeerWhoseSystemStillAcceptedTheCallIsCalledAgainAtOnce) {
  Played peer(GetParam(), kShort);
  peer.connect();
  peer.link.reset();
  peer.world.driveFor(milliseconds(20));
  peer.door.close();
  EXPECT_EQ(peer.loss(), PeerLoss::ended) << peer.world[0].losses[0].status.text();
}

TEST_P(TcpEnded, APeerThatEndsWhileItIsCalledTwiceIsCalledAgain) {
  Played peer(GetParam(), kShort);
  peer.connect();
  peer.link.reset();
  UniqueFd call;
  ASSERT_TRUE(peer.world.until([&] { return (call = peer.door.accept()).valid(); }));
  call.reset();
  peer.world.driveFor(milliseconds(20));
  peer.door.close();
  EXPECT_EQ(peer.loss(), PeerLoss::ended) << peer.world[0].losses[0].status.text();
}

TEST_P(TcpEnded, AtTheDeadlineThePeersHostIsAskedOnceMore) {
  Played peer(GetParam(), kShort);
  peer.connect();
  peer.door.dropCalls();
  peer.link.reset();
  peer.world.driveFor(milliseconds(50));
  peer.door.close();
  EXPECT_EQ(peer.loss(), PeerLoss::ended) << peer.world[0].losses[0].status.text();
}

// The system repeats a lost call after a second.
TEST_P(TcpEnded, CallsThatAreLostForASecondDelayTheVerdictAlone) {
  Played peer(GetParam(), kAmple);
  peer.connect();
  peer.door.dropCalls();
  platform::endWriting(peer.link.get()); // Closing would reset it, because bytes are unread.
  peer.world.driveFor(milliseconds(1000));
  peer.door.close();
  EXPECT_EQ(peer.loss(), PeerLoss::ended) << peer.world[0].losses[0].status.text();
}

TEST_P(TcpEnded, APeerWhoseConnectionIsResetBeforeItIsTakenIsAskedAbout) {
  Played peer(GetParam(), kAmple);
  peer.endLinkAtOnce();
  peer.door.close();
  EXPECT_EQ(peer.loss(), PeerLoss::ended) << peer.world[0].losses[0].status.text();
}

TEST_P(TcpEnded, AnotherJobAtThePeersPortShowsThatThePeerHasEnded) {
  Played peer(GetParam(), kAmple);
  peer.connect();
  peer.link.reset();
  UniqueFd call;
  ASSERT_TRUE(peer.world.until([&] { return (call = peer.door.accept()).valid(); }));
  const std::string answer = encodeAnswer(Answer::refused, transports::tcp::kAnotherJob);
  ASSERT_EQ(platform::writeSome(call.get(), answer.data(), answer.size()).bytes, answer.size());
  EXPECT_EQ(peer.loss(), PeerLoss::ended) << peer.world[0].losses[0].status.text();
}

TEST_P(TcpEnded, AStoppedPeerHasNot) {
  for (const bool drops : {false, true}) {
    Played peer(GetParam(), kShort);
    peer.connect();
    if (drops) peer.door.dropCalls();
    peer.link.reset();
    EXPECT_EQ(peer.loss(), PeerLoss::silent);
  }
}

TEST_P(TcpEnded, APeerThatHangsUpAgainAndAgainHasNot) {
  Played peer(GetParam(), kShort);
  peer.connect();
  peer.link.reset();
  EXPECT_TRUE(peer.world.until([&] {
    peer.door.accept();
    return !peer.world[0].losses.empty();
  }));
  EXPECT_EQ(peer.loss(), PeerLoss::silent);
}

INSTANTIATE_TEST_SUITE_P(Reconnect, TcpEnded, ::testing::Values("off", "on"),
                         [](const auto& test) { return std::string(test.param); });

/// A rank's surroundings, for parts of its transport.
class TcpEndedParts : public ::testing::Test, public TransportListener {
 protected:
  void SetUp() override { config_.silence_ms = kAmple; }
  void onPeerLost(int, const Status&, PeerLoss) override {}
  /// The socket is bound and does not listen.
  SocketAddress refusing(const char* host) {
    held_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto any_port = *SocketAddress::parse(host, 0);
    EXPECT_EQ(::bind(held_.back().get(), any_port.raw(), any_port.length()), 0);
    return *platform::localAddress(held_.back().get());
  }
  /// The peer was at 127.0.0.1.
  static Dialer::Target toward(const SocketAddress& called, bool one_host) {
    Dialer::Target target;
    target.peer = 1;
    target.addresses = {called};
    target.deadline = platform::Deadline::after(milliseconds(kShort));
    target.refusing_host = *SocketAddress::parse("127.0.0.1", 0);
    target.one_host = one_host;
    return target;
  }
  /// Whether a dialer finds that the peer at 127.0.0.1 has ended, calling `called`, where another job answers.
  bool findsNobody(const SocketAddress& called, bool one_host, Door* another_job) {
    Dialer dialer(context_, poller_, token_, toward(called, one_host), [](Dialer::Made) {});
    dialer.start();
    std::vector<UniqueFd> calls;
    while (dialer.error().isOk()) {
      for (const auto& event : poller_.wait(20))
        dialer.handle(event.token);
      dialer.tick();
      UniqueFd call = another_job != nullptr ? another_job->accept() : UniqueFd();
      if (!call.valid()) continue;
      const std::string answer = encodeAnswer(Answer::refused, transports::tcp::kAnotherJob);
      EXPECT_EQ(platform::writeSome(call.get(), answer.data(), answer.size()).bytes, answer.size());
      calls.push_back(std::move(call));
    }
    return dialer.foundNobody();
  }

  Config config_;
  TransportContext context_{0, 2, {}, &config_, this};
  platform::Poller poller_ = platform::Poller::create().take();
  std::uint64_t token_ = 1000;
  std::vector<UniqueFd> held_;
};

TEST_F(TcpEndedParts, AHostThatHasResetACallIsCalledAgainWithoutAPause) {
  Door door("127.0.0.1");
  Dialer dialer(context_, poller_, token_, toward(door.address(), true), [](Dialer::Made) {});
  dialer.start();
  int accepted = 0;
  const platform::Deadline limit = platform::Deadline::after(kLong);
  while (dialer.error().isOk() && !limit.expired()) { // Without a tick.
    for (const auto& event : poller_.wait(20))
      dialer.handle(event.token);
    if (accepted < 2 && door.accept().valid() && ++accepted == 2) door.close();
  }
  EXPECT_TRUE(dialer.foundNobody());
}

TEST_F(TcpEndedParts, AnotherJobElsewhereShowsNothing) {
  Door here("127.0.0.1");
  Door elsewhere("127.0.0.2");
  EXPECT_TRUE(findsNobody(here.address(), true, &here));
  EXPECT_FALSE(findsNobody(here.address(), false, &here)) << "the peer may be behind a router";
  EXPECT_FALSE(findsNobody(elsewhere.address(), true, &elsewhere));
}

TEST_F(TcpEndedParts, ARefusalElsewhereShowsNothing) {
  EXPECT_TRUE(findsNobody(refusing("127.0.0.1"), false, nullptr));
  EXPECT_FALSE(findsNobody(refusing("127.0.0.2"), true, nullptr));
}

TEST_F(TcpEndedParts, ARefusalInTheLastTicksAfterAnOrderlyEndCounts) {
  transports::Deferred deferred;
  transports::tcp::Link link(1, 100'000, deferred);
  auto [here, there] = connectedSockets();
  Hello hello;
  hello.from = 1;
  hello.size = 2;
  hello.purpose = Purpose::resumable;
  hello.token.fill(std::byte{7});
  const auto remote = platform::remoteAddress(here.get());
  link.setWanted();
  ASSERT_TRUE(link.adopt(platform::Stream(std::move(here)), hello, poller_, remote).isOk());
  there.reset(); // An orderly end.
  while (link.lostConnections().empty())
    link.run(false);
  Door door("127.0.0.1");
  door.dropCalls();
  const SocketAddress address = door.address();
  transports::tcp::Resumer resumer(
      context_, poller_, token_, [](int, std::size_t) {},
      [&](int peer) {
        Dialer::Target target;
        target.peer = peer;
        target.addresses = {address};
        return target;
      });
  resumer.update(link);
  for (int tick = Dialer::kLastTicks + 1; tick < transports::tcp::Resumer::kTicksAfterOrderlyEnd; ++tick)
    resumer.tick();
  door.close();
  for (int tick = 0; tick <= Dialer::kLastTicks; ++tick) {
    resumer.tick();
    for (const auto& event : poller_.wait(0))
      resumer.handle(event.token);
  }
  link.run(false);
  ASSERT_TRUE(link.hasEnded());
  EXPECT_EQ(link.loss(), PeerLoss::ended) << link.end().text();
}

} // namespace
} // namespace goss::test

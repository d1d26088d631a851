#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/free_port.h"
#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using transports::TcpTransport;
using transports::tcp::Address;
using transports::tcp::decodeAddress;
using transports::tcp::encodeAddress;

TEST(TcpSettings, InterfaceIsChosenByNameOrAddress) {
  for (const char* interface : {"lo", "127.0.0.1", "::1"}) {
    World world(2, 2, [&](Config& config) { config.interface = interface; });
    const auto address = decodeAddress(world[0].address);
    for (const auto& socket : address.value().sockets)
      EXPECT_TRUE(socket.loopback()) << socket.text();
    ASSERT_TRUE(world.connectAll()) << interface;
    EXPECT_TRUE(world.exchange(0, 1, 300000));
  }
}

TEST(TcpSettings, AnyInterfaceOffersAllAndWorks) {
  World world(2, 2, [](Config& config) { config.interface = ""; });
  ASSERT_TRUE(world.connectAll());
  EXPECT_TRUE(world.exchange(1, 0, 300000));
}

TEST(TcpSettings, UnknownInterfaceIsRefusedByName) {
  Config config;
  config.interface = "nosuch0";
  World::Rank listener;
  TcpTransport transport({0, 2, {}, &config, &listener});
  const auto opened = transport.open();
  ASSERT_FALSE(opened.isOk());
  EXPECT_EQ(opened.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(opened.status().text(), HasSubstr("\"nosuch0\""));
}

TEST(TcpSettings, PortsComeFromTheRangeUntilItIsFull) {
  const std::uint16_t first = freePorts(2);
  const auto configure = [&](Config& config) {
    config.port_min = first;
    config.port_max = static_cast<std::uint16_t>(first + 1);
  };
  World world(2, 2, configure);
  EXPECT_EQ(decodeAddress(world[0].address).value().sockets[0].port(), first);
  EXPECT_EQ(decodeAddress(world[1].address).value().sockets[0].port(), first + 1);
  ASSERT_TRUE(world.connectAll());
  Config config;
  config.interface = "127.0.0.1";
  configure(config);
  World::Rank listener;
  TcpTransport third({0, 2, {}, &config, &listener});
  const auto opened = third.open();
  ASSERT_FALSE(opened.isOk());
  EXPECT_EQ(opened.status().kind(), GOSS_ERR_RESOURCE);
  EXPECT_THAT(opened.status().text(), HasSubstr("cannot listen on 127.0.0.1, ports"));
}

TEST(TcpSettings, TheCallerDecidesHowManyConnectionsThereAre) {
  for (const int callers : {1, 2, 4}) {
    int rank = 0;
    World world(2, 2, [&](Config& config) { config.connections_per_peer = rank++ == 0 ? 3 : callers; });
    ASSERT_TRUE(world.connectAll());
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{524288}, std::size_t{524289},
                                    std::size_t{1048576}, std::size_t{5000001}, std::size_t{10}}) {
      EXPECT_TRUE(world.exchange(0, 1, bytes)) << bytes << " bytes over " << callers;
      EXPECT_TRUE(world.exchange(1, 0, bytes)) << bytes << " bytes over " << callers;
    }
    const PeerStatistics statistics = world.transport(0).statistics(1);
    EXPECT_EQ(statistics.messages_sent, 7u);
    EXPECT_EQ(statistics.bytes_received, statistics.bytes_sent);
  }
}

TEST(TcpSettings, ABoundOnThePaceIsSharedByThePayloadConnections) {
  for (const int payload : {1, 4}) {
    World world(2, 2, [&](Config& config) {
      config.connections_per_peer = payload;
      config.tcp_pacing_bytes_per_s = 80'000'000;
    });
    ASSERT_TRUE(world.connectAll());
    const std::size_t sockets = payload == 1 ? 2 : 10;
    const auto set = paces();
    EXPECT_EQ(set.size(), sockets) << "both ends of each";
    EXPECT_EQ(set.count(80'000'000 / static_cast<unsigned>(payload)), sockets);
    EXPECT_TRUE(world.exchange(0, 1, 3000000));
  }
  EXPECT_TRUE(paces().empty());
}

/// Rank 0 sends rank 1 a message that wants this pace.
bool sendPaced(World& world, std::size_t bytes, std::uint64_t pace) {
  Send send(1, 5, bytes);
  Recv recv(0, 5, bytes);
  send.pace_bytes_per_s = pace;
  world.transport(1).recv(recv);
  send.done = world.transport(0).send(send);
  return world.until([&] { return send.done && recv.done; }) && recv.contents() == send.contents();
}

TEST(TcpSettings, AMessageMayBringABoundOnThePace) {
  constexpr std::size_t kLarge = 3000000;
  for (const unsigned payload : {1u, 4u}) {
    World world(2, 2, [&](Config& config) { config.connections_per_peer = static_cast<int>(payload); });
    ASSERT_TRUE(world.connectAll());
    ASSERT_TRUE(sendPaced(world, kLarge, 400'000'000));
    EXPECT_EQ(paces().size(), payload) << "the sender's";
    EXPECT_EQ(paces().count(400'000'000 / payload), payload);
    ASSERT_TRUE(sendPaced(world, 100, 0));
    EXPECT_EQ(paces().size(), payload) << "what is short does not end it";
    ASSERT_TRUE(sendPaced(world, kLarge, 0));
    EXPECT_TRUE(paces().empty());
  }
}

TEST(TcpSettings, ManyShortMessagesEndABoundOnThePaceToo) {
  World world(2, 2);
  ASSERT_TRUE(world.connectAll());
  ASSERT_TRUE(sendPaced(world, 100000, 400'000'000));
  ASSERT_TRUE(sendPaced(world, 1000, 0));
  EXPECT_EQ(paces().size(), 1u);
  for (int message = 0; message < 40; ++message)
    ASSERT_TRUE(sendPaced(world, 1000, 0));
  EXPECT_TRUE(paces().empty());
}

TEST(TcpSettings, NoMessageExceedsTheBoundThatTheUserSet) {
  World world(2, 2, [](Config& config) { config.tcp_pacing_bytes_per_s = 80'000'000; });
  ASSERT_TRUE(world.connectAll());
  for (const std::uint64_t pace : {900'000'000u, 0u}) {
    ASSERT_TRUE(sendPaced(world, 100000, pace));
    EXPECT_EQ(paces().size(), 2u);
    EXPECT_EQ(paces().count(80'000'000), 2u);
  }
  ASSERT_TRUE(sendPaced(world, 100000, 40'000'000));
  EXPECT_EQ(paces(), (std::multiset<std::uint64_t>{40'000'000, 80'000'000}));
}

TEST(TcpSettings, UnreachablePeerIsNamedWithTheAddressesThatWereTried) {
  World world(2, 2, [](Config& config) { config.bootstrap_timeout_ms = 400; });
  // No process listens at the address that rank 1 is given.
  auto closed = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
  const auto gone = *platform::localAddress(closed.value().get());
  closed.value().reset();
  Address address = decodeAddress(world[0].address).value();
  address.sockets = {gone};
  ASSERT_TRUE(world.transport(1).connect(0, encodeAddress(address)).isOk());
  ASSERT_TRUE(world.transport(0).connect(1, encodeAddress(address)).isOk());
  ASSERT_TRUE(world.until([&] {
    return world.transport(1).link(0) == LinkState::failed && world.transport(0).link(1) == LinkState::failed;
  }));
  EXPECT_THAT(world.transport(1).linkError(0).text(),
              AllOf(HasSubstr("rank 1 cannot reach rank 0 over TCP: no connection within 400 ms"),
                    HasSubstr("tried " + gone.text() + ": Connection refused")));
  EXPECT_THAT(world.transport(0).linkError(1).text(), HasSubstr("rank 1 did not call rank 0 over TCP within 400 ms"));
}

TEST(TcpSettings, TheNextAddressIsTriedWhenOneFails) {
  World world(2, 2);
  auto closed = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
  const auto gone = *platform::localAddress(closed.value().get());
  closed.value().reset();
  // Another address accepts the call but never answers.
  auto silent = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
  Address address = decodeAddress(world[0].address).value();
  address.sockets.insert(address.sockets.begin(), {gone, *platform::localAddress(silent.value().get())});
  ASSERT_TRUE(world.transport(1).connect(0, encodeAddress(address)).isOk());
  ASSERT_TRUE(world.transport(0).connect(1, world[1].address).isOk());
  ASSERT_TRUE(world.until([&] {
    return world.transport(1).link(0) == LinkState::ready && world.transport(0).link(1) == LinkState::ready;
  }));
  EXPECT_TRUE(world.exchange(0, 1, 1000));
}

TEST(TcpSettings, RefusalWhereARouterAnswersIsNotThePeers) {
  World world(2, 1);
  auto closed = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
  const auto gone = *platform::localAddress(closed.value().get());
  closed.value().reset();
  auto poller = platform::Poller::create();
  std::uint64_t token = 0;
  const TransportContext context{1, 2, world.job(), &world[0].config};
  for (const bool routed : {false, true}) {
    transports::tcp::Dialer::Target target;
    target.peer = 0;
    target.addresses = {gone};
    target.deadline = platform::Deadline::after(kLong);
    target.refusing_host = gone;
    if (routed) target.of_routers = {gone};
    transports::tcp::Dialer dialer(context, poller.value(), token, target, [](auto) {});
    dialer.start();
    for (int i = 0; i < 40; ++i) {
      for (const platform::PollEvent& event : std::vector(poller.value().wait(10)))
        dialer.handle(event.token);
      dialer.tick();
    }
    EXPECT_EQ(dialer.error().isOk(), routed) << "the peer itself has refused, unless a router may have";
  }
}

TEST(TcpSettings, AdvertisedAddressesStandInFront) {
  World world(1, 1, [](Config& config) { config.advertise = "203.0.113.7,[2001:db8::7]"; });
  const Address address = decodeAddress(world[0].address).value();
  ASSERT_EQ(address.sockets.size(), 3u);
  EXPECT_EQ(address.advertised, 2u);
  const std::uint16_t port = address.sockets[2].port();
  EXPECT_EQ(address.sockets[0].text(), "203.0.113.7:" + std::to_string(port));
  EXPECT_EQ(address.sockets[1].text(), "[2001:db8::7]:" + std::to_string(port));
  EXPECT_EQ(address.sockets[2].host(), "127.0.0.1");
}

TEST(TcpSettings, ReachabilityIsTheSameFromBothEnds) {
  World world(2, 2);
  EXPECT_TRUE(world.transport(0).reaches(world[1].address));
  EXPECT_TRUE(world.transport(1).reaches(world[0].address));
  Address far = decodeAddress(world[1].address).value();
  far.host_identity = "elsewhere";
  EXPECT_FALSE(world.transport(0).reaches(encodeAddress(far))) << "loopback of another host";
  far.sockets = {*platform::SocketAddress::parse("10.1.2.3", 80)};
  EXPECT_FALSE(world.transport(0).reaches(encodeAddress(far))) << "it could not call back: we offer loopback alone";
  EXPECT_FALSE(world.transport(0).reaches("garbage"));
}

} // namespace
} // namespace goss::test

// The order in which a peer's addresses are tried, with and without routers between the two.
#include "transports/tcp/meet/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace goss::transports::tcp {
namespace {

using platform::SocketAddress;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

SocketAddress at(const std::string& host, std::uint16_t port) { return *SocketAddress::parse(host, port); }
std::string raw(const std::string& host) { return at(host, 0).bytes(); }

std::vector<std::string> texts(const std::vector<SocketAddress>& sockets) {
  std::vector<std::string> all;
  for (const SocketAddress& socket : sockets)
    all.push_back(socket.text());
  return all;
}

const Address kHome{"home", {at("192.168.1.5", 31000), at("127.0.0.1", 31000)}, 0};
const Address kOther{"other", {at("192.168.1.9", 31001), at("127.0.0.1", 31001)}, 0};
const Address kAdvertised{"other", {at("203.0.113.7", 41000), at("192.168.1.9", 31001), at("127.0.0.1", 31001)}, 1};
/// On the side of rank 0, and behind a router that is called for it from outside.
const Site kInside;
const Site kOutside{raw("198.51.100.3"), raw("203.0.113.7")};

TEST(TcpReach, WithoutRoutersThePeersOwnAddressesAreCalled) {
  const Reach reach = reachOf(kHome, kInside, kOther, kInside);
  EXPECT_THAT(texts(reach.sockets), ElementsAre("192.168.1.9:31001"));
  EXPECT_THAT(reach.of_routers, IsEmpty());
}

TEST(TcpReach, OnOneHostLoopbackComesFirst) {
  Address neighbour = kOther;
  neighbour.host_identity = "home";
  EXPECT_THAT(texts(reachOf(kHome, kInside, neighbour, kInside).sockets),
              ElementsAre("127.0.0.1:31001", "192.168.1.9:31001"));
}

TEST(TcpReach, FarPeersAreCalledWhereTheyAdvertise) {
  const Reach reach = reachOf(kHome, kOutside, kAdvertised, kInside);
  EXPECT_THAT(texts(reach.sockets), ElementsAre("203.0.113.7:41000", "192.168.1.9:31001"));
  EXPECT_THAT(texts(reach.of_routers), ElementsAre("203.0.113.7:41000"));
}

TEST(TcpReach, FarPeersAreCalledWhereTheyWereMet) {
  // Rank 0 or a neighbour of its, from outside: at the address at which rank 0 was called.
  EXPECT_THAT(texts(reachOf(kHome, kOutside, kOther, kInside).sockets),
              ElementsAre("203.0.113.7:31001", "192.168.1.9:31001"));
  // A rank outside, as seen from inside and from elsewhere: at the address from which it calls.
  const Site third{raw("192.0.2.1"), raw("203.0.113.7")};
  for (const Site& own : {kInside, third}) {
    const Reach reach = reachOf(kHome, own, kOther, kOutside);
    EXPECT_THAT(texts(reach.sockets), ElementsAre("198.51.100.3:31001", "192.168.1.9:31001"));
    EXPECT_THAT(texts(reach.of_routers), ElementsAre("198.51.100.3:31001"));
  }
}

TEST(TcpReach, PeersBehindTheSameRouterTalkByTheirOwnAddresses) {
  EXPECT_THAT(texts(reachOf(kHome, kOutside, kAdvertised, kOutside).sockets),
              ElementsAre("192.168.1.9:31001", "203.0.113.7:41000", "198.51.100.3:31001"));
}

TEST(TcpReach, AddressesThatAreThisHostsOwnComeLast) {
  const Address twin{"twin", {at("192.168.1.5", 31001), at("10.0.0.2", 31001)}, 0};
  EXPECT_THAT(texts(reachOf(kHome, kInside, twin, kOutside).sockets),
              ElementsAre("198.51.100.3:31001", "10.0.0.2:31001", "192.168.1.5:31001"));
}

TEST(TcpReach, WhatIsAdvertisedOfTheHostItselfIsNoRouter) {
  const Address cloud{"cloud", {at("203.0.113.7", 31000), at("203.0.113.7", 31000)}, 1};
  const Reach reach = reachOf(kHome, kOutside, cloud, kInside);
  EXPECT_THAT(texts(reach.sockets), ElementsAre("203.0.113.7:31000"));
  EXPECT_THAT(reach.of_routers, IsEmpty());
}

TEST(TcpReach, LoopbackAloneMeetsNoOtherHostFromEitherEnd) {
  const Address lonely{"lonely", {at("127.0.0.1", 31000)}, 0};
  EXPECT_THAT(reachOf(kHome, kInside, lonely, kInside).sockets, IsEmpty());
  EXPECT_THAT(reachOf(lonely, kInside, kHome, kInside).sockets, IsEmpty());
}

} // namespace
} // namespace goss::transports::tcp

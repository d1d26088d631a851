#include "platform/advertisement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace goss::platform {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> addresses(const char* text, PortRange listening, std::uint16_t port) {
  const auto parsed = Advertisement::parse(text, listening);
  EXPECT_TRUE(parsed.isOk()) << parsed.status().text();
  const auto advertised = parsed.value().addresses(port);
  std::vector<std::string> found;
  for (const SocketAddress& address : advertised.value())
    found.push_back(address.text());
  return found;
}

TEST(Advertisement, WithoutPortsTheyAreThoseThatAreListenedOn) {
  EXPECT_THAT(addresses("203.0.113.7", {}, 4711), ElementsAre("203.0.113.7:4711"));
  EXPECT_THAT(addresses("2001:db8::7", {}, 4711), ElementsAre("[2001:db8::7]:4711"));
  EXPECT_THAT(addresses("", {}, 4711), ElementsAre());
}

TEST(Advertisement, PortsStandForThoseThatAreListenedOnInOrder) {
  EXPECT_THAT(addresses("203.0.113.7:41000-41003", {31000, 31003}, 31002), ElementsAre("203.0.113.7:41002"));
  EXPECT_THAT(addresses("203.0.113.7:41000,[2001:db8::7]:42000,10.0.0.1", {31000, 31000}, 31000),
              ElementsAre("203.0.113.7:41000", "[2001:db8::7]:42000", "10.0.0.1:31000"));
}

TEST(Advertisement, AnyPortsToListenOnBecomeTheFirstThatAreAdvertised) {
  const auto parsed = Advertisement::parse("10.0.0.1,203.0.113.7:41000-41003", {});
  ASSERT_TRUE(parsed.isOk());
  EXPECT_EQ(parsed.value().listening().first, 41000);
  EXPECT_EQ(parsed.value().listening().last, 41003);
  EXPECT_THAT(addresses("203.0.113.7:41000-41003", {}, 41001), ElementsAre("203.0.113.7:41001"));
}

TEST(Advertisement, NamesAreLookedUp) {
  EXPECT_FALSE(addresses("localhost:41000", {31000, 31000}, 31000).empty());
  const auto parsed = Advertisement::parse("no-such-host.invalid", {});
  ASSERT_TRUE(parsed.isOk());
  EXPECT_THAT(parsed.value().addresses(1).status().text(),
              AllOf(HasSubstr("GOSS_ADVERTISE"), HasSubstr("no-such-host.invalid")));
}

TEST(Advertisement, WhatIsMalformedIsRefusedByName) {
  for (const char* text : {":5", "10.0.0.1:", "10.0.0.1:x", "10.0.0.1:0", "10.0.0.1:70000", "10.0.0.1:5-4", "[::1",
                           "[::1]5", "10.0.0.1,,10.0.0.2", "10.0.0.1:5-"}) {
    const auto parsed = Advertisement::parse(text, {});
    ASSERT_FALSE(parsed.isOk()) << text;
    EXPECT_EQ(parsed.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(parsed.status().text(), HasSubstr("GOSS_ADVERTISE")) << text;
  }
  EXPECT_THAT(Advertisement::parse("10.0.0.1:5-7", {31000, 31003}).status().text(),
              HasSubstr("has 3 ports, but 4 are listened on"));
}

} // namespace
} // namespace goss::platform

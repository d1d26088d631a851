#include "platform/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>

#include "platform/clock.h"
#include "platform/host.h"
#include "platform/poller.h"
#include "tests/lib/platform/listening.h"

namespace goss::platform {
namespace {

using ::testing::HasSubstr;

bool waitWritable(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  return ::poll(&entry, 1, 2000) == 1;
}

void exchangeOneByte(const std::string& host) {
  auto listener = listenOn(*SocketAddress::parse(host, 0), {});
  ASSERT_TRUE(listener.isOk()) << listener.status().text();
  EXPECT_TRUE(test::isListening(listener.value().get()));
  const auto at = localAddress(listener.value().get());
  ASSERT_TRUE(at);
  auto caller = dial(*at);
  ASSERT_TRUE(caller.isOk()) << caller.status().text();
  ASSERT_TRUE(waitWritable(caller.value().get()));
  EXPECT_EQ(socketError(caller.value().get()), 0);
  auto accepted = acceptFrom(listener.value().get());
  ASSERT_TRUE(accepted.isOk());
  ASSERT_TRUE(accepted.value().fd.valid());
  EXPECT_EQ(accepted.value().from.host(), host);
  tuneForMessages(caller.value().get());
  ASSERT_EQ(::write(caller.value().get(), "x", 1), 1);
  pollfd entry{accepted.value().fd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 2000), 1);
  char byte = 0;
  EXPECT_EQ(::read(accepted.value().fd.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST(Socket, ConnectsOverIpv4) { exchangeOneByte("127.0.0.1"); }
TEST(Socket, ConnectsOverIpv6) { exchangeOneByte("::1"); }

TEST(Socket, PaceIsLimitedOnRequest) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(paceLimit(fd.get()), std::nullopt);
  ASSERT_TRUE(limitPace(fd.get(), 12'500'000));
  EXPECT_EQ(paceLimit(fd.get()), 12'500'000u);
}

TEST(Socket, CongestionControlIsPickedByPathOrName) {
  auto listener = listenOn(*SocketAddress::parse("127.0.0.1", 0), {});
  ASSERT_TRUE(listener.isOk());
  auto caller = dial(*localAddress(listener.value().get()));
  ASSERT_TRUE(caller.isOk());
  ASSERT_TRUE(waitWritable(caller.value().get()));
  const int fd = caller.value().get();
  EXPECT_TRUE(tuneForPath(fd, "reno")) << "every kernel has it";
  EXPECT_EQ(congestionControl(fd), "reno");
  relearnPath(fd);
  EXPECT_EQ(congestionControl(fd), "reno") << "it is as it was";
  EXPECT_FALSE(tuneForPath(fd, "no-such-control"));
  EXPECT_EQ(congestionControl(fd), "reno");
  if (tuneForPath(fd, "bbr")) {
    relearnPath(fd);
    EXPECT_EQ(congestionControl(fd), "bbr");
  }
  EXPECT_TRUE(tuneForPath(fd, ""));
  EXPECT_THAT(congestionControl(fd), testing::AnyOf("cubic", "reno")) << "cubic on one host, where there is one";
}

TEST(Socket, WildcardListenerTakesBothFamiliesAndUnmapsIpv4Callers) {
  auto listener = listenOnAll({});
  ASSERT_TRUE(listener.isOk()) << listener.status().text();
  const std::uint16_t port = localAddress(listener.value().get())->port();
  for (const char* host : {"127.0.0.1", "::1"}) {
    auto caller = dial(*SocketAddress::parse(host, port));
    ASSERT_TRUE(caller.isOk()) << caller.status().text();
    ASSERT_TRUE(waitWritable(caller.value().get()));
    auto accepted = acceptFrom(listener.value().get());
    ASSERT_TRUE(accepted.isOk() && accepted.value().fd.valid());
    EXPECT_EQ(accepted.value().from.host(), host);
  }
}

TEST(Socket, PortRangeIsWalkedAndItsExhaustionNamed) {
  const SocketAddress here = *SocketAddress::parse("127.0.0.1", 0);
  auto first = listenOn(here, {});
  ASSERT_TRUE(first.isOk());
  const std::uint16_t taken = localAddress(first.value().get())->port();
  auto full = listenOn(here, {taken, taken});
  ASSERT_FALSE(full.isOk());
  EXPECT_EQ(full.status().kind(), GOSS_ERR_RESOURCE);
  EXPECT_THAT(full.status().text(), HasSubstr("cannot listen on 127.0.0.1, ports"));
}

TEST(Socket, ParsesOnlyNumericAddresses) {
  EXPECT_EQ(SocketAddress::parse("10.1.2.3", 80)->text(), "10.1.2.3:80");
  EXPECT_EQ(SocketAddress::parse("fd00::2", 80)->text(), "[fd00::2]:80");
  EXPECT_EQ(SocketAddress::parse("::ffff:10.1.2.3", 80)->text(), "10.1.2.3:80");
  for (const char* wrong : {"", "eth0", "10.1", "7", "1.2.3.4.5", "localhost", "10.1.2.256", ":::"})
    EXPECT_FALSE(SocketAddress::parse(wrong, 1)) << wrong;
}

TEST(Socket, AddressSurvivesItsBytes) {
  for (const char* host : {"127.0.0.1", "fd00::2"}) {
    const auto back = SocketAddress::fromBytes(SocketAddress::parse(host, 9)->bytes(), 9);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->host(), host);
  }
  EXPECT_FALSE(SocketAddress::fromBytes("abc", 1));
}

TEST(Socket, InterfaceIsChosenByNameOrAddress) {
  for (const char* choice : {"lo", "127.0.0.1", "::1"}) {
    auto found = interfaceAddresses(choice);
    ASSERT_TRUE(found.isOk()) << found.status().text();
    for (const SocketAddress& address : found.value())
      EXPECT_TRUE(address.loopback()) << address.text();
  }
  auto missing = interfaceAddresses("nosuch0");
  ASSERT_FALSE(missing.isOk());
  EXPECT_EQ(missing.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(missing.status().text(), HasSubstr("\"nosuch0\""));
  EXPECT_THAT(missing.status().text(), HasSubstr("lo 127.0.0.1"));
}

TEST(Socket, LoopbackComesLast) {
  auto all = interfaceAddresses("");
  ASSERT_TRUE(all.isOk());
  bool loopback_seen = false;
  for (const SocketAddress& address : all.value()) {
    EXPECT_FALSE(loopback_seen && !address.loopback());
    loopback_seen = loopback_seen || address.loopback();
  }
  EXPECT_TRUE(loopback_seen);
}

TEST(Poller, ReportsReadableDescriptorsByToken) {
  auto poller = Poller::create();
  auto wakeup = Wakeup::create();
  ASSERT_TRUE(poller.isOk() && wakeup.isOk());
  ASSERT_TRUE(poller.value().add(wakeup.value().fd(), true, false, 42).isOk());
  EXPECT_TRUE(poller.value().wait(0).empty());
  wakeup.value().notify();
  ASSERT_EQ(poller.value().wait(1000).size(), 1u);
  EXPECT_EQ(poller.value().wait(0)[0].token, 42u);
  EXPECT_TRUE(wakeup.value().drain());
  EXPECT_FALSE(wakeup.value().drain());
  EXPECT_TRUE(poller.value().wait(0).empty());
}

TEST(Deadline, ExpiresAndSaturates) {
  EXPECT_TRUE(Deadline::after(std::chrono::milliseconds(-1)).expired());
  EXPECT_FALSE(Deadline::after(std::chrono::hours(1)).expired());
  EXPECT_TRUE(Deadline::after(std::chrono::milliseconds::max()).never());
  EXPECT_EQ(Deadline().pollMs(), -1);
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(Deadline(now + std::chrono::microseconds(1)).pollMs(now), 1);
}

TEST(Host, IdentityIsStableAndRandomIsNot) {
  EXPECT_EQ(hostIdentity().text(), hostIdentity().text());
  std::array<std::byte, 16> a{}, b{};
  ASSERT_TRUE(fillRandom(a).isOk() && fillRandom(b).isOk());
  EXPECT_FALSE(equalInConstantTime(a, b));
  EXPECT_TRUE(equalInConstantTime(a, a));
  EXPECT_FALSE(equalInConstantTime(a, std::span(a).first(15)));
}

} // namespace
} // namespace goss::platform

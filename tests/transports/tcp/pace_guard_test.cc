#include "transports/tcp/link/pace_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "platform/clock.h"
#include "platform/socket.h"
#include "platform/stream.h"

namespace {

using goss::platform::BbrState;
using goss::transports::tcp::PaceGuard;

constexpr double kRate = 100e6;
constexpr std::uint32_t kRoundTrip_us = 100'000;
constexpr std::uint64_t kProduct = 10'000'000; ///< The same bandwidth-delay product for both paths.

/// A path whose queue is empty, while bbr seeks its rate.
BbrState seeking(double rate) {
  BbrState state;
  state.seeking = true;
  state.rate_bytes_per_s = rate;
  state.round_trip_us = state.least_round_trip_us = kRoundTrip_us;
  state.in_flight_bytes = kProduct / 2;
  return state;
}

BbrState queued(double rate) {
  BbrState state = seeking(rate);
  state.round_trip_us = kRoundTrip_us * 3 / 2;
  state.in_flight_bytes = 2 * kProduct;
  return state;
}

TEST(PaceGuard, LeavesAloneWhoStillFindsMore) {
  PaceGuard guard;
  for (double rate = 1e6; rate < kRate; rate *= 2)
    EXPECT_EQ(guard.judge(queued(rate)), 0U);
}

TEST(PaceGuard, BoundsWhereTheQueueShowsThatThePathIsFull) {
  PaceGuard guard;
  EXPECT_EQ(guard.judge(queued(kRate)), 0U);
  const std::uint64_t bound = guard.judge(queued(kRate));
  EXPECT_GT(bound, static_cast<std::uint64_t>(1.1 * kRate));
  EXPECT_LT(bound, static_cast<std::uint64_t>(1.5 * kRate));
  EXPECT_EQ(guard.judge(seeking(kRate)), bound) << "an empty queue is what the bound is for";
}

TEST(PaceGuard, BoundsWhereTheQueueHasOverflowed) {
  PaceGuard guard;
  BbrState state = seeking(kRate);
  state.sent_segments = 0xFFFFF000U; // Counts run over.
  state.resent_segments = 0xFFFFFFF0U;
  EXPECT_EQ(guard.judge(state), 0U);
  state.sent_segments += 10'000;
  state.resent_segments += 100; // 1 %: by chance.
  EXPECT_EQ(guard.judge(state), 0U);
  state.sent_segments += 10'000;
  state.resent_segments += 2'000;
  EXPECT_GT(guard.judge(state), 0U);
}

TEST(PaceGuard, SlowSendersAreNotTakenForFullPaths) {
  PaceGuard guard;
  BbrState state = seeking(1e5);
  for (int round = 0; round < 10; ++round)
    EXPECT_EQ(guard.judge(state), 0U);
  // A long round trip is a busy machine's while little is under way.
  state.round_trip_us *= 4;
  state.in_flight_bytes = 5'000;
  EXPECT_EQ(guard.judge(state), 0U);
}

/// Pings, whose answers are acknowledged late, and then the first bytes of a large message.
TEST(PaceGuard, ShortMessagesSayNothingOfThePath) {
  PaceGuard guard;
  BbrState state = seeking(72e3);
  state.round_trip_us = kRoundTrip_us * 3 / 2;
  for (const std::uint64_t in_flight : {1'448, 2'896, 14'480, 0}) {
    state.in_flight_bytes = in_flight;
    EXPECT_EQ(guard.judge(state), 0U);
  }
  state.in_flight_bytes = 10 * kProduct;
  EXPECT_EQ(guard.judge(state), 0U) << "what has just been sent has not arrived yet";
  EXPECT_GT(guard.judge(state), 0U);
}

TEST(PaceGuard, GivesUpItsBoundWhenThereIsMoreAndWhenBbrHasFoundItsRate) {
  PaceGuard guard;
  guard.judge(queued(kRate));
  ASSERT_GT(guard.judge(queued(kRate)), 0U);
  EXPECT_EQ(guard.judge(seeking(1.2 * kRate)), 0U);
  guard.judge(queued(1.2 * kRate));
  ASSERT_GT(guard.judge(queued(1.2 * kRate)), 0U);
  BbrState found = seeking(1.2 * kRate);
  found.seeking = false;
  EXPECT_EQ(guard.judge(found), 0U);
}

constexpr auto kAdvised = static_cast<std::uint64_t>(kRate);

/// At rest, after messages that were too short to learn from.
BbrState slow() {
  BbrState state = seeking(kRate / 4);
  state.in_flight_bytes = 0;
  state.pace_bytes_per_s = kRate / 2;
  state.anew_bytes_per_s = 2 * kRate;
  return state;
}

TEST(PaceGuard, MakesASlowConnectionBeginAnewForAMessageWhosePathIsKnown) {
  BbrState state = slow();
  EXPECT_TRUE(PaceGuard::shouldRestart(state, kAdvised));
  state.seeking = false;
  EXPECT_TRUE(PaceGuard::shouldRestart(state, kAdvised));
  state.in_flight_bytes = 1;
  EXPECT_FALSE(PaceGuard::shouldRestart(state, kAdvised))
      << "on its way it may have found out that others use the path";
}

TEST(PaceGuard, KeepsARateThatWasFound) {
  BbrState state = slow();
  state.pace_bytes_per_s = kRate;
  EXPECT_TRUE(PaceGuard::shouldRestart(state, kAdvised)) << "while it seeks there is none";
  state.seeking = false;
  EXPECT_FALSE(PaceGuard::shouldRestart(state, kAdvised));
}

TEST(PaceGuard, DoesNotBeginAnewWithASmallWindow) {
  BbrState state = slow();
  state.anew_bytes_per_s = kRate / 4; // As while it looks for the shortest round trip.
  EXPECT_FALSE(PaceGuard::shouldRestart(state, kAdvised));
}

/// bbr has settled for a rate, and more waits to be sent.
BbrState settled(double rate) {
  BbrState state = seeking(rate);
  state.seeking = false;
  state.unsent_bytes = kProduct;
  return state;
}

TEST(PaceGuard, LearnsAnewWhereBbrHasSettledForFarLessThanWasAdvised) {
  PaceGuard guard;
  guard.advise(-1, kAdvised);
  EXPECT_FALSE(guard.isTooSlow(settled(0.9 * kRate)));
  EXPECT_FALSE(guard.isTooSlow(seeking(0.1 * kRate))) << "it still looks for more";
  BbrState idle = settled(0.1 * kRate);
  idle.unsent_bytes = 0;
  EXPECT_FALSE(guard.isTooSlow(idle)) << "there was no more to be sent";
  EXPECT_TRUE(guard.isTooSlow(settled(0.1 * kRate)));
}

TEST(PaceGuard, LearnsAnewSeldomWhereThatBroughtNothing) {
  PaceGuard guard;
  guard.advise(-1, kAdvised);
  const auto attempts = [&guard](int round_trips, double rate) {
    int count = 0;
    for (int i = 0; i < round_trips; ++i)
      count += guard.isTooSlow(settled(rate)) ? 1 : 0;
    return count;
  };
  const int first = attempts(200, 0.1 * kRate);
  EXPECT_GE(first, 3);
  EXPECT_LE(first, 8);
  EXPECT_LE(attempts(1000, 0.1 * kRate), 4);
  // Its rate has changed since: another path, or other traffic.
  EXPECT_GE(attempts(1000, 0.5 * kRate), 1);
}

TEST(PaceGuard, WithoutAdviceNothingLags) {
  PaceGuard guard;
  EXPECT_FALSE(guard.isTooSlow(settled(1)));
}

/// Two ends of a connection over loopback.
struct Connection {
  Connection() {
    namespace platform = goss::platform;
    const platform::UniqueFd listener = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {}).take();
    ends[0] = platform::dial(*platform::localAddress(listener.get())).take();
    const auto deadline = platform::Deadline::after(std::chrono::seconds(10));
    while (!ends[1].valid() && !deadline.expired())
      ends[1] = std::move(platform::acceptFrom(listener.get()).value().fd);
    EXPECT_TRUE(ends[1].valid());
    EXPECT_TRUE(platform::waitWritable(ends[0].get(), deadline));
  }

  /// Sends so many bytes, and asks `guard` meanwhile. Returns how long they took.
  double carry(PaceGuard& guard, std::size_t bytes) {
    const auto begun = std::chrono::steady_clock::now();
    const std::vector<char> out(1 << 16);
    std::vector<char> in(1 << 16);
    std::size_t sent = 0;
    std::size_t received = 0;
    const auto deadline = goss::platform::Deadline::after(std::chrono::seconds(20));
    while (received < bytes && !deadline.expired()) {
      sent += goss::platform::writeSome(ends[0].get(), out.data(), std::min(out.size(), bytes - sent)).bytes;
      received += goss::platform::readSome(ends[1].get(), in.data(), in.size()).bytes;
      guard.update(ends[0].get());
    }
    EXPECT_EQ(received, bytes);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

  std::array<goss::platform::UniqueFd, 2> ends; ///< 0 sends.
};

TEST(PaceGuardOnASocket, KeepsAConnectionWithBbrAtWhatIsAdvised) {
  namespace platform = goss::platform;
  Connection connection;
  const int fd = connection.ends[0].get();
  if (!platform::tuneForPath(fd, "bbr")) GTEST_SKIP() << "the kernel offers no bbr to this user";
  if (!platform::bbrState(fd)) GTEST_SKIP() << "the kernel does not tell what bbr has found";
  PaceGuard guard;
  guard.reset(fd);
  connection.carry(guard, 4 << 20);
  EXPECT_GT(platform::bbrState(fd)->rate_bytes_per_s, 0);

  constexpr std::uint64_t kAdvice = 10'000'000;
  guard.advise(fd, kAdvice);
  EXPECT_EQ(platform::paceLimit(fd), kAdvice);
  // Half of the time, as what fits in one burst and in buffers is not held up.
  EXPECT_GT(connection.carry(guard, 4 << 20), 0.5 * (4 << 20) / kAdvice);
  EXPECT_EQ(platform::paceLimit(fd), kAdvice) << "what bbr has seen meanwhile is the advice";
  EXPECT_EQ(platform::congestionControl(fd), "bbr");

  guard.advise(fd, 0);
  EXPECT_EQ(platform::paceLimit(fd), std::nullopt);
  connection.carry(guard, 4 << 20);
  EXPECT_EQ(platform::congestionControl(fd), "bbr") << "also after it has begun anew";
}

TEST(PaceGuardOnASocket, LeavesAConnectionWithoutBbrAlone) {
  Connection connection;
  const int fd = connection.ends[0].get();
  ASSERT_TRUE(goss::platform::tuneForPath(fd, "reno"));
  PaceGuard guard;
  guard.reset(fd);
  connection.carry(guard, 4 << 20);
  EXPECT_EQ(goss::platform::paceLimit(fd), std::nullopt);
  EXPECT_EQ(goss::platform::congestionControl(fd), "reno");
}

} // namespace

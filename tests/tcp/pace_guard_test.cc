#include "transports/tcp/pace_guard.h"

#include <gtest/gtest.h>

namespace {

using goss::platform::BbrState;
using goss::transports::tcp::PaceGuard;

constexpr double kRate = 100e6;
constexpr std::uint32_t kRoundTrip_us = 100'000;
constexpr std::uint64_t kProduct = 10'000'000; ///< Of both.

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

TEST(PaceGuard, GivesUpItsBoundWhenThereIsMoreAndWhenBbrHasFoundItsRate) {
  PaceGuard guard;
  guard.judge(queued(kRate));
  ASSERT_GT(guard.judge(queued(kRate)), 0U);
  EXPECT_EQ(guard.judge(seeking(1.2 * kRate)), 0U);
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
  EXPECT_TRUE(PaceGuard::beginsAnew(state, kAdvised));
  state.seeking = false;
  EXPECT_TRUE(PaceGuard::beginsAnew(state, kAdvised));
  state.in_flight_bytes = 1;
  EXPECT_FALSE(PaceGuard::beginsAnew(state, kAdvised)) << "on its way it may have found out that others use the path";
}

TEST(PaceGuard, KeepsARateThatWasFound) {
  BbrState state = slow();
  state.pace_bytes_per_s = kRate;
  EXPECT_TRUE(PaceGuard::beginsAnew(state, kAdvised)) << "while it seeks there is none";
  state.seeking = false;
  EXPECT_FALSE(PaceGuard::beginsAnew(state, kAdvised));
}

TEST(PaceGuard, DoesNotBeginAnewWithASmallWindow) {
  BbrState state = slow();
  state.anew_bytes_per_s = kRate / 4; // As while it looks for the shortest round trip.
  EXPECT_FALSE(PaceGuard::beginsAnew(state, kAdvised));
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
  EXPECT_FALSE(guard.lags(settled(0.9 * kRate)));
  EXPECT_FALSE(guard.lags(seeking(0.1 * kRate))) << "it still looks for more";
  BbrState idle = settled(0.1 * kRate);
  idle.unsent_bytes = 0;
  EXPECT_FALSE(guard.lags(idle)) << "there was no more to be sent";
  EXPECT_TRUE(guard.lags(settled(0.1 * kRate)));
}

TEST(PaceGuard, LearnsAnewSeldomWhereThatBroughtNothing) {
  PaceGuard guard;
  guard.advise(-1, kAdvised);
  const auto attempts = [&guard](int round_trips, double rate) {
    int count = 0;
    for (int i = 0; i < round_trips; ++i)
      count += guard.lags(settled(rate)) ? 1 : 0;
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
  EXPECT_FALSE(guard.lags(settled(1)));
}

} // namespace

#include "call/history.h"

#include <gtest/gtest.h>

namespace goss {
namespace {

/// An all_reduce of `count` elements is the next call.
void call(History& history, std::uint64_t count) {
  Signature signature;
  signature.collective = Collective::allReduce;
  signature.count = count;
  signature.history = history.hash();
  history.add(signature.encode());
}

std::uint64_t countAt(const History& history, std::uint64_t number) {
  return Signature::decode(history.at(number)).count;
}

History sent(const History& history) { return *History::decode(history.first(), history.encode()); }

TEST(History, NumbersCallsAndHashesAllOfThem) {
  History one, same, other;
  EXPECT_EQ(one.hash(), 0U);
  for (const std::uint64_t count : {5, 6, 7}) {
    call(one, count);
    call(same, count);
    call(other, count == 6 ? 60 : count);
  }
  EXPECT_EQ(one.next(), 3U);
  EXPECT_EQ(one.hash(), same.hash());
  EXPECT_NE(one.hash(), other.hash()) << "the last calls are equal";
  EXPECT_EQ(countAt(other, 1), 60U);
}

TEST(History, FindsTheFirstCallThatDiffers) {
  for (std::uint64_t different = 0; different < 100; ++different) {
    History ours, theirs;
    for (std::uint64_t i = 0; i < 100; ++i) {
      call(ours, i);
      call(theirs, i == different ? 1000 : i);
    }
    const auto number = ours.firstDifference(sent(theirs));
    ASSERT_TRUE(number.has_value());
    const bool kept = different >= 100 - History::kKept;
    EXPECT_EQ(*number, kept ? different : 100 - History::kKept - 1);
    EXPECT_EQ(ours.holds(*number), kept);
  }
}

TEST(History, FindsItWhereOneRankHasCalledMore) {
  History ours, theirs;
  for (std::uint64_t i = 0; i < 80; ++i)
    call(ours, i == 30 ? 1000 : i);
  for (std::uint64_t i = 0; i < 40; ++i)
    call(theirs, i);
  EXPECT_EQ(ours.firstDifference(sent(theirs)), 30U);
  EXPECT_EQ(theirs.firstDifference(sent(ours)), 30U);
  for (std::uint64_t i = 80; i < 200; ++i)
    call(ours, i);
  EXPECT_EQ(theirs.firstDifference(sent(ours)), std::nullopt) << "they hold no call in common";
}

TEST(History, OfEqualCallsHasNoDifference) {
  History ours, theirs;
  EXPECT_EQ(ours.firstDifference(theirs), std::nullopt);
  for (std::uint64_t i = 0; i < 70; ++i) {
    call(ours, i);
    if (i < 68) call(theirs, i);
  }
  EXPECT_EQ(ours.firstDifference(sent(theirs)), std::nullopt);
  EXPECT_EQ(theirs.firstDifference(sent(ours)), std::nullopt);
}

TEST(History, WhatReplacesACallIsNoDifference) {
  History ours, theirs;
  for (std::uint64_t i = 0; i < 70; ++i) {
    call(ours, i);
    call(theirs, i);
  }
  Signature phase = Signature::decode(ours.at(50));
  phase.detail = 77;
  ours.replace(50, phase.encode());
  EXPECT_EQ(Signature::decode(ours.at(50)).detail, 77U);
  ours.replace(3, phase.encode());
  EXPECT_EQ(countAt(ours, 67), 67U) << "number 3 is no longer held";
  EXPECT_EQ(ours.firstDifference(sent(theirs)), std::nullopt);
}

TEST(History, ComesBackAsItWasSent) {
  History history;
  for (std::uint64_t i = 0; i < 100; ++i)
    call(history, i);
  const History decoded = sent(history);
  EXPECT_EQ(decoded.first(), 100 - History::kKept);
  EXPECT_EQ(decoded.next(), 100U);
  EXPECT_EQ(decoded.hash(), history.hash());
  EXPECT_FALSE(decoded.holds(100 - History::kKept - 1));
  EXPECT_FALSE(decoded.holds(100));
  EXPECT_EQ(countAt(decoded, 99), 99U);
  EXPECT_TRUE(History::decode(7, "").has_value());
}

TEST(History, IsRefusedWhenMalformed) {
  History history;
  for (std::uint64_t i = 0; i < 100; ++i)
    call(history, i);
  const std::string bytes = history.encode();
  EXPECT_FALSE(History::decode(36, bytes.substr(1)).has_value());
  EXPECT_FALSE(History::decode(36, bytes + bytes.substr(0, 24)).has_value());
  EXPECT_FALSE(History::decode(~std::uint64_t{0}, bytes).has_value());
}

} // namespace
} // namespace goss

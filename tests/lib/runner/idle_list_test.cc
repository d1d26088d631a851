/// Which objects an IdleList keeps, and which it removes to make space.
#include "runner/idle_list.h"

#include <gtest/gtest.h>

namespace goss {
namespace {

struct Idle {
  int name;
  std::size_t bytes;
  [[nodiscard]] std::size_t heldBytes() const { return bytes; }
};

using List = IdleList<Idle>;

std::unique_ptr<Idle> idle(int name, std::size_t bytes) { return std::make_unique<Idle>(Idle{name, bytes}); }

bool has(List& list, int name) {
  auto found = list.take([&](const Idle& one) { return one.name == name; });
  const bool is_there = found != nullptr;
  if (is_there) list.put(std::move(found));
  return is_there;
}

TEST(IdleList, GivesBackWhatFits) {
  List list;
  list.put(idle(1, 10));
  list.put(idle(2, 20));
  EXPECT_EQ(list.heldBytes(), 30u);
  EXPECT_EQ(list.take([](const Idle& one) { return one.name == 2; })->name, 2);
  EXPECT_EQ(list.take([](const Idle& one) { return one.name == 2; }), nullptr);
  EXPECT_EQ(list.heldBytes(), 10u);
}

TEST(IdleList, ForgetsThoseOfLongestAgoWhenTheyAreTooMany) {
  List list;
  for (int name = 0; name < 70; ++name)
    list.put(idle(name, 1));
  EXPECT_EQ(list.size(), List::kMax);
  EXPECT_EQ(list.heldBytes(), List::kMax);
  EXPECT_FALSE(has(list, 5));
  EXPECT_TRUE(has(list, 6));
}

TEST(IdleList, KeepsNoMoreThanSoManyBytes) {
  List list;
  list.put(idle(1, List::kMaxBytes / 2));
  list.put(idle(2, List::kMaxBytes / 2));
  EXPECT_EQ(list.size(), 2u);
  list.put(idle(3, 1));
  EXPECT_FALSE(has(list, 1));
  EXPECT_TRUE(has(list, 2));
  EXPECT_TRUE(has(list, 3));
  EXPECT_LE(list.heldBytes(), List::kMaxBytes);
}

TEST(IdleList, WhatIsTooLargeByItselfDrivesOutNobody) {
  List list;
  list.put(idle(1, 5));
  list.put(idle(2, List::kMaxBytes + 1));
  EXPECT_TRUE(has(list, 1));
  EXPECT_FALSE(has(list, 2));
  EXPECT_EQ(list.heldBytes(), 5u);
}

} // namespace
} // namespace goss

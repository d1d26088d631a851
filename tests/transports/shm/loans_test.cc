// What a rank lends to the other processes of its host.
#include <gtest/gtest.h>

#include "transports/shm/loan_desk.h"

namespace goss::transports {
namespace {

constexpr Tag loan(std::uint64_t number) { return number << 24; }

/// Two ranks, and the memory that they share.
struct Ranks {
  Ranks() { connect(); }
  void connect() {
    a.attach(1, control.side[0], control.side[1]);
    b.attach(0, control.side[1], control.side[0]);
  }

  shm::SegmentControl control{};
  shm::LoanDesk a;
  shm::LoanDesk b;
};

TEST(ShmLoans, EndWhenTheLastReaderHasGivenBack) {
  Ranks ranks;
  EXPECT_FALSE(ranks.b.tryBorrow(0, loan(7))) << "It is not lent yet.";
  EXPECT_TRUE(ranks.a.tryTakeBack(loan(7)));
  EXPECT_TRUE(ranks.a.tryLend(loan(7)));
  EXPECT_TRUE(ranks.b.tryBorrow(0, loan(7)));
  EXPECT_TRUE(ranks.b.tryBorrow(0, loan(7)));
  EXPECT_FALSE(ranks.b.tryBorrow(0, loan(8)));
  EXPECT_TRUE(ranks.b.tryGiveBack(0, loan(7)));
  EXPECT_FALSE(ranks.a.tryTakeBack(loan(7)));
  EXPECT_FALSE(ranks.b.tryBorrow(0, loan(7))) << "The owner wants it back.";
  EXPECT_FALSE(ranks.b.tryGiveBack(0, loan(7))) << "What was read may be the owner's next numbers.";
  EXPECT_TRUE(ranks.a.tryTakeBack(loan(7)));
}

TEST(ShmLoans, OfBothSidesAndOfNameZeroAreTheirOwn) {
  Ranks ranks;
  EXPECT_TRUE(ranks.a.tryLend(loan(0)));
  EXPECT_FALSE(ranks.a.tryBorrow(1, loan(0)));
  EXPECT_TRUE(ranks.b.tryLend(loan(0)));
  EXPECT_TRUE(ranks.a.tryBorrow(1, loan(0)));
  EXPECT_TRUE(ranks.a.tryTakeBack(loan(0)));
  EXPECT_FALSE(ranks.b.tryTakeBack(loan(0)));
  EXPECT_FALSE(ranks.a.tryGiveBack(1, loan(0)));
}

TEST(ShmLoans, AreKnownToARankThatConnectsLater) {
  Ranks ranks;
  shm::LoanDesk late;
  EXPECT_TRUE(late.tryLend(loan(3)));
  late.attach(0, ranks.control.side[1], ranks.control.side[0]);
  EXPECT_TRUE(ranks.a.tryBorrow(1, loan(3)));
}

TEST(ShmLoans, OfALostPeerAreGivenBack) {
  Ranks ranks;
  EXPECT_TRUE(ranks.a.tryLend(loan(3)));
  EXPECT_TRUE(ranks.b.tryBorrow(0, loan(3)));
  EXPECT_FALSE(ranks.a.tryTakeBack(loan(3)));
  ranks.a.forget(1);
  EXPECT_TRUE(ranks.a.tryTakeBack(loan(3)));
  ranks.b.forget(0);
  EXPECT_FALSE(ranks.b.tryGiveBack(0, loan(3)));
}

/// A loan whose reader is stopped keeps its place until the reader goes on.
TEST(ShmLoans, AreSoMany) {
  Ranks ranks;
  for (std::uint64_t i = 0; i < shm::kLoans; ++i)
    ASSERT_TRUE(ranks.a.tryLend(loan(i + 1)));
  EXPECT_FALSE(ranks.a.tryLend(loan(1000)));
  EXPECT_TRUE(ranks.b.tryBorrow(0, loan(5)));
  EXPECT_FALSE(ranks.a.tryTakeBack(loan(5)));
  EXPECT_FALSE(ranks.a.tryLend(loan(1000)));
  EXPECT_FALSE(ranks.b.tryGiveBack(0, loan(5)));
  EXPECT_TRUE(ranks.a.tryLend(loan(1000)));
  EXPECT_TRUE(ranks.b.tryBorrow(0, loan(1000)));
}

} // namespace
} // namespace goss::transports

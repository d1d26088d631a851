// What a rank lends to others of its process.
#include "transports/loopback/loans.h"

#include <gtest/gtest.h>

namespace goss::transports::loopback {
namespace {

TEST(Loans, EndWhenTheLastReaderHasGivenBack) {
  Loans loans;
  EXPECT_FALSE(loans.tryBorrow(7)) << "It is not lent yet.";
  EXPECT_TRUE(loans.tryTakeBack(7));
  loans.lend(7);
  EXPECT_TRUE(loans.tryBorrow(7));
  EXPECT_TRUE(loans.tryBorrow(7));
  EXPECT_TRUE(loans.tryBorrow(7));
  EXPECT_TRUE(loans.tryGiveBack(7));
  EXPECT_FALSE(loans.tryBorrow(8));
  EXPECT_FALSE(loans.tryTakeBack(7));
  EXPECT_FALSE(loans.tryBorrow(7)) << "The owner wants it back.";
  EXPECT_FALSE(loans.tryGiveBack(7)) << "What was read may be the owner's next numbers.";
  EXPECT_FALSE(loans.tryTakeBack(7));
  EXPECT_FALSE(loans.tryGiveBack(7));
  EXPECT_TRUE(loans.tryTakeBack(7));
  EXPECT_FALSE(loans.tryBorrow(7));
}

} // namespace
} // namespace goss::transports::loopback

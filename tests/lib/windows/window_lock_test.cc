#include "windows/window_lock.h"

#include <gtest/gtest.h>

namespace goss {
namespace {

TEST(WindowLock, GoesToThoseThatWaitInTheirOrder) {
  WindowLock lock;
  EXPECT_TRUE(lock.claim({3, 1}));
  EXPECT_FALSE(lock.claim({1, 7}));
  EXPECT_FALSE(lock.claim({2, 1}));
  EXPECT_TRUE(lock.isHeldBy(3));
  EXPECT_FALSE(lock.isHeldBy(1));
  EXPECT_EQ(lock.release()->rank, 1);
  EXPECT_TRUE(lock.isHeldBy(1));
  EXPECT_EQ(lock.release()->rank, 2);
  EXPECT_FALSE(lock.release().has_value());
  EXPECT_FALSE(lock.isHeldBy(2));
  EXPECT_TRUE(lock.claim({1, 8}));
}

TEST(WindowLock, AClaimThatIsForgottenIsPassedOver) {
  WindowLock lock;
  EXPECT_TRUE(lock.claim({0, 1}));
  EXPECT_FALSE(lock.claim({1, 2}));
  EXPECT_FALSE(lock.claim({2, 3}));
  lock.forget({1, 1}); // there is none
  lock.forget({1, 2});
  lock.forget({0, 1}); // it holds the lock
  EXPECT_TRUE(lock.isHeldBy(0));
  EXPECT_EQ(lock.release()->rank, 2);
}

} // namespace
} // namespace goss

// The engine's queue of receives that the transports do not know yet.
#include "engine/unposted_receives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/engine/operations.h"

namespace goss {
namespace {

using ::testing::ElementsAre;

class UnpostedReceivesTest : public testing::Test {
 protected:
  LoggingHost host_;
  UnpostedReceives queue_;
  LoggingOperation a_{host_, "a"}, b_{host_, "b"}, c_{host_, "c"};
};

TEST_F(UnpostedReceivesTest, StartInTheOrderInWhichTheyWereAdded) {
  for (Operation* operation : {&a_, &b_, &c_})
    queue_.add(*operation);
  EXPECT_EQ(queue_.first(), &a_);
  queue_.removeFirst(); // Its message has come.
  EXPECT_EQ(queue_.first(), &b_);
  queue_.startAll();
  EXPECT_THAT(host_.log, ElementsAre("start b", "start c"));
  EXPECT_TRUE(queue_.isEmpty());
}

TEST_F(UnpostedReceivesTest, TakeMoreAfterTheLastWasRemoved) {
  queue_.add(a_);
  queue_.removeFirst();
  EXPECT_TRUE(queue_.isEmpty());
  EXPECT_EQ(queue_.first(), nullptr);
  queue_.add(b_);
  queue_.add(a_);
  EXPECT_EQ(queue_.first(), &b_);
  queue_.startAll();
  EXPECT_THAT(host_.log, ElementsAre("start b", "start a"));
}

// Starting an operation starts all unposted ones first, to keep posting order: those behind it must not overtake it.
TEST_F(UnpostedReceivesTest, AreGoneBeforeTheFirstOfThemStarts) {
  queue_.add(a_);
  queue_.add(b_);
  host_.then = [&](Operation& operation) {
    EXPECT_TRUE(queue_.isEmpty());
    queue_.startAll();
    if (&operation == &b_) queue_.add(c_);
  };
  queue_.startAll();
  EXPECT_THAT(host_.log, ElementsAre("start a", "start b"));
  EXPECT_EQ(queue_.first(), &c_) << "added meanwhile";
}

} // namespace
} // namespace goss

#include "messages/self_channel.h"

#include <gtest/gtest.h>

#include <array>

namespace goss {
namespace {

/// The channel never looks into an operation.
class SelfChannelTest : public testing::Test {
 protected:
  MessageOperation* operation(std::size_t number) { return reinterpret_cast<MessageOperation*>(&places_.at(number)); }
  MessageOperation* send(std::size_t number, std::int32_t tag, std::size_t bytes = 8) {
    return channel_.matchOnLoop({operation(number), true, {0, tag, bytes}});
  }
  MessageOperation* receive(std::size_t number, std::int32_t tag) {
    return channel_.matchOnLoop({operation(number), false, {0, tag, 0}});
  }

  SelfChannel channel_;

 private:
  std::array<std::uint64_t, 8> places_{};
};

TEST_F(SelfChannelTest, MatchesSendsAndReceivesOfATagInTheirOrder) {
  EXPECT_EQ(send(0, 1), nullptr);
  EXPECT_EQ(send(1, 1), nullptr);
  EXPECT_EQ(receive(2, 2), nullptr);
  EXPECT_EQ(receive(3, 1), operation(0));
  EXPECT_EQ(receive(4, 1), operation(1));
  EXPECT_EQ(send(5, 2), operation(2));
  EXPECT_EQ(receive(6, 1), nullptr);
}

TEST_F(SelfChannelTest, ShowsTheFirstSendThatAReceiveWouldGet) {
  goss_message found{};
  receive(0, 3);
  EXPECT_FALSE(channel_.peekOnLoop(GOSS_ANY_TAG, found)) << "a receive is no message";
  send(1, 5, 40);
  send(2, 4, 50);
  ASSERT_TRUE(channel_.peekOnLoop(GOSS_ANY_TAG, found));
  EXPECT_EQ(found.tag, 5);
  EXPECT_EQ(found.bytes, 40U);
  ASSERT_TRUE(channel_.peekOnLoop(4, found));
  EXPECT_EQ(found.bytes, 50U);
  EXPECT_FALSE(channel_.peekOnLoop(3, found));
}

TEST_F(SelfChannelTest, ForgetsWhatIsWithdrawn) {
  send(0, 1);
  send(1, 1);
  channel_.withdrawOnLoop(*operation(0));
  channel_.withdrawOnLoop(*operation(0));
  EXPECT_EQ(receive(2, 1), operation(1));
}

} // namespace
} // namespace goss

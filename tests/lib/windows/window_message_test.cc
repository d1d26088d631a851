#include "windows/window_message.h"

#include <gtest/gtest.h>

#include "tests/golden/golden.h"

namespace goss {
namespace {

using Type = WindowMessage::Type;

std::string hexOf(const WindowMessage& message) {
  const Envelope envelope = message.encode();
  return test::toHex({reinterpret_cast<const char*>(envelope.data()), envelope.size()});
}

TEST(WindowMessage, HasTheBytesOfTheFormat) {
  EXPECT_EQ(hexOf({Type::put, GOSS_SUM, 0, 7, 0x0102030405060708, 0}),
            "040100000000000007000000000000000807060504030201");
  EXPECT_EQ(hexOf({Type::accumulate, GOSS_MAX, 0x11223344, 1, 2, 0}),
            "040203004433221101000000000000000200000000000000");
  EXPECT_EQ(hexOf({Type::difference, GOSS_SUM, 5, 9, 0, 0.5}),
            "040c000005000000"
            "0900000000000000"
            "000000000000e03f");
}

TEST(WindowMessage, ComesBackAsItWas) {
  for (int type = 1; type <= 13; ++type) {
    const bool is_difference = type == static_cast<int>(Type::difference);
    const WindowMessage sent{static_cast<Type>(type), GOSS_BXOR, ~0u, 3, is_difference ? 0u : 4u,
                             is_difference ? -1.5 : 0};
    WindowMessage received;
    ASSERT_TRUE(WindowMessage::decode(sent.encode(), received));
    EXPECT_EQ(hexOf(received), hexOf(sent));
    EXPECT_EQ(received.count, sent.count);
    EXPECT_EQ(received.shadow_factor, sent.shadow_factor);
  }
}

TEST(WindowMessage, RefusesOtherKindsTypesAndOperations) {
  const Envelope good = WindowMessage{}.encode();
  const auto refused = [&](std::size_t at, int value) {
    Envelope changed = good;
    changed[at] = static_cast<std::byte>(value);
    WindowMessage ignored;
    return !WindowMessage::decode(changed, ignored);
  };
  EXPECT_FALSE(refused(0, 4));
  EXPECT_TRUE(refused(0, 2));
  EXPECT_TRUE(refused(1, 0));
  EXPECT_TRUE(refused(1, 14));
  EXPECT_TRUE(refused(2, GOSS_OP_COUNT));
  EXPECT_TRUE(refused(3, 1));
}

} // namespace
} // namespace goss

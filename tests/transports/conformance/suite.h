/// The fixtures that run every test on every transport.
#ifndef GOSS_TESTS_TRANSPORTS_CONFORMANCE_SUITE_H_
#define GOSS_TESTS_TRANSPORTS_CONFORMANCE_SUITE_H_

#include <gtest/gtest.h>

#include "tests/support/quick.h"
#include "tests/transports/conformance/harness.h"

namespace goss::tests {

inline std::string factoryName(const ::testing::TestParamInfo<TransportFactory>& info) { return info.param.name; }

using test::fullOr;

/// Waits until the receive is complete and checks that it succeeded with pattern(size, seed).
inline void expectMessage(Node& node, TestRecv& op, std::size_t size, std::uint64_t seed) {
  ASSERT_TRUE(node.until([&] { return op.done(); }));
  ASSERT_TRUE(op.status.isOk()) << op.status.text();
  ASSERT_EQ(op.received().size(), size);
  EXPECT_TRUE(isPattern(op.received(), seed)) << "wrong bytes in a message of " << size;
}

/// Posts a send and waits until its buffer is free.
inline void sendMessage(Node& node, int to, Tag tag, std::size_t size, std::uint64_t seed) {
  TestSend op(node, to, tag, pattern(size, seed));
  op.post();
  ASSERT_TRUE(node.until([&] { return op.done(); }));
  ASSERT_TRUE(op.status.isOk()) << op.status.text();
}

/// Receives one message into a buffer of its size and checks it.
inline void recvMessage(Node& node, int from, Tag tag, std::size_t size, std::uint64_t seed) {
  TestRecv op(node, from, tag, size);
  op.post();
  expectMessage(node, op, size, seed);
}

} // namespace goss::tests

/// Defines the fixture NAME and runs its tests on each of FACTORIES.
// NOLINTBEGIN(bugprone-macro-parentheses): a class name
#define GOSS_TRANSPORT_SUITE(NAME, FACTORIES)                                       \
  class NAME : public ::testing::TestWithParam<::goss::tests::TransportFactory> {}; \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NAME);                              \
  INSTANTIATE_TEST_SUITE_P(, NAME, ::testing::ValuesIn(FACTORIES), ::goss::tests::factoryName)
// NOLINTEND(bugprone-macro-parentheses)

#endif // GOSS_TESTS_TRANSPORTS_CONFORMANCE_SUITE_H_

#include "mesh/control.h"

#include <gtest/gtest.h>

#include "tests/golden/golden.h"

namespace goss {
namespace {

ControlMessage sampleAbort() {
  ControlMessage message;
  message.type = ControlMessage::Type::abort;
  message.context = 5;
  message.operation = 0x0102030405060708;
  Signature signature;
  signature.count = 99;
  message.signature = signature.encode();
  message.error_kind = GOSS_ERR_TIMEOUT;
  message.culprit = 2;
  message.text = "too late";
  return message;
}

void expectEqual(const ControlMessage& a, const ControlMessage& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.context, b.context);
  EXPECT_EQ(a.operation, b.operation);
  EXPECT_EQ(a.signature, b.signature);
  EXPECT_EQ(a.error_kind, b.error_kind);
  EXPECT_EQ(a.culprit, b.culprit);
  EXPECT_EQ(a.text, b.text);
}

TEST(ControlMessageFormat, MatchesTheGoldenFile) {
  const auto cases = test::readGolden(GOSS_GOLDEN_DIR "/control_message.txt");
  ASSERT_GE(cases.size(), 10u);
  for (const test::GoldenCase& one : cases) {
    const auto decoded = ControlMessage::decode(one.bytes);
    EXPECT_EQ(decoded.isOk(), one.accept) << one.name;
    if (!decoded.isOk()) {
      EXPECT_EQ(decoded.status().kind(), GOSS_ERR_PROTOCOL) << one.name;
      continue;
    }
    EXPECT_EQ(test::toHex(decoded.value().encode()), test::toHex(one.bytes)) << one.name;
  }
}

TEST(ControlMessageFormat, EveryFieldComesBack) {
  const ControlMessage message = sampleAbort();
  const auto decoded = ControlMessage::decode(message.encode());
  ASSERT_TRUE(decoded.isOk());
  expectEqual(decoded.value(), message);
}

TEST(ControlMessageFormat, IsRefusedWhenCutAnywhereOrContinued) {
  const std::string bytes = sampleAbort().encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ControlMessage::decode(std::string_view(bytes).substr(0, size)).isOk()) << size << " bytes";
  EXPECT_FALSE(ControlMessage::decode(bytes + '\0').isOk());
}

TEST(ControlMessageFormat, CutsATextThatDoesNotFit) {
  ControlMessage message = sampleAbort();
  message.text = std::string(5000, 'x');
  const std::string bytes = message.encode();
  EXPECT_EQ(bytes.size(), ControlMessage::kMaxBytes);
  const auto decoded = ControlMessage::decode(bytes);
  ASSERT_TRUE(decoded.isOk());
  EXPECT_EQ(decoded.value().text, std::string(ControlMessage::kMaxBytes - 49, 'x'));
  EXPECT_EQ(decoded.value().culprit, 2);
}

} // namespace
} // namespace goss

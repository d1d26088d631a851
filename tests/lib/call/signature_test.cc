#include "call/signature.h"

#include <gtest/gtest.h>

#include "tests/golden/golden.h"

namespace goss {
namespace {

std::string hexOf(const Signature& signature) {
  const Envelope envelope = signature.encode();
  return test::toHex({reinterpret_cast<const char*>(envelope.data()), envelope.size()});
}

TEST(Signature, HasTheBytesOfTheFormat) {
  Signature reduction;
  reduction.kind = Signature::Kind::collective;
  reduction.collective = Collective::allReduce;
  reduction.dtype = GOSS_FLOAT32;
  reduction.count = 1024;
  reduction.detail = 0xa1b2c3d4;
  reduction.history = 7;
  EXPECT_EQ(hexOf(reduction), "01000800ffffffff0004000000000000d4c3b2a107000000");

  Signature every_field;
  every_field.kind = Signature::Kind::collective;
  every_field.collective = Collective::broadcast;
  every_field.dtype = GOSS_UINT8;
  every_field.root = 3;
  every_field.count = 0x0102030405060708;
  every_field.detail = 0x11121314;
  every_field.history = 0x21222324;
  EXPECT_EQ(hexOf(every_field), "010201000300000008070605040302011413121124232221");

  Signature message;
  message.kind = Signature::Kind::pointToPoint;
  message.collective = Collective::barrier;
  message.dtype = GOSS_INT32;
  EXPECT_EQ(hexOf(message), "020a0200ffffffff00000000000000000000000000000000");
}

TEST(Signature, ComesBackAsItWas) {
  Signature signature;
  signature.collective = Collective::exscan;
  signature.dtype = static_cast<DType>(GOSS_DTYPE_COUNT - 1);
  signature.op = static_cast<ReduceOp>(GOSS_OP_COUNT - 1);
  signature.codec = 255;
  signature.root = -1;
  signature.count = ~std::uint64_t{0};
  signature.detail = 1;
  signature.history = ~0u;
  EXPECT_EQ(Signature::decode(signature.encode()), signature);
}

TEST(Signature, EveryByteCounts) {
  const Signature signature = Signature::decode(Signature().encode());
  for (std::size_t i = 0; i < sizeof(Envelope); ++i) {
    Envelope changed = signature.encode();
    changed[i] ^= std::byte{1};
    EXPECT_NE(Signature::decode(changed), signature) << "byte " << i;
  }
}

TEST(Signature, TakesWhatChangesIntoAnEnvelope) {
  Signature signature;
  signature.count = 3;
  Envelope envelope = signature.encode();
  signature.detail = 0xa1b2c3d4;
  signature.history = 0x01020304;
  signature.putHistory(envelope);
  EXPECT_EQ(envelope, signature.encode());
}

// Ranks of different builds and processors must come to the same.
TEST(Signature, TheHistoryAfterItHasTheBitsOfTheFormat) {
  EXPECT_EQ(historyAfter(Envelope{}), 3838282282U);
  EXPECT_EQ(historyAfter(Signature().encode()), 1991572374U);
}

TEST(Signature, DescribesWhatWasCalled) {
  Signature signature;
  signature.collective = Collective::allReduce;
  signature.dtype = GOSS_FLOAT32;
  signature.count = 1024;
  EXPECT_EQ(signature.describe(), "all_reduce(sum) of 1024 float32");
  signature.collective = Collective::broadcast;
  signature.dtype = GOSS_INT8;
  signature.count = 7;
  signature.root = 2;
  EXPECT_EQ(signature.describe(), "broadcast of 7 int8, root 2");
  signature.collective = Collective::barrier;
  EXPECT_EQ(signature.describe(), "barrier");
}

TEST(Signature, OfAStrangerIsDescribedWithoutHarm) {
  Envelope envelope;
  envelope.fill(std::byte{0xee});
  EXPECT_EQ(Signature::decode(envelope).describe(), "an internal message");
  envelope[0] = std::byte{1};
  EXPECT_FALSE(Signature::decode(envelope).describe().empty());
  EXPECT_STREQ(dtypeName(static_cast<DType>(GOSS_DTYPE_COUNT)), "unknown dtype");
  EXPECT_STREQ(opName(static_cast<ReduceOp>(GOSS_OP_COUNT)), "unknown op");
}

} // namespace
} // namespace goss

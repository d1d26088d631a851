// The bytes of a frame, and what is refused.
#include "transports/mpi/frame.h"

#include <gtest/gtest.h>

#include <array>

namespace goss::transports::mpi {
namespace {

using Bytes = std::array<std::byte, FrameHeader::kBytes>;

Bytes sample(FrameHeader::Kind kind) {
  FrameHeader header;
  header.kind = kind;
  header.message.tag = 0x0102030405060708;
  header.message.bytes = 0x1112131415161718;
  header.message.envelope.fill(std::byte{0x55});
  header.extra = 0x2122232425262728;
  header.returned = 0x3132333435363738;
  Bytes bytes;
  encodeFrame(header, bytes);
  return bytes;
}

TEST(MpiFrame, HasTheDocumentedBytes) {
  const Bytes bytes = sample(FrameHeader::Kind::message);
  constexpr unsigned char kWanted[] = {'G', 'M', 2, 2, 0,    0,    0,    0,    8,    7,    6,    5,
                                       4,   3,   2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
  for (std::size_t i = 0; i < 48; ++i)
    EXPECT_EQ(std::to_integer<int>(bytes[i]), i < sizeof kWanted ? kWanted[i] : 0x55) << "byte " << i;
  for (std::size_t i = 48; i < bytes.size(); ++i)
    EXPECT_EQ(std::to_integer<std::size_t>(bytes[i]), i < 56 ? 0x28 - (i - 48) : 0x38 - (i - 56)) << "byte " << i;
}

TEST(MpiFrame, ComesBackAsItWas) {
  const auto header = decodeFrame(sample(FrameHeader::Kind::more));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->kind, FrameHeader::Kind::more);
  EXPECT_EQ(header->message.tag, 0x0102030405060708u);
  EXPECT_EQ(header->message.bytes, 0x1112131415161718u);
  EXPECT_EQ(header->message.envelope[23], std::byte{0x55});
  EXPECT_EQ(header->extra, 0x2122232425262728u);
  EXPECT_EQ(header->returned, 0x3132333435363738u);
}

TEST(MpiFrame, RefusesOtherLengthsMagicsVersionsAndKinds) {
  const Bytes good = sample(FrameHeader::Kind::hello);
  EXPECT_FALSE(decodeFrame(std::span(good).first(63)).has_value());
  EXPECT_FALSE(decodeFrame({}).has_value());
  for (const std::size_t at : {0u, 1u, 2u}) {
    Bytes bad = good;
    bad[at] ^= std::byte{4};
    EXPECT_FALSE(decodeFrame(bad).has_value()) << "byte " << at;
  }
  for (const int kind : {0, 11, 255}) {
    Bytes bad = good;
    bad[3] = static_cast<std::byte>(kind);
    EXPECT_FALSE(decodeFrame(bad).has_value()) << "kind " << kind;
  }
}

} // namespace
} // namespace goss::transports::mpi

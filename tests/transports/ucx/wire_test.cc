// The bytes that UCX peers exchange, and what is refused.
#include "transports/ucx/wire.h"

#include <gtest/gtest.h>

#include <span>

namespace goss::transports::ucx {
namespace {

Header sample() {
  Header header;
  header.kind = Header::Kind::revoke;
  header.from = 0x01020304;
  header.key = 0x1112131415161718;
  header.number = 0x2122232425262728;
  header.returned = 0x3132333435363738;
  header.tag = 0x4142434445464748;
  header.envelope.fill(std::byte{0x55});
  header.total = 0x6162636465666768;
  header.extra = 0x7172737475767778;
  return header;
}

TEST(UcxHeader, HasTheDocumentedBytes) {
  HeaderBytes bytes;
  encodeHeader(sample(), bytes);
  constexpr unsigned char kWanted[] = {'G',  'U',  4,    6,    0x04, 0x03, 0x02, 0x01, 0x18, 0x17,
                                       0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
                                       0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33,
                                       0x32, 0x31, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41};
  ASSERT_EQ(bytes.size(), 80u);
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(std::to_integer<int>(bytes[i]), i < sizeof kWanted ? kWanted[i] : 0x55) << "byte " << i;
  for (std::size_t i = 64; i < bytes.size(); ++i)
    EXPECT_EQ(std::to_integer<std::size_t>(bytes[i]), i < 72 ? 0x68 - (i - 64) : 0x78 - (i - 72)) << "byte " << i;
}

TEST(UcxHeader, ComesBackAsItWas) {
  HeaderBytes bytes;
  encodeHeader(sample(), bytes);
  const auto header = decodeHeader(bytes);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->kind, Header::Kind::revoke);
  EXPECT_EQ(header->from, sample().from);
  EXPECT_EQ(header->key, sample().key);
  EXPECT_EQ(header->number, sample().number);
  EXPECT_EQ(header->returned, sample().returned);
  EXPECT_EQ(header->tag, sample().tag);
  EXPECT_EQ(header->envelope, sample().envelope);
  EXPECT_EQ(header->total, sample().total);
  EXPECT_EQ(header->extra, sample().extra);
}

TEST(UcxHeader, RefusesOtherLengthsMagicsVersionsAndKinds) {
  HeaderBytes good;
  encodeHeader(sample(), good);
  EXPECT_FALSE(decodeHeader(std::span(good).first(79)).has_value());
  EXPECT_FALSE(decodeHeader({}).has_value());
  for (const std::size_t at : {0u, 1u, 2u}) {
    HeaderBytes bad = good;
    bad[at] ^= std::byte{1};
    EXPECT_FALSE(decodeHeader(bad).has_value()) << "byte " << at;
  }
  for (const int kind : {0, 13, 0x86, 255}) {
    HeaderBytes bad = good;
    bad[3] = static_cast<std::byte>(kind);
    EXPECT_FALSE(decodeHeader(bad).has_value()) << "kind " << kind;
  }
}

TEST(UcxHeader, SaysThatAPartIsPadded) {
  for (const auto kind : {Header::Kind::first, Header::Kind::part}) {
    Header padded = sample();
    padded.kind = kind;
    padded.padded = true;
    HeaderBytes bytes;
    encodeHeader(padded, bytes);
    EXPECT_EQ(bytes[3], std::byte{0x80} | static_cast<std::byte>(kind));
    const auto header = decodeHeader(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->kind, kind);
    EXPECT_TRUE(header->padded);
  }
}

TEST(UcxAddress, ComesBackAsItWas) {
  const std::string bytes = encodeAddress({"process", 0x1112131415161718, "worker"});
  EXPECT_EQ(bytes, std::string("GUX4\7\0\0\0process\x18\x17\x16\x15\x14\x13\x12\x11\6\0\0\0worker", 33));
  const auto address = decodeAddress(bytes);
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(address->process, "process");
  EXPECT_EQ(address->key, 0x1112131415161718u);
  EXPECT_EQ(address->worker, "worker");
}

TEST(UcxAddress, RefusesEveryPrefixAndWhatFollows) {
  const std::string bytes = encodeAddress({"process", 1, "worker"});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decodeAddress(bytes.substr(0, length)).has_value()) << length;
  EXPECT_FALSE(decodeAddress(bytes + "x").has_value());
  EXPECT_FALSE(decodeAddress(encodeAddress({"process", 1, ""})).has_value());
}

} // namespace
} // namespace goss::transports::ucx

#include "transports/tcp/stream/wire.h"

#include <gtest/gtest.h>

#include "tests/golden/golden.h"

namespace goss::transports::tcp {
namespace {

using test::GoldenCase;
using test::readGolden;
using test::toHex;

TEST(TcpFormat, FramesMatchTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/tcp_frame.txt");
  ASSERT_GE(cases.size(), 25u);
  for (const GoldenCase& one : cases) {
    Frame frame;
    EXPECT_EQ(decodeFrame(one.bytes, frame), one.accept) << one.name;
    if (!one.accept) continue;
    const FrameBytes again = encodeFrame(frame);
    EXPECT_EQ(toHex({again.data(), again.size()}), toHex(one.bytes)) << one.name;
  }
  Frame first;
  ASSERT_TRUE(decodeFrame(cases[0].bytes, first));
  EXPECT_EQ(first.kind, FrameKind::message);
  EXPECT_EQ(first.header.tag, 0x0123456789abcdefu);
  EXPECT_EQ(first.header.bytes, 1000u);
  EXPECT_EQ(first.header.envelope[23], std::byte{0x17});
}

TEST(TcpFormat, HelloMatchesTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/tcp_hello.txt");
  ASSERT_GE(cases.size(), 20u);
  for (const GoldenCase& one : cases) {
    const auto hello = decodeHello(one.bytes);
    EXPECT_EQ(hello.isOk(), one.accept) << one.name;
    if (!one.accept) continue;
    EXPECT_EQ(toHex(encodeHello(hello.value())), toHex(one.bytes)) << one.name;
    EXPECT_EQ(hello.value().from, 3u);
    EXPECT_EQ(hello.value().to, 1u);
    EXPECT_EQ(hello.value().connections, hello.value().purpose == Purpose::relay ? 1 : 5);
    EXPECT_EQ(hello.value().relayed_to, hello.value().purpose == Purpose::relay ? 2u : 0u);
  }
}

TEST(TcpFormat, RecordHeadersMatchTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/tcp_record.txt");
  ASSERT_GE(cases.size(), 10u);
  for (const GoldenCase& one : cases) {
    const bool checked = one.name.starts_with("checked");
    RecordHeader header;
    const HeaderVerdict verdict = decodeRecordHeader(one.bytes, checked, header);
    EXPECT_EQ(verdict == HeaderVerdict::valid, one.accept) << one.name;
    EXPECT_EQ(verdict == HeaderVerdict::changed, one.name.ends_with("changed")) << one.name;
    if (!one.accept) continue;
    const RecordHeaderBytes again = encodeRecordHeader(header, checked);
    EXPECT_EQ(toHex({again.data(), again.size()}), toHex(one.bytes)) << one.name;
  }
  RecordHeader first;
  ASSERT_EQ(decodeRecordHeader(cases[0].bytes, true, first), HeaderVerdict::valid);
  EXPECT_EQ(first.bytes, 100u);
  EXPECT_EQ(first.used, 0x0123456789abu);
  EXPECT_EQ(first.checksum, 0x11223344u);
}

TEST(TcpFormat, BitsThatFlipInAGreetingAreNobodysFault) {
  Hello hello{3, 1, 4, 2, 5, {}, Purpose::resume, true, 0, 7, {}};
  hello.token.fill(std::byte{9});
  const std::string good = encodeHello(hello);
  ASSERT_TRUE(decodeHello(good).isOk());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    // A flip in the magic or the version looks like another protocol, which the acceptor refuses with a text.
    EXPECT_EQ(decodeHello(bytes).status().kind(), bit / 8 < 10 ? GOSS_ERR_PROTOCOL : GOSS_ERR_PEER_LOST) << bit;
  }
  for (const Answer answer : {Answer::welcome, Answer::go, Answer::joined})
    for (std::size_t bit = 0; bit < 8 * kAnswerBytes; ++bit) {
      std::string bytes = encodeAnswer(answer);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      EXPECT_FALSE(decodeAnswer(bytes).isOk()) << bit;
    }
}

TEST(TcpFormat, TheStricterOfTwoRanksDecidesWhetherALinkIsChecked) {
  const auto checked = [](Checks one, Checks other, const char* host) {
    return isChecked({"here", {}, 0, one}, {host, {}, 0, other}) &&
           isChecked({host, {}, 0, other}, {"here", {}, 0, one});
  };
  EXPECT_TRUE(checked(Checks::betweenHosts, Checks::betweenHosts, "there"));
  EXPECT_FALSE(checked(Checks::betweenHosts, Checks::betweenHosts, "here"));
  EXPECT_TRUE(checked(Checks::none, Checks::betweenHosts, "there"));
  EXPECT_FALSE(checked(Checks::none, Checks::betweenHosts, "here"));
  EXPECT_FALSE(checked(Checks::none, Checks::none, "there"));
  EXPECT_TRUE(checked(Checks::all, Checks::none, "here"));
  EXPECT_TRUE(checked(Checks::all, Checks::betweenHosts, "here"));
}

TEST(TcpFormat, AddressesMatchTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/tcp_address.txt");
  ASSERT_GE(cases.size(), 5u);
  for (const GoldenCase& one : cases) {
    const auto address = decodeAddress(one.bytes);
    EXPECT_EQ(address.isOk(), one.accept) << one.name;
    if (!one.accept) continue;
    EXPECT_EQ(address.value().advertised, 1u);
    EXPECT_EQ(address.value().sockets[0].text(), "10.0.0.1:4711");
    EXPECT_EQ(address.value().sockets[1].text(), "[fd00::2]:4712");
    EXPECT_EQ(toHex(encodeAddress(address.value())), toHex(one.bytes));
  }
}

TEST(TcpFormat, EveryShortenedAddressIsRefused) {
  Address address;
  address.host_identity = "host";
  address.sockets = {*platform::SocketAddress::parse("10.0.0.1", 80)};
  const std::string bytes = encodeAddress(address);
  ASSERT_TRUE(decodeAddress(bytes).isOk());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decodeAddress(std::string_view(bytes).substr(0, size)).isOk()) << size;
}

TEST(TcpFormat, AnswersAreChecked) {
  const std::string refused = encodeAnswer(Answer::refused, std::string(1000, 'x'));
  EXPECT_EQ(refused.size(), kAnswerBytes + kMaxReasonBytes);
  const auto decoded = decodeAnswer(std::string_view(refused).substr(0, kAnswerBytes));
  ASSERT_TRUE(decoded.isOk());
  EXPECT_EQ(decoded.value().answer, Answer::refused);
  EXPECT_EQ(decoded.value().reason_bytes, kMaxReasonBytes);
  EXPECT_FALSE(decodeAnswer("HTTP/1.1").isOk());
  EXPECT_FALSE(decodeAnswer("GTH1").isOk());
}

} // namespace
} // namespace goss::transports::tcp

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "bootstrap/bootstrap.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wire.h"
#include "tests/golden/golden.h"

namespace goss {
namespace {

using test::GoldenCase;
using test::readGolden;
using test::toHex;
using ::testing::HasSubstr;

std::array<std::byte, 16> countingJob() {
  std::array<std::byte, 16> job;
  for (std::size_t i = 0; i < job.size(); ++i)
    job[i] = static_cast<std::byte>(i);
  return job;
}

goss_unique_id toId(const std::string& bytes) {
  goss_unique_id id;
  EXPECT_EQ(bytes.size(), sizeof id.bytes);
  std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
  return id;
}

UniqueId sampleId() {
  UniqueId id;
  id.port = 4711;
  id.process = 1234;
  id.job = countingJob();
  id.host = 0x0123456789abcdef;
  id.addresses = {*platform::SocketAddress::parse("10.0.0.1", 4711), *platform::SocketAddress::parse("fd00::2", 4712)};
  return id;
}

TEST(UniqueIdFormat, MatchesTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/unique_id.txt");
  ASSERT_GE(cases.size(), 5u);
  for (const GoldenCase& one : cases) {
    const auto decoded = decodeUniqueId(toId(one.bytes));
    EXPECT_EQ(decoded.isOk(), one.accept) << one.name;
    if (!one.accept) continue;
    EXPECT_EQ(decoded.value().port, 4711);
    EXPECT_EQ(decoded.value().addresses, sampleId().addresses);
    const goss_unique_id again = encodeUniqueId(decoded.value());
    EXPECT_EQ(toHex(std::string(again.bytes, sizeof again.bytes)), toHex(one.bytes));
  }
}

TEST(UniqueIdFormat, EveryFlippedBitIsRefused) {
  const goss_unique_id good = encodeUniqueId(sampleId());
  ASSERT_TRUE(decodeUniqueId(good).isOk());
  for (std::size_t bit = 0; bit < 8 * sizeof good.bytes; ++bit) {
    goss_unique_id bad = good;
    bad.bytes[bit / 8] = static_cast<char>(bad.bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decodeUniqueId(bad).isOk()) << "bit " << bit;
  }
  goss_unique_id bad = good;
  bad.bytes[60] ^= 1;
  EXPECT_THAT(decodeUniqueId(bad).status().text(), HasSubstr("is damaged: its checksum does not fit"));
}

TEST(UniqueIdFormat, AddressesThatDoNotFitAreLeftOut) {
  UniqueId id = sampleId();
  id.addresses.assign(9, *platform::SocketAddress::parse("fd00::2", 4712));
  EXPECT_EQ(decodeUniqueId(encodeUniqueId(id)).value().addresses.size(), 3u);
}

TEST(BootstrapFormat, HelloMatchesTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/bootstrap_hello.txt");
  ASSERT_GE(cases.size(), 5u);
  for (const GoldenCase& one : cases) {
    const auto decoded = decodeHello(one.bytes);
    EXPECT_EQ(decoded.isOk(), one.accept) << one.name;
    if (one.accept) {
      EXPECT_EQ(toHex(encodeHello(decoded.value())), toHex(one.bytes));
    }
  }
  EXPECT_EQ(toHex(encodeHello({2, 4, 0x1122334455667788, countingJob()})), toHex(cases[0].bytes));
}

TEST(BootstrapFormat, FrameHeadersMatchTheGoldenFile) {
  const auto cases = readGolden(GOSS_GOLDEN_DIR "/bootstrap_frame.txt");
  ASSERT_GE(cases.size(), 5u);
  for (const GoldenCase& one : cases)
    EXPECT_EQ(decodeHeader(one.bytes.substr(0, kBootstrapHeaderBytes), 1000).isOk(), one.accept) << one.name;
  EXPECT_EQ(toHex(encodeFrame(BootstrapFrame::refused, 3, "no")), toHex(cases[0].bytes));
  EXPECT_EQ(toHex(encodeFrame(BootstrapFrame::card, 3, "no")), toHex(cases[1].bytes));
}

TEST(BootstrapFormat, EveryBitThatFlipsIsFound) {
  for (const BootstrapFrame kind :
       {BootstrapFrame::welcome, BootstrapFrame::card, BootstrapFrame::cards, BootstrapFrame::failed}) {
    const std::string good = encodeFrame(kind, 3, "what it says");
    const auto payload = [](std::string_view bytes) -> Result<std::string> {
      const auto header = decodeHeader(bytes.substr(0, kBootstrapHeaderBytes), 1000);
      if (!header.isOk()) return header.status();
      const auto found = decodePayload(header.value(), bytes.substr(kBootstrapHeaderBytes));
      return found.isOk() ? Result<std::string>(std::string(found.value())) : found.status();
    };
    ASSERT_EQ(payload(good).value(), "what it says");
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bytes = good;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      // A card that has become a refusal is none.
      const auto found = payload(bytes);
      EXPECT_TRUE(!found.isOk() || bytes[4] == static_cast<char>(BootstrapFrame::refused)) << bit;
    }
  }
}

TEST(BootstrapFormat, ForeignProtocolsAreGuessed) {
  EXPECT_THAT(decodeHello(std::string("GET / HTTP/1.1\r\n")).status().text(), HasSubstr("HTTP"));
  EXPECT_THAT(decodeHello(std::string("SSH-2.0-x")).status().text(), HasSubstr("SSH"));
  EXPECT_TRUE(helloMayBegin("GOSS"));
  EXPECT_FALSE(helloMayBegin("GET "));
}

TEST(BootstrapFormat, CardsAreCheckedForLengthAndNumber) {
  const std::vector<std::string> cards{"a", "", std::string(1000, 'x')};
  const std::string bytes = encodeCards(cards);
  EXPECT_EQ(decodeCards(bytes, 3).value(), cards);
  EXPECT_FALSE(decodeCards(bytes, 2).isOk());
  EXPECT_FALSE(decodeCards(bytes, 4).isOk());
  EXPECT_FALSE(decodeCards(bytes.substr(0, bytes.size() - 1), 3).isOk());
  EXPECT_FALSE(decodeCards(std::string("\xff\xff\xff\xff", 4), 1).isOk());
  EXPECT_FALSE(decodeCards("", 0).isOk());
  const std::string too_long(Rendezvous::kMaxCardBytes + 1, 'x');
  EXPECT_FALSE(decodeCards(encodeCards({too_long, ""}), 2).isOk());
}

TEST(BootstrapFormat, CardsOfRanksOfAHostTakeSpaceOnce) {
  const auto cardOf = [](int host, int rank) {
    return "host " + toHex(std::string(400, static_cast<char>('a' + host))) + " port " + std::to_string(40000 + rank);
  };
  std::vector<std::string> cards;
  for (int rank = 0; rank < 1000; ++rank)
    cards.push_back(cardOf(rank / 100, rank));
  const std::string bytes = encodeCards(cards);
  EXPECT_EQ(decodeCards(bytes, 1000).value(), cards);
  EXPECT_LT(bytes.size(), 1000 * 20U);
  EXPECT_LT(encodeCards(std::vector<std::string>(1000, cardOf(0, 0))).size(), 200U) << "all are equal";
}

} // namespace
} // namespace goss

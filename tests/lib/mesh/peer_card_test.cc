#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "mesh/mesh.h"
#include "tests/lib/mesh/fake_transport.h"

namespace goss {
namespace {

PeerCard sampleCard() {
  PeerCard card;
  card.host = "boot/net/name";
  card.process = "boot/net/name/4711";
  card.processors = std::string("\0\x81", 2);
  card.place = {1, 3, -1};
  card.site = {std::string("\xcb\0\x71\x07", 4), std::string("\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16)};
  card.addresses = {{"shm", std::string("\0\1\2", 3)}, {"tcp", "10.0.0.1:99"}, {"empty", ""}};
  card.trouble = "tcp could not be opened: no port";
  return card;
}

bool refused(const std::string& bytes) {
  const auto decoded = PeerCard::decode(bytes);
  return !decoded.isOk() && decoded.status().kind() == GOSS_ERR_PROTOCOL;
}

TEST(PeerCardFormat, EveryFieldComesBack) {
  const auto decoded = PeerCard::decode(sampleCard().encode());
  ASSERT_TRUE(decoded.isOk()) << decoded.status().text();
  EXPECT_EQ(decoded.value().host, sampleCard().host);
  EXPECT_EQ(decoded.value().process, sampleCard().process);
  EXPECT_EQ(decoded.value().processors, sampleCard().processors);
  EXPECT_EQ(decoded.value().place, sampleCard().place);
  EXPECT_EQ(decoded.value().site, sampleCard().site);
  EXPECT_EQ(decoded.value().addresses, sampleCard().addresses);
  EXPECT_EQ(decoded.value().trouble, sampleCard().trouble);
  EXPECT_TRUE(PeerCard::decode(PeerCard().encode()).isOk());
}

TEST(PeerCardFormat, IsRefusedWhenCutAnywhereOrContinued) {
  const std::string bytes = sampleCard().encode();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(refused(bytes.substr(0, size))) << size << " bytes";
  EXPECT_TRUE(refused(bytes + 'x'));
}

TEST(PeerCardFormat, IsRefusedWithTooManyAddresses) {
  PeerCard card = sampleCard();
  card.addresses.assign(16, {"tcp", "a"});
  EXPECT_TRUE(PeerCard::decode(card.encode()).isOk());
  card.addresses.emplace_back("tcp", "a");
  EXPECT_TRUE(refused(card.encode()));
  // A count without addresses must cost nothing.
  base::WireWriter writer;
  writer.text("host").text("process").text("\1").integer(0).integer(0).integer(0).integer(std::uint32_t{0xffffffff});
  EXPECT_TRUE(refused(writer.take()));
}

TEST(PeerCardFormat, IsRefusedWithFieldsOutOfRange) {
  PeerCard card = sampleCard();
  card.place.cache = -2;
  EXPECT_TRUE(refused(card.encode()));
  card = sampleCard();
  card.host = std::string(257, 'h');
  EXPECT_TRUE(refused(card.encode()));
  card = sampleCard();
  card.process = std::string(257, 'p');
  EXPECT_TRUE(refused(card.encode()));
  card = sampleCard();
  card.processors = std::string(1025, '\1');
  EXPECT_TRUE(refused(card.encode()));
  card = sampleCard();
  card.addresses[0].first = std::string(257, 'n');
  EXPECT_TRUE(refused(card.encode()));
  card = sampleCard();
  card.addresses[0].second = std::string(4097, 'a');
  EXPECT_TRUE(refused(card.encode()));
  card.addresses[0].second.pop_back();
  card.trouble = std::string(2 * PeerCard::kMaxTroubleBytes, 't'); // Cut, not refused.
  EXPECT_TRUE(PeerCard::decode(card.encode()).isOk());
}

TEST(PeerCardFormat, LeavesOutATransportWhoseAddressIsTooLong) {
  for (const std::size_t bytes : {4096, 4097}) {
    auto first = std::make_unique<test::FakeTransport>(2);
    first->address = std::string(bytes, 'a');
    std::vector<std::unique_ptr<Transport>> transports;
    transports.push_back(std::move(first));
    transports.push_back(std::make_unique<test::FakeTransport>(2));
    Mesh mesh(0, 2, std::move(transports));
    PeerCard card;
    ASSERT_TRUE(mesh.open(card).isOk());
    EXPECT_TRUE(PeerCard::decode(card.encode()).isOk());
    EXPECT_EQ(card.addresses.size(), bytes > 4096 ? 1U : 2U);
    EXPECT_EQ(card.trouble, bytes > 4096 ? "fake could not be opened: its address has 4097 bytes, more than 4096" : "");
  }
}

} // namespace
} // namespace goss

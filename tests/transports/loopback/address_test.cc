// Addresses that are forged, foreign or late: none of them reaches memory.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "gossamer/config.h"
#include "transports/loopback/loopback.h"

namespace goss::transports {
namespace {

class LoopbackAddress : public ::testing::Test, public TransportListener {
 protected:
  struct Rank {
    std::unique_ptr<LoopbackTransport> transport;
    std::string address;
  };

  Rank open(int rank) {
    TransportContext context;
    context.self = rank;
    context.size = 2;
    context.config = &config_;
    context.listener = this;
    Rank opened{std::make_unique<LoopbackTransport>(context), {}};
    Result<std::string> address = opened.transport->open();
    EXPECT_TRUE(address.isOk()) << address.status().text();
    opened.address = address.take();
    return opened;
  }
  void onPeerLost(int peer, const Status& status, PeerLoss how) override {
    if (how != PeerLoss::departed) ADD_FAILURE() << "rank " << peer << " was lost: " << status.text();
  }

  Config config_;
};

TEST_F(LoopbackAddress, WithAnotherLastPartReachesNobody) {
  const Rank peer = open(1);
  for (std::size_t at = peer.address.size() - 8; at < peer.address.size(); ++at) {
    const Rank own = open(0);
    std::string forged = peer.address;
    forged[at] = static_cast<char>(forged[at] ^ 0x40);
    const Status refused = own.transport->connect(1, forged);
    EXPECT_EQ(refused.kind(), GOSS_ERR_PEER_LOST) << refused.text();
    EXPECT_EQ(refused.peer(), 1);
  }
}

TEST_F(LoopbackAddress, OfARankThatHasLeftNamesIt) {
  const Rank own = open(0);
  Rank peer = open(1);
  peer.transport.reset();
  const Status refused = own.transport->connect(1, peer.address);
  EXPECT_EQ(refused.kind(), GOSS_ERR_PEER_LOST) << refused.text();
  EXPECT_EQ(refused.peer(), 1);
  EXPECT_EQ(own.transport->link(1), LinkState::failed);
}

TEST_F(LoopbackAddress, OfAnotherFormOrProcessIsNotReached) {
  const Rank own = open(0);
  const Rank peer = open(1);
  EXPECT_TRUE(own.transport->reaches(peer.address));
  for (std::size_t at = 0; at + 8 < peer.address.size(); ++at) {
    std::string foreign = peer.address;
    foreign[at] = static_cast<char>(foreign[at] ^ 1);
    EXPECT_FALSE(own.transport->reaches(foreign)) << at;
    EXPECT_EQ(own.transport->connect(1, foreign).kind(), GOSS_ERR_PROTOCOL) << at;
  }
  EXPECT_FALSE(own.transport->reaches(peer.address.substr(1)));
  EXPECT_FALSE(own.transport->reaches(peer.address + '\0'));
  EXPECT_FALSE(own.transport->reaches(""));
}

} // namespace
} // namespace goss::transports

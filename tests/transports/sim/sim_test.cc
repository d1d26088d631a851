// Virtual time: exact prices, one seed, and a clock that waits for every rank. One thread drives all ranks in turn.
#include "transports/sim/sim.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gossamer/config.h"

namespace goss::transports {
namespace {

struct Send final : SendOperation {
  Send(int to, std::size_t size) : data(size), piece{data.data(), size} {
    peer = to;
    tag = 1;
    pieces = {&piece, 1};
    bytes = size;
  }
  void onSent(const Status& status) override { done = status.isOk(); }
  std::vector<std::byte> data;
  iovec piece;
  bool done = false;
};

struct Recv final : RecvOperation {
  Recv(int from, std::size_t size, SimTransport& on) : transport(on), data(size), piece{data.data(), size} {
    peer = from;
    tag = 1;
    pieces = {&piece, 1};
    capacity = size;
  }
  Status onMatched(const Envelope&, std::size_t) override { return Status::ok(); }
  void onReceived(const Status& status) override {
    done = status.isOk();
    at_s = transport.now_s();
  }
  SimTransport& transport;
  std::vector<std::byte> data;
  iovec piece;
  bool done = false;
  double at_s = -1;
};

struct Silent : TransportListener {
  void onPeerLost(int, const Status&, PeerLoss) override {}
};

class World {
 public:
  /// This thread may be descheduled for long; nobody else drives the ranks, so by default nobody is away.
  World(int ranks, sim::SimOptions options, std::chrono::milliseconds patience = std::chrono::hours(1)) {
    options.patience = patience;
    std::vector<std::string> addresses;
    for (int rank = 0; rank < ranks; ++rank) {
      TransportContext context;
      context.self = rank;
      context.size = ranks;
      context.config = &config_;
      context.listener = &listener_;
      ranks_.push_back(std::make_unique<SimTransport>(context, options));
      addresses.push_back(ranks_.back()->open().take());
    }
    for (auto& transport : ranks_) {
      for (int peer = 0; peer < ranks; ++peer) {
        EXPECT_TRUE(transport->connect(peer, addresses[static_cast<std::size_t>(peer)]).isOk());
      }
    }
    for (auto& transport : ranks_) {
      for (int peer = 0; peer < ranks; ++peer)
        EXPECT_EQ(transport->link(peer), LinkState::ready);
    }
  }
  SimTransport& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  /// Calls progress() of every rank once; returns whether anything happened.
  bool step() {
    bool any = false;
    for (auto& transport : ranks_)
      any |= transport->progress();
    return any;
  }
  /// Until a whole round of calls leaves nothing to do.
  void run() {
    for (int quiet = 0; quiet < 3;)
      quiet = step() ? 0 : quiet + 1;
  }

 private:
  Config config_;
  Silent listener_;
  std::vector<std::unique_ptr<SimTransport>> ranks_;
};

sim::SimOptions exactLinks(double latency_s, double bandwidth, double drop = 0, double retransmit_s = 0) {
  sim::SimOptions options;
  options.links = [=](int, int) { return sim::SimLink{latency_s, 0, bandwidth, drop, retransmit_s}; };
  return options;
}

TEST(Sim, AMessageCostsItsLatencyAndItsBytes) {
  World world(2, exactLinks(1e-3, 1e6));
  Send out(1, 5000);
  Recv in(0, 5000, world[1]);
  world[1].recv(in);
  EXPECT_TRUE(world[0].send(out));
  world.run();
  ASSERT_TRUE(in.done);
  EXPECT_NEAR(in.at_s, 1e-3 + 5e-3, 2e-9);
}

TEST(Sim, MessagesOfALinkShareItsBandwidthAndThoseOfOthersDoNot) {
  World world(3, exactLinks(1e-3, 1e6));
  Send a(1, 1000), b(1, 1000), c(2, 1000);
  Recv ra(0, 1000, world[1]), rb(0, 1000, world[1]), rc(0, 1000, world[2]);
  world[1].recv(ra);
  world[1].recv(rb);
  world[2].recv(rc);
  for (Send* op : {&a, &b, &c})
    EXPECT_TRUE(world[0].send(*op));
  world.run();
  EXPECT_NEAR(ra.at_s, 2e-3, 2e-9);
  EXPECT_NEAR(rb.at_s, 3e-3, 2e-9);
  EXPECT_NEAR(rc.at_s, 2e-3, 2e-9);
}

TEST(Sim, ALargeSendIsCompleteWhenItsReceiverTookIt) {
  World world(2, exactLinks(1e-3, 1e9));
  Send out(1, 10 << 20);
  Recv in(0, 10 << 20, world[1]);
  EXPECT_FALSE(world[0].send(out));
  world.run();
  EXPECT_FALSE(out.done) << "it has not met a receive";
  world[1].recv(in);
  world.run();
  ASSERT_TRUE(in.done && out.done);
  EXPECT_NEAR(world[0].now_s(), 2e-3 + (10 << 20) * 1e-9, 2e-9) << "there and back";
}

TEST(Sim, ALostMessageArrivesAfterTheRetransmission) {
  World world(2, exactLinks(1e-3, 1e9, 1.0, 0.25));
  Send out(1, 0);
  Recv in(0, 0, world[1]);
  world[1].recv(in);
  EXPECT_TRUE(world[0].send(out));
  world.run();
  EXPECT_NEAR(in.at_s, 0.251, 2e-9);
}

TEST(Sim, TheClockWaitsForARankThatIsBusy) {
  World world(3, exactLinks(1e-3, 1e9));
  Send out(1, 10);
  Recv in(0, 10, world[1]);
  world[1].recv(in);
  EXPECT_TRUE(world[0].send(out));
  for (int i = 0; i < 20; ++i) {
    world[0].progress();
    world[1].progress();
  }
  EXPECT_FALSE(in.done) << "rank 2 has not said that it has nothing to do";
  EXPECT_EQ(world[0].now_s(), 0);
  world.run();
  EXPECT_TRUE(in.done);
}

// Ring traffic with messages of random sizes, each posted when the one before arrived; the arrival times are the trace.
std::vector<double> traffic(std::uint64_t seed, double drop) {
  constexpr int kRanks = 4;
  constexpr int kRounds = 25;
  sim::SimOptions options;
  options.seed = seed;
  options.links = [=](int from, int to) { return sim::SimLink{1e-5 * (from + 1), 1e-5, 1e8 * (to + 1), drop, 1e-3}; };
  World world(kRanks, options);
  std::mt19937 random(5);
  std::vector<double> trace;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::unique_ptr<Send>> sends;
    std::vector<std::unique_ptr<Recv>> recvs;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::size_t size = random() % 100000;
      sends.push_back(std::make_unique<Send>((rank + 1) % kRanks, size));
      recvs.push_back(std::make_unique<Recv>(rank, size, world[(rank + 1) % kRanks]));
      world[(rank + 1) % kRanks].recv(*recvs.back());
      world[rank].send(*sends.back());
    }
    world.run();
    for (auto& op : recvs) {
      EXPECT_TRUE(op->done);
      trace.push_back(op->at_s);
    }
  }
  return trace;
}

TEST(Sim, TheClockPassesTheEventsOfARankThatIsAway) {
  World world(3, exactLinks(1e-3, 1e9), std::chrono::milliseconds(5));
  Send to_away(2, 10), out(1, 10000000);
  Recv in(0, 10000000, world[1]);
  world[1].recv(in);
  EXPECT_TRUE(world[0].send(to_away));
  world[0].send(out);
  // Rank 2 has called, is away from now on, and leaves what arrives for it lying.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!in.done && std::chrono::steady_clock::now() < end) {
    world[0].progress();
    world[1].progress();
  }
  ASSERT_TRUE(in.done);
  EXPECT_NEAR(in.at_s, 11e-3, 1e-6);
}

TEST(Sim, TheSameSeedGivesTheSameTimesAndAnotherDoesNot) {
  EXPECT_EQ(traffic(1, 0.1), traffic(1, 0.1));
  EXPECT_NE(traffic(1, 0.1), traffic(2, 0.1));
}

TEST(Sim, LossesMakeARunLonger) { EXPECT_GT(traffic(1, 0.3).back(), traffic(1, 0).back() + 1e-3); }

/// Transports of two ranks, which no World drives.
class SimAddresses : public testing::Test {
 protected:
  SimAddresses() {
    context_.size = 2;
    context_.config = &config_;
    context_.listener = &listener_;
  }

  Config config_;
  Silent listener_;
  TransportContext context_;
};

TEST_F(SimAddresses, OfOthersAreRefused) {
  SimTransport transport(context_);
  ASSERT_TRUE(transport.open().isOk());
  EXPECT_FALSE(transport.reaches("GSI1 of somebody else"));
  EXPECT_FALSE(transport.connect(1, "GSI1 of somebody else").isOk());
  EXPECT_EQ(transport.link(1), LinkState::failed);
  EXPECT_EQ(transport.linkError(1).peer(), 1);
}

TEST_F(SimAddresses, ThatAreForgedOrOfARankThatHasLeftAreRefused) {
  auto root = std::make_unique<SimTransport>(context_);
  const std::string address = root->open().take();
  context_.self = 1;
  for (std::size_t at = address.size() - 8; at < address.size(); ++at) {
    SimTransport transport(context_);
    ASSERT_TRUE(transport.open().isOk());
    std::string forged = address;
    forged[at] = static_cast<char>(forged[at] ^ 0x40);
    EXPECT_EQ(transport.connect(0, forged).kind(), GOSS_ERR_PEER_LOST);
  }
  root.reset();
  SimTransport transport(context_);
  ASSERT_TRUE(transport.open().isOk());
  EXPECT_EQ(transport.connect(0, address).kind(), GOSS_ERR_PEER_LOST);
  EXPECT_EQ(transport.linkError(0).peer(), 0);
}

} // namespace
} // namespace goss::transports

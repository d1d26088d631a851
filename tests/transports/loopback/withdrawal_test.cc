// A message that its sender takes back while the receiver looks at it. One thread plays both ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "gossamer/config.h"
#include "transports/loopback/loopback.h"

namespace goss::transports {
namespace {

constexpr std::size_t kOffered = 1 << 20; // Large enough to stay with the sender.

struct Send final : SendOperation {
  Send(int to, std::byte fill) : data(kOffered, fill), piece{data.data(), data.size()} {
    peer = to;
    tag = 1;
    pieces = {&piece, 1};
    bytes = data.size();
  }
  void onSent(const Status& status) override {
    EXPECT_TRUE(status.isOk()) << status.text();
    done = true;
  }
  std::vector<std::byte> data;
  iovec piece;
  bool done = false;
};

struct Recv final : RecvOperation {
  explicit Recv(int from) : data(kOffered), piece{data.data(), data.size()} {
    peer = from;
    tag = 1;
    pieces = {&piece, 1};
    capacity = data.size();
  }
  Status onMatched(const Envelope&, std::size_t) override {
    if (in_match) std::exchange(in_match, nullptr)();
    return Status::ok();
  }
  void onReceived(const Status& result) override {
    done = true;
    status = result;
  }
  std::vector<std::byte> data;
  iovec piece;
  std::function<void()> in_match;
  bool done = false;
  Status status;
};

class LoopbackWithdrawal : public ::testing::Test, public TransportListener {
 protected:
  void SetUp() override {
    std::vector<std::string> addresses;
    for (int rank = 0; rank < 2; ++rank) {
      TransportContext context;
      context.self = rank;
      context.size = 2;
      context.config = &config_;
      context.listener = this;
      ranks_.push_back(std::make_unique<LoopbackTransport>(context));
      addresses.push_back(ranks_.back()->open().take());
    }
    for (int rank = 0; rank < 2; ++rank)
      ASSERT_TRUE(ranks_[static_cast<std::size_t>(rank)]
                      ->connect(1 - rank, addresses[static_cast<std::size_t>(1 - rank)])
                      .isOk());
    drive();
    ASSERT_EQ(ranks_[0]->link(1), LinkState::ready);
  }
  void drive() {
    for (int i = 0; i < 10; ++i) {
      ranks_[0]->progress();
      ranks_[1]->progress();
    }
  }
  void onPeerLost(int peer, const Status& status, PeerLoss how) override {
    if (how != PeerLoss::departed) ADD_FAILURE() << "rank " << peer << " was lost: " << status.text();
  }

  Config config_;
  std::vector<std::unique_ptr<LoopbackTransport>> ranks_;
};

TEST_F(LoopbackWithdrawal, BetweenTheMatchAndTheCopyLeavesTheReceiveToTheNextMessage) {
  Send taken_back(1, std::byte{1});
  Send next(1, std::byte{2});
  Recv recv(0);
  recv.in_match = [&] { ranks_[0]->cancel(taken_back); };
  ranks_[1]->recv(recv);
  ASSERT_FALSE(ranks_[0]->send(taken_back)) << "it is offered";
  drive();
  EXPECT_FALSE(recv.done);
  EXPECT_FALSE(taken_back.done);
  EXPECT_EQ(ranks_[1]->link(0), LinkState::ready);
  ASSERT_FALSE(ranks_[0]->send(next));
  drive();
  ASSERT_TRUE(recv.done);
  EXPECT_TRUE(recv.status.isOk()) << recv.status.text();
  EXPECT_TRUE(std::all_of(recv.data.begin(), recv.data.end(), [](std::byte b) { return b == std::byte{2}; }));
  EXPECT_TRUE(next.done);
}

TEST_F(LoopbackWithdrawal, OfAMessageWhoseReceiveGoesTooLeavesNothing) {
  Send taken_back(1, std::byte{1});
  Recv recv(0);
  recv.in_match = [&] {
    ranks_[0]->cancel(taken_back);
    ranks_[1]->cancel(recv);
  };
  ranks_[1]->recv(recv);
  ASSERT_FALSE(ranks_[0]->send(taken_back));
  drive();
  EXPECT_FALSE(recv.done);
  Send next(1, std::byte{2});
  Recv another(0);
  ASSERT_FALSE(ranks_[0]->send(next));
  ranks_[1]->recv(another);
  drive();
  EXPECT_TRUE(another.done && another.status.isOk());
  EXPECT_TRUE(next.done);
}

} // namespace
} // namespace goss::transports

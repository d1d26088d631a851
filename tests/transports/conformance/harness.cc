#include "tests/transports/conformance/harness.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "tests/transports/conformance/board.h"

namespace goss::tests {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

} // namespace

std::vector<TransportFactory> processTransports() {
  std::vector<TransportFactory> found;
  for (TransportFactory& factory : allTransports()) {
    if (factory.between_processes) found.push_back(std::move(factory));
  }
  return found;
}

Node::Node(const TransportFactory& factory, const Config& config, int rank, int ranks, Board& board)
    : rank_(rank), ranks_(ranks), lends_(factory.lends), board_(board), config_(config) {
  if (factory.configure) factory.configure(config_);
  TransportContext context;
  context.self = rank;
  context.size = ranks;
  context.job = board.job;
  context.config = &config_;
  context.listener = this;
  transport_ = factory.make(context);
}

Node::~Node() = default;

bool Node::connectAll() {
  Result<std::string> address = transport_->open();
  if (!address.isOk()) {
    giveUp(address.status().text());
    return false;
  }
  auto self = static_cast<std::size_t>(rank_);
  EXPECT_LE(address.value().size(), Board::kMaxAddressBytes);
  EXPECT_TRUE(transport_->reaches(address.value()));
  std::memcpy(board_.address[self], address.value().data(), address.value().size());
  board_.address_bytes[self].store(static_cast<int>(address.value().size()));
  for (int peer = 0; peer < ranks_; ++peer) {
    auto index = static_cast<std::size_t>(peer);
    if (!pollUntil([&] { return board_.address_bytes[index].load() > 0; })) return false;
    if (peer == rank_) continue;
    std::string_view theirs(board_.address[index], static_cast<std::size_t>(board_.address_bytes[index].load()));
    EXPECT_TRUE(transport_->reaches(theirs));
    Status status = transport_->connect(peer, theirs);
    if (!status.isOk()) {
      giveUp(status.text());
      return false;
    }
  }
  auto ready = [&] {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer != rank_ && transport_->link(peer) != LinkState::ready) return false;
    }
    return true;
  };
  return until(ready) && barrier();
}

bool Node::drive(const std::function<bool()>& condition, milliseconds limit, milliseconds slice) {
  const Clock::time_point end = Clock::now() + limit;
  int idle = 0;
  while (!condition()) {
    if (board_.failed.load()) return false;
    const Clock::time_point now = Clock::now();
    if (now >= end) {
      giveUp("a wait ended without its condition");
      return false;
    }
    in_progress_ = true;
    bool any = transport_ && transport_->progress();
    in_progress_ = false;
    if (any) idle = 0;
    if (any || ++idle < 10) continue;
    if (!transport_) {
      std::this_thread::sleep_for(milliseconds(1));
      continue;
    }
    if (!transport_->prepareToSleep()) continue;
    auto left = std::min(slice, std::chrono::ceil<milliseconds>(end - now));
    pollfd waiting{transport_->pollFd(), POLLIN, 0};
    if (!condition()) ::poll(&waiting, 1, static_cast<int>(left.count()));
    transport_->sleepEnded();
  }
  return true;
}

bool Node::until(const std::function<bool()>& condition, milliseconds limit) {
  // The slice lets a rank see that another gave up; it is long enough that a lost wake-up makes a test visibly fail.
  return drive(condition, limit, limit);
}

bool Node::pollUntil(const std::function<bool()>& condition, milliseconds limit) {
  return drive(condition, limit, milliseconds(1));
}

void Node::driveFor(milliseconds span) {
  const Clock::time_point end = Clock::now() + span;
  pollUntil([&] { return Clock::now() >= end; }, span + std::chrono::seconds(5));
}

bool Node::barrier() {
  ++barriers_;
  board_.at_barrier.fetch_add(1);
  return pollUntil([&] { return board_.at_barrier.load() >= barriers_ * ranks_; }, std::chrono::seconds(60));
}

void Node::giveUp(const std::string& why) {
  board_.failed.store(true);
  ADD_FAILURE() << "rank " << rank_ << ": " << why;
}

void Node::onPeerLost(int peer, const Status& status, PeerLoss how) {
  checkCallback("onPeerLost");
  for (const Loss& loss : losses)
    EXPECT_NE(loss.peer, peer) << "a loss is reported once";
  EXPECT_FALSE(status.isOk());
  losses.push_back({peer, status, how});
}

void Node::turn() {
  in_progress_ = true;
  (void)transport_->progress();
  in_progress_ = false;
}

void Node::checkCallback(const char* name) const {
  EXPECT_TRUE(in_progress_) << name << " came from outside of progress()";
  EXPECT_EQ(depth_, 0) << name << " came out of send(), recv() or cancel()";
}

} // namespace goss::tests

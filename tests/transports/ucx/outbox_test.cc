// How much of what is sent over UCX's TCP it holds at a time, and that a message is taken back within its time.
#include "transports/ucx/outbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "transports/ucx/worker.h"

namespace goss::transports::ucx {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kPartBytes = 63u << 10;
constexpr std::size_t kMessageBytes = 64u << 20; // More than sockets take.

class Send final : public SendOperation {
 public:
  explicit Send(std::size_t size = kMessageBytes) : memory_(size) {
    piece_ = {memory_.data(), memory_.size()};
    pieces = {&piece_, 1};
    bytes = memory_.size();
  }
  void onSent(const Status& status) override {
    EXPECT_TRUE(status.isOk()) << status.text();
    ++completions;
  }
  int completions = 0;

 private:
  std::vector<std::byte> memory_;
  iovec piece_{};
};

/// A rank that sends over UCX's TCP to one whose UCX is another.
class UcxOutbox : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("UCX_TLS", "tcp", 1);
    Result<Worker> here = Worker::create(2);
    Result<Worker> there = Worker::create(2);
    ASSERT_TRUE(here.isOk()) << here.status().text();
    ASSERT_TRUE(there.isOk()) << there.status().text();
    here_.emplace(here.take());
    there_.emplace(there.take());
    station_.worker = &*here_;
    ASSERT_TRUE(there_->setHandler(onMessage, this).isOk());
    Result<ucp_ep_h> endpoint = here_->connect(1, there_->address().value(), {onError, nullptr});
    ASSERT_TRUE(endpoint.isOk()) << endpoint.status().text();
    endpoint_ = endpoint.value();
  }

  void TearDown() override {
    ::unsetenv("UCX_TLS");
    if (endpoint_ == nullptr) return;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    here_->finish(ucp_ep_close_nbx(endpoint_, &param), milliseconds(1000));
    here_->progressUntil([this] { return outbox_.isIdle(); }, milliseconds(1000));
  }

  /// Sends until nothing more leaves, though all of it may.
  void sendUntilStuck(Route route) {
    station_.unexpected_limit = route.window_bytes = 4 * kMessageBytes;
    route.ahead_bytes = kMessageBytes;
    outbox_.open(endpoint_, 0, route);
    EXPECT_FALSE(outbox_.post(send_));
    const auto meet = [&] {
      there_->progress();
      return came_ > 0;
    };
    ASSERT_TRUE(here_->progressUntil(meet, milliseconds(5000)));
    const auto run = [&] {
      outbox_.run();
      return false;
    };
    here_->progressUntil(run, milliseconds(200));
  }

  static ucs_status_t onMessage(void* test, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
    ++static_cast<UcxOutbox*>(test)->came_;
    return UCS_OK;
  }
  static void onError(void*, ucp_ep_h, ucs_status_t) {}

  Send send_; // UCX may read it until the end.
  std::optional<Worker> here_;
  std::optional<Worker> there_;
  Station station_;
  FlowBytes owed_;
  Outbox outbox_{station_, 1, owed_};
  ucp_ep_h endpoint_ = nullptr;
  std::atomic<int> came_ = 0;
};

TEST_F(UcxOutbox, GivesUcxToAnotherHostNoMoreThanTwoParts) {
  const Route far = here_->routeOf(endpoint_, false);
  EXPECT_EQ(far.part_bytes, kPartBytes);
  sendUntilStuck(far);
  EXPECT_GT(outbox_.heldBytes(), 0u);
  EXPECT_LE(outbox_.heldBytes(), 2 * kPartBytes);
  EXPECT_EQ(send_.completions, 0);

  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop)
      there_->progress();
  });
  EXPECT_TRUE(outbox_.cancel(send_));
  stop = true;
  reader.join();
  EXPECT_EQ(outbox_.heldBytes(), 0u);
  EXPECT_EQ(send_.completions, 0);
}

TEST_F(UcxOutbox, GivesUcxOnTheSameHostAboutAMegabyte) {
  sendUntilStuck(here_->routeOf(endpoint_, true));
  EXPECT_GT(outbox_.heldBytes(), 15 * kPartBytes);
  EXPECT_LT(outbox_.heldBytes(), 20 * kPartBytes);
}

// A message that UCX takes at once is complete when post() returns, and never again.
TEST_F(UcxOutbox, AMessageInPartsIsCompleteOnce) {
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop)
      there_->progress();
  });
  Route route = here_->routeOf(endpoint_, true);
  station_.unexpected_limit = route.window_bytes = std::size_t{1} << 40; // No credit comes back here.
  route.ahead_bytes = kMessageBytes;
  route.part_bytes = 1024;
  outbox_.open(endpoint_, 0, route);
  int at_once = 0;
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    Send send(2500);
    const bool complete = outbox_.post(send);
    at_once += complete ? 1 : 0;
    const auto sent = [&] {
      outbox_.run();
      return outbox_.isIdle() && !outbox_.hasWork();
    };
    EXPECT_TRUE(here_->progressUntil(sent, milliseconds(5000)));
    EXPECT_EQ(send.completions, complete ? 0 : 1);
  }
  stop = true;
  reader.join();
  EXPECT_GT(at_once, 0);
}

} // namespace
} // namespace goss::transports::ucx

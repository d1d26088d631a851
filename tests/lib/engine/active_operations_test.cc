// The engine's lists of active operations, of those to advance and of those to poll, and their timers.
#include "engine/active_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/operation_table.h"
#include "tests/lib/engine/operations.h"

namespace goss {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Le;

class ActiveOperationsTest : public testing::Test {
 protected:
  /// They become active in their order.
  void start(std::initializer_list<LoggingOperation*> operations) {
    for (LoggingOperation* operation : operations)
      ASSERT_TRUE(table_.startOnLoop(*operation).isOk());
  }
  void complete(Operation& operation) { table_.completeOnLoop(operation, Status::ok()); }
  /// What is advanced until nothing is marked.
  Names advanceAll() {
    host_.log.clear();
    while (active_.hasDirty())
      active_.advanceDirty();
    return host_.log;
  }
  /// What one round polls.
  Names pollAll() {
    host_.log.clear();
    any_found_ = active_.poll();
    return host_.log;
  }

  LoggingHost host_;
  Engine engine_{Config()};
  OperationTable table_{engine_, host_};
  ActiveOperations& active_ = engine_.active();
  LoggingOperation a_{host_, "a"}, b_{host_, "b"}, c_{host_, "c"}, d_{host_, "d"};
  bool any_found_ = false;
};

TEST_F(ActiveOperationsTest, KnowTheNewestOfThoseThatHaveNotCompleted) {
  EXPECT_TRUE(active_.isEmpty());
  start({&a_, &b_, &c_, &d_});
  EXPECT_EQ(active_.newest(), &d_);
  complete(d_);
  EXPECT_EQ(active_.newest(), &c_);
  complete(a_);
  complete(b_);
  EXPECT_EQ(active_.newest(), &c_);
  complete(c_);
  EXPECT_TRUE(active_.isEmpty());
  start({&b_});
  EXPECT_EQ(active_.newest(), &b_);
}

TEST_F(ActiveOperationsTest, AreVisitedOnceUnlessAnEarlierVisitCompletesThem) {
  start({&a_, &b_, &c_, &d_});
  Names visited;
  active_.forEach([&](Operation& operation) {
    visited.push_back(operation.describe());
    if (&operation != &d_) return;
    complete(d_);
    complete(b_);
  });
  EXPECT_THAT(visited, ElementsAre("d", "c", "a"));
}

TEST_F(ActiveOperationsTest, AdvanceOnceForAllMarksInTheOrderOfTheFirst) {
  start({&a_, &b_, &c_});
  for (Operation* operation : {&b_, &a_, &b_})
    active_.markDirty(*operation);
  b_.then = [&] {
    b_.then = nullptr;
    active_.markDirty(b_); // Behind those that wait.
  };
  EXPECT_THAT(advanceAll(), ElementsAre("b", "a", "b"));
  EXPECT_THAT(advanceAll(), IsEmpty());
}

TEST_F(ActiveOperationsTest, AreNotAdvancedWhenTheyHaveCompleted) {
  start({&a_, &b_, &c_, &d_});
  for (Operation* operation : {&a_, &b_, &c_})
    active_.markDirty(*operation);
  complete(b_);
  complete(c_); // The last one: the next mark goes behind `a`.
  active_.markDirty(d_);
  EXPECT_THAT(advanceAll(), ElementsAre("a", "d"));
  active_.markDirty(a_);
  complete(a_);
  EXPECT_FALSE(active_.hasDirty());
}

TEST_F(ActiveOperationsTest, ArePolledInEachRoundUntilTheyComplete) {
  start({&a_, &b_, &c_});
  for (Operation* operation : {&a_, &c_, &a_})
    active_.keepPolling(*operation);
  EXPECT_THAT(pollAll(), ElementsAre("a", "c"));
  EXPECT_FALSE(any_found_);
  a_.found = true;
  EXPECT_THAT(pollAll(), ElementsAre("a", "c"));
  EXPECT_TRUE(any_found_) << "also where a later one finds nothing";
  complete(a_);
  EXPECT_THAT(pollAll(), ElementsAre("c"));
  complete(c_);
  EXPECT_FALSE(active_.hasPolled());
}

TEST_F(ActiveOperationsTest, ArePolledOnceInARoundInWhichSomeComplete) {
  start({&a_, &b_, &c_, &d_});
  for (Operation* operation : {&a_, &b_, &c_, &d_})
    active_.keepPolling(*operation);
  b_.then = [&] { complete(a_); }; // One that was polled before.
  c_.then = [&] { complete(c_); };
  EXPECT_THAT(pollAll(), ElementsAre("a", "b", "c", "d"));
  b_.then = [&] { complete(d_); }; // One that is behind.
  EXPECT_THAT(pollAll(), ElementsAre("b"));
}

TEST_F(ActiveOperationsTest, AreOnlyAskedWhetherTheyHaveLeftAsTheyEnd) {
  start({&a_, &b_});
  a_.has_left = false;
  table_.endOnLoop(a_, Status::error(GOSS_ERR_TIMEOUT, "late"));
  table_.endOnLoop(b_, Status::error(GOSS_ERR_TIMEOUT, "late"));
  EXPECT_EQ(b_.state(), Operation::State::complete) << "no device works for it";
  EXPECT_EQ(a_.state(), Operation::State::active);
  EXPECT_TRUE(active_.waitsForDevice());
  table_.endOnLoop(a_, Status::error(GOSS_ERR_ABORTED, "a later error"));
  active_.markDirty(a_);
  EXPECT_THAT(advanceAll(), IsEmpty());
  a_.setNextProbe(steady_clock::now() - seconds(1));
  active_.checkTimers();
  EXPECT_THAT(host_.log, IsEmpty());
  EXPECT_THAT(pollAll(), IsEmpty());
  EXPECT_EQ(a_.state(), Operation::State::active);
  a_.has_left = true;
  pollAll();
  EXPECT_TRUE(any_found_);
  EXPECT_EQ(a_.state(), Operation::State::complete);
  EXPECT_EQ(a_.status().kind(), GOSS_ERR_TIMEOUT);
  EXPECT_TRUE(active_.isEmpty());
}

TEST_F(ActiveOperationsTest, EndAlthoughTheyHaveNotLeftIfThatTakesLong) {
  start({&a_});
  a_.has_left = false;
  table_.endOnLoop(a_, Status::error(GOSS_ERR_TIMEOUT, "late"));
  a_.endBefore(steady_clock::now() - seconds(1));
  pollAll();
  EXPECT_EQ(a_.state(), Operation::State::complete);
}

/// Says whether it lives.
class Retiring final : public Operation {
 public:
  Retiring(OperationHost& host, bool& lives, const std::atomic<bool>& has_left)
      : Operation(host), lives_(lives), has_left_(has_left) {
    lives_ = true;
  }
  ~Retiring() override { lives_ = false; }
  void startOnLoop() override {}
  void advanceOnLoop() override {}
  void withdrawOnLoop() override {}
  bool tryLeaveOnLoop() override { return has_left_; }
  [[nodiscard]] std::string describe() const override { return "retiring"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const override { return {}; }

 private:
  bool& lives_;
  const std::atomic<bool>& has_left_;
};

TEST_F(ActiveOperationsTest, LiveUntilTheyHaveLeft) {
  bool lives = false, other_lives = false;
  std::atomic<bool> has_left = false;
  const std::atomic<bool> other_has_left = true;
  table_.retire(std::make_unique<Retiring>(host_, lives, has_left));
  table_.retire(std::make_unique<Retiring>(host_, other_lives, other_has_left));
  EXPECT_TRUE(lives);
  EXPECT_FALSE(other_lives);
  has_left = true;
  table_.retire(std::make_unique<Retiring>(host_, other_lives, other_has_left));
  EXPECT_FALSE(lives);
}

TEST_F(ActiveOperationsTest, LetTheLoopGoOnWhileTheyAreFreed) {
  bool lives = false;
  std::atomic<bool> has_left = false;
  auto lock = engine_.enter();
  table_.handOut(std::make_unique<Retiring>(host_, lives, has_left));
  const std::jthread loop([&] {
    const auto turn = engine_.enter();
    EXPECT_TRUE(lives);
    has_left = true;
  });
  table_.freeHandedOut(lock);
  EXPECT_TRUE(has_left);
  EXPECT_FALSE(lives);
}

TEST_F(ActiveOperationsTest, TellTheirHostThatTheyRanOutOfMemory) {
  const auto run_out = [] { throw std::bad_alloc(); };
  a_.at_start = run_out;
  start({&a_, &b_, &c_});
  EXPECT_THAT(host_.log, ElementsAre("a: out of memory"));
  b_.then = run_out;
  active_.markDirty(b_);
  EXPECT_THAT(advanceAll(), ElementsAre("b", "b: out of memory"));
  active_.keepPolling(b_);
  active_.keepPolling(c_);
  EXPECT_THAT(pollAll(), ElementsAre("b", "b: out of memory", "c"));
}

TEST_F(ActiveOperationsTest, TellTheirHostOfDeadlinesAndElseOfProbes) {
  start({&a_, &b_, &c_, &d_});
  const auto now = steady_clock::now();
  a_.endBefore(now - seconds(1));
  b_.setNextProbe(now - seconds(1));
  c_.endBefore(now - seconds(1));
  c_.setNextProbe(now - seconds(2));
  d_.setNextProbe(now + seconds(1000));
  active_.checkTimers();
  EXPECT_THAT(host_.log, ElementsAre("expired c", "probe b", "expired a"));
}

TEST_F(ActiveOperationsTest, KnowTheTimeToTheirNextTimer) {
  EXPECT_EQ(active_.millisecondsToNextTimer(), -1);
  start({&a_, &b_});
  const auto now = steady_clock::now();
  a_.setNextProbe(now + seconds(500));
  b_.setNextProbe(now + seconds(500));
  EXPECT_EQ(active_.millisecondsToNextTimer(), 60'000) << "at most a minute";
  b_.setNextProbe(now + seconds(50));
  EXPECT_THAT(active_.millisecondsToNextTimer(), AllOf(Gt(0), Le(50'000)));
  a_.endBefore(now - seconds(1));
  EXPECT_EQ(active_.millisecondsToNextTimer(), 0);
}

} // namespace
} // namespace goss

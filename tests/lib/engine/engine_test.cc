// Threads that wait beside a driver: their limits, and who drives after it.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "engine/operation_table.h"
#include "tests/lib/engine/operations.h"

namespace goss {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kTooLong(5);

bool never() { return false; }

class EngineTest : public testing::Test {
 protected:
  /// An engine that always has something to do.
  EngineTest() {
    engine_.attach(nullptr, [] { return true; });
  }
  /// Begins a thread that waits for what never holds, for `limit_ms`. The caller drives.
  std::thread waitBeside(int limit_ms) {
    return std::thread([this, limit_ms] {
      Engine::Lock lock = engine_.enter();
      limit_ = steady_clock::now() + milliseconds(limit_ms);
      ++waiting_;
      EXPECT_FALSE(engine_.driveUntil(lock, never, limit_));
      returned_ = steady_clock::now();
      --waiting_;
    });
  }

  LoggingHost host_;
  Engine engine_{Config()};
  OperationTable table_{engine_, host_};
  // Guarded by the engine's lock. Who sees that a thread waits, sees that it has released the lock to do so.
  int waiting_ = 0;
  TimePoint limit_;
  TimePoint returned_;
};

TEST_F(EngineTest, ABusyDriverLetsThoseGoWhoseLimitIsPast) {
  Engine::Lock lock = engine_.enter();
  const TimePoint end = steady_clock::now() + kTooLong;
  bool began = false;
  std::thread waiter;
  const auto done = [&] {
    if (!waiter.joinable()) waiter = waitBeside(30);
    began = began || waiting_ > 0;
    return (began && waiting_ == 0) || steady_clock::now() > end;
  };
  engine_.driveUntil(lock, done);
  EXPECT_EQ(waiting_, 0) << "it waited until the driver was through";
  EXPECT_GE(returned_, limit_);
  lock.unlock();
  waiter.join();
}

TEST_F(EngineTest, AnExceptionEndsTheRoleOfTheDriver) {
  Engine::Lock lock = engine_.enter();
  int looks = 0;
  const auto throws = [&]() -> bool { return ++looks > 1 ? throw std::bad_alloc() : false; };
  EXPECT_THROW(engine_.driveUntil(lock, throws), std::bad_alloc);
  looks = 0;
  EXPECT_TRUE(engine_.driveUntil(
      lock, [&] { return ++looks > 5; }, steady_clock::now() + kTooLong));
}

TEST_F(EngineTest, ThoseWithTimeLeftTellTheirLimitsOnceMore) {
  Engine::Lock lock = engine_.enter();
  std::thread longest;
  std::thread shortest;
  int most = 0;
  const TimePoint end = steady_clock::now() + kTooLong;
  const auto done = [&] {
    if (!longest.joinable()) longest = waitBeside(120);
    if (waiting_ == 1 && !shortest.joinable()) shortest = waitBeside(30);
    most = std::max(most, waiting_);
    return (most == 2 && waiting_ == 0) || steady_clock::now() > end;
  };
  engine_.driveUntil(lock, done);
  EXPECT_EQ(waiting_, 0) << "the one with more time was woken with the other and has not told its limit again";
  lock.unlock();
  longest.join();
  shortest.join();
}

/// The driver leaves, and counts on a thread that waits; but by the time that this has the lock, its limit is past.
TEST_F(EngineTest, AWaiterThatGivesUpCallsAnotherDriver) {
  LoggingOperation left{host_, "left"};
  Engine::Lock lock = engine_.enter();
  ASSERT_TRUE(table_.startOnLoop(left).isOk());
  std::thread waiter;
  const auto done = [&] {
    if (!waiter.joinable()) waiter = waitBeside(30);
    if (waiting_ == 0) return false;
    std::this_thread::sleep_until(limit_ + milliseconds(20)); // It cannot have the lock.
    return true;
  };
  EXPECT_TRUE(engine_.driveUntil(lock, done));
  // As the progress thread, which sees that a thread waits.
  const TimePoint begin = steady_clock::now();
  engine_.driveIdle(lock, 5000);
  EXPECT_LT(steady_clock::now() - begin, milliseconds(2500)) << "no thread drove the operation that is left";
  table_.completeOnLoop(left, Status::ok());
  lock.unlock();
  waiter.join();
}

} // namespace
} // namespace goss

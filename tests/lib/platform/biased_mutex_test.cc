#include "platform/biased_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/fence.h"

namespace goss::platform {
namespace {

TEST(BiasedMutex, AnOwnerAndThoseThatInterruptItExcludeEachOther) {
  BiasedMutex mutex;
  long sum = 0; // Not atomic, so that a thread sanitizer sees every overlap.
  bool stop = false;
  const auto add = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const std::lock_guard lock(mutex);
      ++sum;
    }
  };
  add(1000); // This thread owns it now.
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) {
    others.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        add(1);
        if (i % 10 == 0) add(100); // As many in a row as make an owner, where there is none yet.
      }
    });
  }
  std::thread stopper([&] {
    for (std::thread& other : others)
      other.join();
    const std::lock_guard lock(mutex);
    stop = true;
  });
  long own = 0;
  for (bool stopped = false; !stopped;) {
    const std::lock_guard lock(mutex);
    ++sum;
    ++own;
    stopped = stop;
  }
  stopper.join();
  EXPECT_EQ(sum, 1000 + own + 3 * (300 + 30 * 100));
}

TEST(BiasedMutex, TryLockFailsWhileTheOwnerIsInside) {
  BiasedMutex mutex;
  for (int i = 0; i < 100; ++i)
    mutex.lock(), mutex.unlock();
  ASSERT_TRUE(mutex.try_lock());
  std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  mutex.unlock();
  std::thread([&] {
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  }).join();
}

TEST(BiasedMutex, WhoHasRenouncedNeverOwnsIt) {
  BiasedMutex mutex;
  const auto takeTurns = [&] {
    for (int i = 0; i < 100; ++i)
      mutex.lock(), mutex.unlock();
  };
  std::thread([&] {
    mutex.lock();
    mutex.renounce();
    mutex.unlock();
    takeTurns();
    EXPECT_FALSE(mutex.isOwnedByThisThread());
  }).join();
  takeTurns();
  EXPECT_EQ(mutex.isOwnedByThisThread(), joinOwnFences());
}

TEST(BiasedMutex, WhoWaitsLongForTheOwnerIsWoken) {
  BiasedMutex mutex;
  for (int i = 0; i < 100; ++i)
    mutex.lock(), mutex.unlock();
  for (int round = 0; round < 20; ++round) {
    mutex.lock();
    std::thread waiter([&] { const std::lock_guard lock(mutex); });
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
    mutex.unlock();
    waiter.join();
    for (int i = 0; i < 100; ++i)
      mutex.lock(), mutex.unlock();
  }
}

// A thread sanitizer sees what touches the mutex after that.
TEST(BiasedMutex, MayBeDestroyedByWhoeverLocksItAfterTheOwner) {
  for (int round = 0; round < 50; ++round) {
    auto mutex = std::make_unique<BiasedMutex>();
    std::atomic<bool> holds{false};
    std::thread owner([&holds, &mutex = *mutex] {
      for (int i = 0; i < 100; ++i)
        mutex.lock(), mutex.unlock();
      mutex.lock();
      holds = true;
      mutex.unlock();
    });
    while (!holds)
      std::this_thread::yield();
    mutex->lock(), mutex->unlock();
    mutex.reset();
    owner.join();
  }
}

TEST(BiasedMutex, ServesAConditionVariable) {
  BiasedMutex mutex;
  std::condition_variable_any changed;
  int turn = 0;
  const auto play = [&](int self) {
    for (int i = 0; i < 500; ++i) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return turn % 2 == self; });
      ++turn;
      changed.notify_all();
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(turn, 1000);
}

} // namespace
} // namespace goss::platform

// A rank that sleeps in poll() is woken by everything that it waits for.
#include <poll.h>

#include <memory>
#include <random>
#include <thread>

#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportSleeping, allTransports());

// until() sleeps for its whole limit, so a lost wake-up shows as a failure.
TEST_P(TransportSleeping, NoWakeUpIsLostUnderRandomDelays) {
  const int rounds = fullOr(400, 150);
  runThreads(GetParam(), 2, [rounds](Node& node) {
    std::mt19937 random(static_cast<unsigned>(node.rank()));
    int other = 1 - node.rank();
    for (int round = 0; round < rounds; ++round) {
      std::size_t size = round % 5 == 0 ? 200000 : 64;
      auto pause = std::chrono::microseconds(random() % 4 == 0 ? 0 : random() % 120);
      auto end = std::chrono::steady_clock::now() + pause;
      while (std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
      TestRecv in(node, other, 1, size);
      TestSend out(node, other, 1, pattern(size, static_cast<std::uint64_t>(round)));
      if (round % 2 == 0) in.post();
      out.post();
      if (round % 2 == 1) in.post();
      ASSERT_TRUE(node.until([&] { return in.done() && out.done(); })) << "round " << round;
      ASSERT_TRUE(isPattern(in.received(), static_cast<std::uint64_t>(round)));
    }
  });
}

TEST_P(TransportSleeping, AMessageWakesASleeper) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      sendMessage(node, 1, 1, 10, 1);
    } else {
      recvMessage(node, 0, 1, 10, 1);
    }
  });
}

TEST_P(TransportSleeping, RoomWakesASleepingSender) {
  const std::size_t bytes = fullOr(20u << 20, 6u << 20);
  runThreads(GetParam(), 2, [bytes](Node& node) {
    if (node.rank() == 0) {
      sendMessage(node, 1, 1, bytes, 1);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      recvMessage(node, 0, 1, bytes, 1);
    }
  });
}

TEST_P(TransportSleeping, AGoodbyeWakesASleeper) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      node.close();
    } else {
      ASSERT_TRUE(node.until([&] { return !node.losses.empty(); }));
    }
  });
}

TEST_P(TransportSleeping, PendingFailuresForbidSleep) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      node.close();
      return;
    }
    ASSERT_TRUE(node.until([&] { return !node.losses.empty(); }));
    TestRecv op(node, 0, 1, 10);
    op.post();
    bool sleeps = node.transport().prepareToSleep();
    if (sleeps) node.transport().sleepEnded();
    EXPECT_FALSE(sleeps);
    ASSERT_TRUE(node.until([&] { return op.done(); }));
  });
}

TEST_P(TransportSleeping, NothingToDoMeansAQuietDescriptor) {
  runThreads(GetParam(), 2, [](Node& node) {
    ASSERT_TRUE(node.barrier());
    node.driveFor(std::chrono::milliseconds(20));
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    int wakes = 0;
    for (auto now = end - std::chrono::milliseconds(30); now < end; now = std::chrono::steady_clock::now()) {
      if (!node.transport().prepareToSleep()) return; // Late traffic of the set-up.
      pollfd waiting{node.transport().pollFd(), POLLIN, 0};
      wakes += ::poll(&waiting, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(end - now).count()));
      node.transport().sleepEnded();
    }
    EXPECT_LE(wakes, GetParam().naps ? 20 : 0) << "a sleeper would spin";
  });
}

} // namespace
} // namespace goss::tests

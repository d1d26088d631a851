// What the kernel of a gate does, apart from the machine that it runs on.
#include "compressors/cuda/library/gate_wait.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace goss::compressors::cuda {
namespace {

/// A flag that rises at an instant of a clock that only pauses move.
struct Machine {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  std::uint64_t rises_at_ns = 0;
  std::uint64_t now_ns = 5; ///< Clocks of devices do not begin at 0.
  std::vector<unsigned> pauses_ns = {};

  [[nodiscard]] std::uint32_t look() const { return now_ns < rises_at_ns ? before : after; }
  [[nodiscard]] std::uint64_t now() const { return now_ns; }
  void pause(unsigned ns) {
    now_ns += ns;
    pauses_ns.push_back(ns);
  }
};

constexpr std::uint64_t kLongest = 1000000;

TEST(GateWait, DoesNotPauseAtAnOpenGate) {
  Machine machine{.before = 0, .after = 7};
  EXPECT_TRUE(waitAtGate(machine, 7, kLongest));
  EXPECT_TRUE(waitAtGate(machine, 6, kLongest));
  EXPECT_TRUE(waitAtGate(machine, 0xfffffff0u, kLongest)) << "counted modulo 2^32";
  EXPECT_TRUE(machine.pauses_ns.empty());
}

TEST(GateWait, PausesLongerAndLongerUpToALimit) {
  Machine machine{.before = 6, .after = 7, .rises_at_ns = 100000};
  EXPECT_TRUE(waitAtGate(machine, 7, kLongest));
  ASSERT_GT(machine.pauses_ns.size(), 8u);
  EXPECT_EQ(machine.pauses_ns.front(), kFirstPauseNs);
  EXPECT_EQ(machine.pauses_ns[1], 2 * kFirstPauseNs);
  EXPECT_EQ(machine.pauses_ns.back(), kLongestPauseNs);
  EXPECT_LT(machine.now_ns, 100000u + 2 * kLongestPauseNs) << "it looks soon after the flag has risen";
}

TEST(GateWait, GoesOnWaitingWhereTheClockIsSetBack) {
  struct SetBack : Machine {
    [[nodiscard]] std::uint64_t now() const { return pauses_ns.size() < 3 ? 5000 : now_ns; }
  };
  SetBack machine;
  machine.after = 7;
  machine.rises_at_ns = 3000;
  EXPECT_TRUE(waitAtGate(machine, 7, kLongest));
  EXPECT_GT(machine.pauses_ns.size(), 3u);
}

TEST(GateWait, EndsWhereNobodyOpensTheGate) {
  Machine machine{.before = 6, .after = 6};
  EXPECT_FALSE(waitAtGate(machine, 7, kLongest));
  EXPECT_GE(machine.now_ns, kLongest);
  EXPECT_LE(machine.now_ns, kLongest + 2 * kLongestPauseNs);
}

} // namespace
} // namespace goss::compressors::cuda

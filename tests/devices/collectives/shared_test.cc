// Ranks that are threads of one process and share a GPU: their calls run there, and nothing comes to the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/devices/collectives/device_case.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

constexpr std::size_t kLong = 100003; // Elements of float32 that ranks share.

/// Ranks on one device; those of `threads` have the same numbers anyway.
DeviceSetup sharing(int ranks, std::int64_t timeout_ms = 60000) {
  DeviceSetup setup{"loopback", ranks, {}, timeout_ms};
  setup.machine.share = true;
  return setup;
}

/// What all ranks' devices copied during `body`, which all ranks run.
class CopiedMeanwhile {
 public:
  explicit CopiedMeanwhile(int ranks) : here_(ranks) {}
  template <typename Body>
  Copied of(int rank, Body body) {
    here_.arrive_and_wait();
    if (rank == 0) before_ = copiedBytes();
    here_.arrive_and_wait();
    body();
    here_.arrive_and_wait();
    if (rank == 0) after_ = copiedBytes();
    here_.arrive_and_wait();
    return {after_.to_host - before_.to_host, after_.to_device - before_.to_device, after_.within - before_.within};
  }

 private:
  std::barrier<> here_;
  Copied before_;
  Copied after_;
};

/// Values whose sums depend on their order.
std::vector<float> roughValues(int rank) {
  std::mt19937 engine(static_cast<unsigned>(rank) + 1);
  std::normal_distribution<float> normal;
  std::vector<float> values(kLong);
  for (float& value : values)
    value = normal(engine);
  return values;
}

class SharedDevice : public testing::TestWithParam<int> {};

/// Of every algorithm, because it adds in an order of its own.
TEST_P(SharedDevice, SumsHaveTheBitsOfHostBuffersAndNothingCrosses) {
  const int ranks = GetParam();
  const std::vector<std::string> algorithms = algorithmsFor(Collective::allReduce, ranks);
  CopiedMeanwhile copied(ranks);
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "65536");
  runDeviceRanks(sharing(ranks), [&](goss_comm_t comm, int rank, DeviceRank& device) {
    auto* memory = reinterpret_cast<float*>(device.memory(2 * kLong * sizeof(float)));
    const std::vector<float> values = roughValues(rank);
    Sample sample(fullOr(1, 3));
    std::size_t next = 0;
    for (const std::string& algorithm : algorithms) {
      if (!sample.takeNext()) continue;
      goss_options how = GOSS_OPTIONS_INIT;
      how.algorithm = algorithm.c_str();
      const goss_op op = next % 2 == 0 ? GOSS_SUM : GOSS_AVG;
      float* recv = memory + (next++ % 3 == 0 ? kLong : 0);
      std::vector<float> expected(kLong);
      EXPECT_OK(goss_all_reduce(comm, values.data(), expected.data(), kLong, GOSS_FLOAT32, op, &how, nullptr));
      device.enqueueToDevice(bytesOf(values));
      EXPECT_TRUE(device.synchronize());
      const Copied bytes = copied.of(
          rank, [&] { ASSERT_OK(goss_all_reduce(comm, memory, recv, kLong, GOSS_FLOAT32, op, &how, nullptr)); });
      EXPECT_EQ(bytes.to_host, 0U) << algorithm;
      EXPECT_EQ(bytes.to_device, 0U) << algorithm;
      if (rank == 0) EXPECT_GT(bytes.within, 0U) << algorithm;
      device.enqueueToHost(2 * kLong * sizeof(float));
      ASSERT_TRUE(device.synchronize());
      const std::vector<float> found = floatsOf(device.fetched(2 * kLong * sizeof(float)));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + (recv - memory))) << algorithm;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, SharedDevice, testing::Values(2, 3, 4),
                         [](const auto& tested) { return std::to_string(tested.param) + "ranks"; });

/// Every collective by one of its algorithms, the dtypes, operations and ways in turn.
TEST(SharedCollectives, HaveTheBitsOfHostBuffers) {
  constexpr int kRanks = 3;
  runDeviceRanks(sharing(kRanks), [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::size_t next = 0;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (const bool in_place : {false, true}) {
        Case test;
        test.collective = static_cast<Collective>(collective);
        const std::vector<std::string> algorithms = algorithmsFor(test.collective, kRanks);
        if (!algorithms.empty()) test.algorithm = algorithms[next % algorithms.size()];
        const DType dtypes[] = {GOSS_INT64, GOSS_FLOAT32, GOSS_FLOAT64};
        test.dtype = dtypes[next % std::size(dtypes)];
        const std::vector<ReduceOp> ops = legalOps(test.collective, test.dtype);
        test.op = ops[next % ops.size()];
        test.in_place = in_place;
        test.count = test.dtype == GOSS_FLOAT32 ? 65539 : 32771;
        const Way ways[] = {Way::blocking, Way::requested, Way::persistent};
        const Way way = ways[next++ % std::size(ways)];
        if (!check(comm, device, test, rank, kRanks, way)) return;
      }
    }
  });
}

/// What keeps ranks from sharing: a rank's buffers lie elsewhere, or its call is a part of a stream.
enum class Other { device, host, stream };
class NotShared : public testing::TestWithParam<Other> {};

TEST_P(NotShared, CallsAreStaged) {
  CopiedMeanwhile copied(2);
  runDeviceRanks(sharing(2), [&](goss_comm_t comm, int rank, DeviceRank& device) {
    constexpr std::size_t kLongBytes = kLong * sizeof(float);
    const std::vector<float> ones(kLong, 1);
    std::vector<float> host(kLong, 1);
    const bool other = rank == 1;
    const auto there = device.at(1).allocate(MemoryKind::device, kLongBytes);
    EXPECT_TRUE(there.isOk());
    device.enqueueToDevice(bytesOf(ones));
    EXPECT_TRUE(device.synchronize());
    void* memory = device.memory(kLongBytes);
    goss_options how = GOSS_OPTIONS_INIT;
    if (other && GetParam() == Other::device) memory = there.value()->data();
    if (other && GetParam() == Other::host) memory = host.data();
    if (other && GetParam() == Other::stream) how.stream = device.stream();
    const Copied bytes = copied.of(rank, [&] {
      for (int i = 0; i < 2; ++i)
        ASSERT_OK(goss_all_reduce(comm, memory, memory, kLong, GOSS_FLOAT32, GOSS_MAX, &how, nullptr));
      ASSERT_TRUE(device.synchronize());
    });
    const std::size_t staged = (GetParam() == Other::host ? 1 : 2) * 2 * kLongBytes;
    EXPECT_EQ(bytes.to_host, staged);
    EXPECT_EQ(bytes.to_device, staged);
    if (GetParam() == Other::device) return; // The other device's numbers are not known.
    device.enqueueToHost(kLongBytes);
    ASSERT_TRUE(device.synchronize());
    const std::vector<float> found = memory == host.data() ? host : floatsOf(device.fetched(kLongBytes));
    EXPECT_THAT(found, testing::Each(1.0F));
  });
}

INSTANTIATE_TEST_SUITE_P(All, NotShared, testing::Values(Other::device, Other::host, Other::stream),
                         [](const auto& tested) { return "by" + std::to_string(static_cast<int>(tested.param)); });

/// The GPU cannot run the kernels.
TEST(SharedWithoutKernels, CallsAreStaged) {
  if (!testsStandin()) return; // `threads` has them.
  DeviceSetup setup = sharing(2);
  setup.machine.standin = [](standin::Settings& settings) { settings.kernels = 0; };
  runDeviceRanks(setup, [](goss_comm_t comm, int rank, DeviceRank& device) {
    Case test;
    test.count = kLong;
    check(comm, device, test, rank, 2, Way::blocking);
  });
}

TEST(SharedFailures, ARankThatDoesNotCallIsNamed) {
  runDeviceRanks(sharing(2, 300), [](goss_comm_t comm, int rank, DeviceRank& device) {
    if (rank == 0) {
      void* memory = device.memory(kLong * sizeof(float));
      EXPECT_EQ(goss_all_reduce(comm, memory, memory, kLong, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
                GOSS_ERR_TIMEOUT);
      EXPECT_THAT(goss_last_error(), testing::HasSubstr("rank 1"));
    }
    failureOf(comm);
  });
}

TEST(SharedFailures, RanksThatCallSomethingElseAreNamed) {
  runDeviceRanks(sharing(2, 5000), [](goss_comm_t comm, int rank, DeviceRank& device) {
    void* memory = device.memory(kLong * sizeof(float));
    const goss_op op = rank == 0 ? GOSS_SUM : GOSS_MAX;
    EXPECT_EQ(goss_all_reduce(comm, memory, memory, kLong, GOSS_FLOAT32, op, nullptr, nullptr), GOSS_ERR_MISMATCH);
  });
}

/// A device fails between two calls.
TEST(SharedFailures, ADeviceThatFailsFailsAll) {
  runDeviceRanks(sharing(2, 20000), [](goss_comm_t comm, int rank, DeviceRank& device) {
    void* memory = device.memory(kLong * sizeof(float));
    EXPECT_OK(goss_all_reduce(comm, memory, memory, kLong, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 1) failNow(testsStandin() ? 0 : 1);
    (void)goss_all_reduce(comm, memory, memory, kLong, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    const auto [failure, text] = failureOf(comm);
    EXPECT_EQ(failure, GOSS_ERR_DEVICE) << text;
    EXPECT_THAT(text, testing::HasSubstr(testsStandin() ? "cuda device 0" : "rank 1: threads device 0 failed"));
  });
}

/// Rank 0's call ends at its deadline while rank 1's slow device is about to read rank 0's buffer, which may be freed
/// only when that has read.
TEST(SharedFailures, ACallThatFailsWaitsForThoseThatRead) {
  DeviceSetup setup = sharing(2);
  constexpr int kSlow_us = 30000;
  setup.machine.other_rank = 1;
  setup.machine.other_behaviour.latency_us = kSlow_us;
  if (testsStandin()) setup.machine.behaviour.latency_us = kSlow_us;
  runDeviceRanks(setup, [](goss_comm_t comm, int rank, DeviceRank& device) {
    auto lent = device.at(0).allocate(MemoryKind::device, kLong * sizeof(float));
    ASSERT_TRUE(lent.isOk());
    goss_options how = GOSS_OPTIONS_INIT;
    how.timeout_ms = rank == 0 ? 50 : 20000;
    EXPECT_NE(goss_broadcast(comm, lent.value()->data(), lent.value()->data(), kLong, GOSS_FLOAT32, 0, &how, nullptr),
              GOSS_SUCCESS);
    if (rank == 0) lent = Status::error(GOSS_ERR_ABORTED, "freed");
    failureOf(comm);
    EXPECT_TRUE(device.synchronize()) << "A device has read what was freed.";
  });
}

} // namespace
} // namespace goss::test

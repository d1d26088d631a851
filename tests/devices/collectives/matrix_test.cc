// Collectives on device buffers have the bits of collectives on host buffers: every collective x dtype x op x count x
// in place x way of calling, over several transports.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/devices/collectives/device_rank.h"
#include "tests/matrix/call.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

enum class Way { blocking, requested, persistent, ordered, orderedPersistent };

bool isOrdered(Way way) { return way == Way::ordered || way == Way::orderedPersistent; }

goss_status callIn(goss_comm_t comm, const Case& test, Buffers& buffers, Way way) {
  if (way == Way::blocking || way == Way::ordered) return call(comm, test, buffers);
  goss_request_t request = nullptr;
  const bool persistent = way != Way::requested;
  goss_status status = call(comm, test, buffers, persistent ? GOSS_PERSISTENT : 0, &request);
  if (status != GOSS_SUCCESS) return status;
  if (persistent && (status = goss_start(request)) != GOSS_SUCCESS) return status;
  status = goss_wait(&request, nullptr);
  if (persistent) {
    EXPECT_OK(goss_request_free(&request));
  }
  return status;
}

/// False when it failed: the caller gives up, as the ranks are out of step.
bool check(goss_comm_t comm, DeviceRank& device, Case test, int rank, int ranks, Way way) {
  test.root = static_cast<int>(test.count + static_cast<std::size_t>(test.dtype)) % ranks;
  Buffers buffers(test, rank, ranks);
  std::vector<std::byte>& memory = buffers.memory();
  buffers.lieOnDevice(device.memory(memory.size()), isOrdered(way) ? device.stream() : nullptr);
  device.enqueueToDevice(memory);
  if (!isOrdered(way)) {
    EXPECT_TRUE(device.synchronize());
  }
  const goss_status status = callIn(comm, test, buffers, way);
  EXPECT_EQ(status, GOSS_SUCCESS) << test.describe() << ": " << goss_last_error();
  if (status != GOSS_SUCCESS) return false;
  device.enqueueToHost(memory.size());
  EXPECT_TRUE(device.synchronize()) << test.describe();
  memory = device.fetched(memory.size());
  const std::string difference = buffers.difference();
  EXPECT_EQ(difference, "") << test.describe() << " on rank " << rank << " of " << ranks << ", way "
                            << static_cast<int>(way);
  return difference.empty();
}

/// Picks one case in so many, the same ones on all ranks.
class Sample {
 public:
  explicit Sample(std::size_t stride) : stride_(fullOr(stride, 11 * stride)) {}
  bool takeNext() { return next_++ % stride_ == 0; }

 private:
  std::size_t next_ = 0;
  const std::size_t stride_;
};

constexpr Way kWays[] = {Way::blocking, Way::requested, Way::persistent, Way::ordered, Way::orderedPersistent};

class DeviceMatrix : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  [[nodiscard]] DeviceSetup setup() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(DeviceMatrix, EveryDtypeAndOp) {
  const int ranks = setup().ranks;
  runDeviceRanks(setup(), [&](goss_comm_t comm, int rank, DeviceRank& device) {
    Sample sample(1);
    std::size_t next = 0;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
        Case test;
        test.collective = static_cast<Collective>(collective);
        test.dtype = static_cast<DType>(dtype);
        for (const ReduceOp op : legalOps(test.collective, test.dtype)) {
          for (const bool in_place : {false, true}) {
            test.op = op;
            test.count = std::vector<std::size_t>{127, 0, static_cast<std::size_t>(ranks) + 1, 1}[next / 7 % 4];
            test.in_place = in_place;
            const Way way = kWays[next++ % std::size(kWays)];
            if (sample.takeNext() && !check(comm, device, test, rank, ranks, way)) return;
          }
        }
      }
    }
  });
}

TEST_P(DeviceMatrix, EveryAlgorithmInFragments) {
  const int ranks = setup().ranks;
  std::vector<std::vector<std::string>> algorithms;
  for (int collective = 0; collective < kCollectiveCount; ++collective)
    algorithms.push_back(algorithmsFor(static_cast<Collective>(collective), ranks));
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  runDeviceRanks(setup(), [&](goss_comm_t comm, int rank, DeviceRank& device) {
    Sample sample(ranks < 4 ? 3 : 5); // Coprime to the four of the inner loops.
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      for (const std::string& algorithm : algorithms[i]) {
        Case test;
        test.collective = static_cast<Collective>(i);
        test.algorithm = algorithm;
        for (const bool in_place : {false, true}) {
          for (const Way way : {Way::blocking, Way::ordered}) {
            test.dtype = way == Way::blocking ? GOSS_FLOAT32 : GOSS_BFLOAT16;
            test.op = GOSS_SUM;
            test.count = 30011;
            test.in_place = in_place;
            if (sample.takeNext() && !check(comm, device, test, rank, ranks, way)) return;
          }
        }
      }
    }
  });
}

TEST_P(DeviceMatrix, UnevenBlocks) {
  const int ranks = setup().ranks;
  runDeviceRanks(setup(), [&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const Way way : {Way::blocking, Way::ordered}) {
      for (const std::size_t gap : {0U, 2U}) {
        Case test;
        test.dtype = GOSS_INT32;
        test.gap = gap;
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
          test.blocks.push_back(r % 3 * 3001);
        test.collective = Collective::reduceScatter;
        if (!check(comm, device, test, rank, ranks, way)) return;
        for (const bool in_place : {false, true}) {
          test.collective = Collective::allGather;
          test.in_place = in_place;
          if (!check(comm, device, test, rank, ranks, way)) return;
        }
        test.collective = Collective::allToAll;
        test.in_place = false;
        test.blocks.clear();
        for (std::size_t from = 0; from < static_cast<std::size_t>(ranks); ++from) {
          for (std::size_t to = 0; to < static_cast<std::size_t>(ranks); ++to)
            test.blocks.push_back((from + 2 * to) % 4 * 501);
        }
        if (!check(comm, device, test, rank, ranks, way)) return;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, DeviceMatrix,
                         testing::Combine(testing::Values("loopback", "shm", "tcp"), testing::Values(1, 2, 3, 4)),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + "_" + std::to_string(std::get<1>(tested.param)) + "ranks";
                         });

/// The stream stays right where all streams are one queue, and where each job takes a while.
class DeviceModes : public testing::TestWithParam<Behaviour> {};

TEST_P(DeviceModes, CollectivesOfSeveralFragments) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  runDeviceRanks({"tcp", 2, GetParam()}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const Collective collective : {Collective::allReduce, Collective::allGather, Collective::allToAll}) {
      for (const Way way : kWays) {
        Case test;
        test.collective = collective;
        test.count = 50001;
        if (!check(comm, device, test, rank, 2, way)) return;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, DeviceModes,
                         testing::Values(Behaviour{0, true, 0}, Behaviour{200, false, 0}, Behaviour{200, true, 0}),
                         [](const auto& tested) {
                           return std::string(tested.param.one_queue ? "oneQueue" : "manyQueues") +
                                  (tested.param.latency_us > 0 ? "Slow" : "");
                         });

} // namespace
} // namespace goss::test

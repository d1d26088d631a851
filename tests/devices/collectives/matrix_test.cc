// Collectives on device buffers have the bits of collectives on host buffers: every collective x dtype x op x count x
// in place x way of calling, over several transports.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/devices/collectives/device_case.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

class DeviceMatrix : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  [[nodiscard]] DeviceSetup setup() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(DeviceMatrix, EveryDtypeAndOp) { callEveryDtypeAndOp(setup(), fullOr(1, 11)); }

TEST_P(DeviceMatrix, EveryAlgorithmInFragments) {
  const int ranks = setup().ranks;
  std::vector<std::vector<std::string>> algorithms;
  for (int collective = 0; collective < kCollectiveCount; ++collective)
    algorithms.push_back(algorithmsFor(static_cast<Collective>(collective), ranks));
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  runDeviceRanks(setup(), [&](goss_comm_t comm, int rank, DeviceRank& device) {
    const std::size_t stride = ranks < 4 ? 3 : 5;
    Sample sample(fullOr(stride, 11 * stride)); // Coprime to the four of the inner loops.
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

TEST_P(DeviceMatrix, EveryCodec) {
  callEveryCodec(setup(), fullOr(23, 397));
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  callEveryCodec(setup(), fullOr(29, 409));
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

std::vector<std::string> transports() {
  if (testsStandin()) return {"shm", "tcp"};
  return {"loopback", "shm", "tcp"};
}

INSTANTIATE_TEST_SUITE_P(All, DeviceMatrix,
                         testing::Combine(testing::ValuesIn(transports()), testing::Values(1, 2, 3, 4)),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + "_" + std::to_string(std::get<1>(tested.param)) + "ranks";
                         });

} // namespace
} // namespace goss::test

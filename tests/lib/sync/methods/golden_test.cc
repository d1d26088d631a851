// Streaming DiLoCo's parameters step by step, as torchft's fixtures have them: one parameter a fragment, both 1 at
// first, gradient 2, inner rate 1, outer plain SGD of rate 2, 2 ranks, H = 6.
#include <gtest/gtest.h>

#include <array>

#include "gossamer/sync.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::size_t kGoldenSteps = 16;
using Values = std::array<float, kGoldenSteps>; // before each step

struct Golden {
  const char* timing;
  Values first, second;
};

constexpr Values kStraight = {1, -1, -3, -5, -7, -9, -11, -13, -15, -17, -19, -21, -23, -25, -27, -29};
const Golden kGolden[] = {
    {"tau=0,alpha=0",
     {1, -1, -3, -11, -13, -15, -17, -19, -21, -35, -37, -39, -41, -43, -45, -59},
     {1, -1, -3, -5, -7, -9, -23, -25, -27, -29, -31, -33, -47, -49, -51, -53}},
    {"tau=0,alpha=0.5",
     {1, -1, -3, -8, -10, -12, -14, -16, -18, -24.5, -26.5, -28.5, -30.5, -32.5, -34.5, -40.25},
     {1, -1, -3, -5, -7, -9, -17, -19, -21, -23, -25, -27, -32, -34, -36, -38}},
    {"tau=0,alpha=1", kStraight, kStraight},
    {"tau=1,alpha=0",
     {1, -1, -3, -7, -9, -11, -13, -15, -17, -27, -29, -31, -33, -35, -37, -47},
     {1, -1, -3, -5, -7, -9, -19, -21, -23, -25, -27, -29, -39, -41, -43, -45}},
    {"tau=1,alpha=0.5",
     {1, -1, -3, -6, -8, -10, -12, -14, -16, -21.5, -23.5, -25.5, -27.5, -29.5, -31.5, -35.75},
     {1, -1, -3, -5, -7, -9, -15, -17, -19, -21, -23, -25, -29, -31, -33, -35}},
    {"tau=1,alpha=1", kStraight, kStraight},
};

TEST(Golden, StreamingDilocoHoldsToTheLastDigit) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    for (const Golden& golden : kGolden) {
      const std::string spec = std::string("streaming:h=6,fragments=2,lr=2,momentum=0,") + golden.timing;
      goss_sync_t sync = nullptr;
      ASSERT_EQ(goss_sync_create(comm, spec.c_str(), &sync), GOSS_SUCCESS) << goss_last_error();
      std::array<float, 2> parameters = {1, 1};
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
        tensor.name = i == 0 ? "first" : "second";
        tensor.parameter = &parameters[i];
        tensor.count = 1;
        ASSERT_EQ(goss_sync_register(sync, &tensor, nullptr), GOSS_SUCCESS) << goss_last_error();
      }
      ASSERT_EQ(goss_sync_start(sync), GOSS_SUCCESS) << goss_last_error();
      for (std::size_t step = 0; step < kGoldenSteps; ++step) {
        EXPECT_EQ(parameters[0], golden.first[step]) << spec << ", before step " << step << ", rank " << rank;
        EXPECT_EQ(parameters[1], golden.second[step]) << spec << ", before step " << step << ", rank " << rank;
        parameters[0] -= 2;
        parameters[1] -= 2;
        ASSERT_EQ(goss_sync_step(sync), GOSS_SUCCESS) << goss_last_error();
      }
      EXPECT_EQ(goss_sync_destroy(sync), GOSS_SUCCESS);
    }
  });
}

} // namespace
} // namespace goss::test

// A blocking call that repeats an earlier one works on its own buffers, whatever was called in between.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr int kRanks = 2;

class CachedCall : public ::testing::TestWithParam<std::tuple<const char*, std::size_t>> {
 protected:
  [[nodiscard]] static RanksSetup setup() {
    RanksSetup setup;
    setup.ranks = kRanks;
    setup.transport = std::get<0>(GetParam());
    return setup;
  }
  [[nodiscard]] static std::size_t count() { return std::get<1>(GetParam()); }
};

/// Input and output of one call.
struct Vectors {
  explicit Vectors(std::int32_t value) : input(inputSize(), value), output(inputSize(), 0) {}
  static std::size_t inputSize() { return std::get<1>(CachedCall::GetParam()); }
  std::vector<std::int32_t> input;
  std::vector<std::int32_t> output;

  void sum(goss_comm_t comm, const goss_options* options = nullptr, goss_request_t* request = nullptr) {
    ASSERT_EQ(goss_all_reduce(comm, input.data(), output.data(), input.size(), GOSS_INT32, GOSS_SUM, options, request),
              GOSS_SUCCESS)
        << goss_last_error();
  }
  void expectSumAndClear(const char* which) {
    EXPECT_EQ(output, std::vector<std::int32_t>(input.size(), kRanks * input[0])) << which;
    output.assign(output.size(), 0);
  }
  void expectUntouched(const char* which) const {
    EXPECT_EQ(output, std::vector<std::int32_t>(output.size(), 0)) << which;
  }
};

TEST_P(CachedCall, UsesItsOwnBuffersAfterAPersistentRequestTookItsExecution) {
  runRanks(setup(), [](goss_comm_t comm, int) {
    Vectors first(1);
    Vectors second(10);
    Vectors persistent(100);
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    first.sum(comm);
    first.expectSumAndClear("the first call");
    goss_request_t request = nullptr;
    persistent.sum(comm, &options, &request);
    second.sum(comm);
    second.expectSumAndClear("another call");
    first.sum(comm);
    first.expectSumAndClear("the first call again");
    second.expectUntouched("the other call's output");
    EXPECT_EQ(goss_request_free(&request), GOSS_SUCCESS);
  });
}

TEST_P(CachedCall, UsesItsOwnBuffersAfterSeveralCallsAtATime) {
  runRanks(setup(), [](goss_comm_t comm, int) {
    Vectors first(1);
    Vectors second(10);
    first.sum(comm);
    first.expectSumAndClear("the first call");
    goss_request_t requests[2] = {nullptr, nullptr};
    first.sum(comm, nullptr, &requests[0]);
    second.sum(comm, nullptr, &requests[1]);
    ASSERT_EQ(goss_wait_all(requests, 2), GOSS_SUCCESS) << goss_last_error();
    first.expectSumAndClear("the first of two requests");
    second.expectSumAndClear("the second of two requests");
    first.sum(comm);
    first.expectSumAndClear("the first call again");
    second.expectUntouched("the other call's output");
  });
}

INSTANTIATE_TEST_SUITE_P(Over, CachedCall,
                         ::testing::Combine(::testing::Values("loopback", "shm", "tcp"),
                                            ::testing::Values(std::size_t{4}, std::size_t{50000})),
                         [](const auto& at) {
                           return std::string(std::get<0>(at.param)) + "_" + std::to_string(std::get<1>(at.param));
                         });

} // namespace
} // namespace goss::test

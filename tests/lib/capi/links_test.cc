// goss_comm_measure_links: what it says, and that all ranks go on planning alike.
#include "gossamer/links.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

std::string measure(goss_comm_t comm) {
  char* text = nullptr;
  EXPECT_OK(goss_comm_measure_links(comm, nullptr, &text));
  std::string links = text != nullptr ? text : "";
  goss_free(text);
  return links;
}

void expectSum(goss_comm_t comm, int rank, int ranks, std::size_t count) {
  std::vector<float> values(count, static_cast<float>(rank + 1));
  EXPECT_OK(goss_all_reduce(comm, values.data(), values.data(), count, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
  EXPECT_EQ(values, std::vector<float>(count, static_cast<float>(ranks * (ranks + 1)) / 2));
}

void expectPlanned(const std::string& links, int ranks) {
  char* json = nullptr;
  EXPECT_OK(goss_explain("allreduce", ranks, 1 << 20, links.c_str(), &json));
  goss_free(json);
}

class MeasuredLinks : public testing::TestWithParam<const char*> {};

TEST_P(MeasuredLinks, AreOneLinkFileOnAllRanksAndPlanWhatFollows) {
  constexpr int kRanks = 4;
  RanksSetup setup;
  setup.ranks = kRanks;
  setup.transport = GetParam();
  std::vector<std::string> texts(kRanks);
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    expectSum(comm, rank, kRanks, 1000);
    texts[static_cast<std::size_t>(rank)] = measure(comm);
    for (const std::size_t count : {1U, 1000U, 300000U})
      expectSum(comm, rank, kRanks, count);
    // Halves, the other way round, know what the whole has measured.
    goss_comm_t half = nullptr;
    EXPECT_OK(goss_comm_split(comm, rank % 2, -rank, &half));
    std::vector<float> sum(50000, 1);
    EXPECT_OK(goss_all_reduce(half, sum.data(), sum.data(), sum.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    EXPECT_EQ(sum, std::vector<float>(50000, 2));
    EXPECT_OK(goss_comm_destroy(half));
  });
  for (const std::string& text : texts)
    EXPECT_EQ(text, texts[0]);
  expectPlanned(texts[0], kRanks);
}

INSTANTIATE_TEST_SUITE_P(Transports, MeasuredLinks, testing::Values("", "tcp"),
                         [](const auto& one) { return std::string(one.param).empty() ? "any" : one.param; });

TEST(MeasureLinks, OfOddlyManyRanksAndOfOne) {
  for (const int ranks : {1, 3}) {
    std::vector<std::string> texts(static_cast<std::size_t>(ranks));
    runRanks(ranks, [&](goss_comm_t comm, int rank) {
      texts[static_cast<std::size_t>(rank)] = measure(comm);
      expectSum(comm, rank, ranks, 5000);
    });
    for (const std::string& text : texts)
      EXPECT_EQ(text, texts[0]);
    expectPlanned(texts[0], ranks);
  }
}

TEST(Trials, AreNoneWhereRanksAreNear) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    expectSum(comm, rank, 3, 1 << 19);
    char* json = nullptr;
    EXPECT_OK(goss_comm_trials(comm, &json));
    EXPECT_STREQ(json, R"({"compares": false, "plans_tried": 0, "plans_adopted": 0, "calls": [], "trials": []})");
    goss_free(json);
    EXPECT_EQ(goss_comm_trials(comm, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_comm_trials(nullptr, &json), GOSS_ERR_INVALID_ARGUMENT);
  });
}

TEST(MeasureLinks, WhatBeganBeforeEndsAfter) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    std::vector<float> pending(200000, static_cast<float>(rank + 1));
    std::vector<float> again(30000, static_cast<float>(rank + 1));
    std::vector<float> sums(again.size());
    goss_request_t request = nullptr;
    goss_request_t persistent = nullptr;
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    EXPECT_OK(
        goss_all_reduce(comm, again.data(), sums.data(), again.size(), GOSS_FLOAT32, GOSS_SUM, &options, &persistent));
    EXPECT_OK(goss_all_reduce(comm, pending.data(), pending.data(), pending.size(), GOSS_FLOAT32, GOSS_SUM, nullptr,
                              &request));
    measure(comm);
    EXPECT_OK(goss_wait(&request, nullptr));
    EXPECT_EQ(pending, std::vector<float>(pending.size(), 6));
    EXPECT_OK(goss_start(persistent));
    EXPECT_OK(goss_wait(&persistent, nullptr));
    EXPECT_EQ(sums, std::vector<float>(sums.size(), 6));
    EXPECT_OK(goss_request_free(&persistent));
  });
}

TEST(MeasureLinks, OperationsInPhasesEndFirst) {
  runRanks(3, [](goss_comm_t comm, int) {
    std::vector<float> values(64 * 64, 1);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd";
    options.tensor = 7;
    goss_request_t request = nullptr;
    EXPECT_OK(
        goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, &options, &request));
    measure(comm);
    int done = 0;
    EXPECT_OK(goss_test(&request, &done, nullptr));
    EXPECT_EQ(done, 1);
    EXPECT_NEAR(values[5], 3, 1e-3);
  });
}

TEST(MeasureLinks, ARankThatAbortsEndsItOnAll) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    if (rank == 2) {
      EXPECT_OK(goss_comm_abort(comm, "on purpose"));
      return;
    }
    char* text = nullptr;
    EXPECT_EQ(goss_comm_measure_links(comm, nullptr, &text), GOSS_ERR_ABORTED);
    EXPECT_EQ(text, nullptr);
    float value = 1;
    EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr), GOSS_ERR_ABORTED);
  });
}

TEST(MeasureLinks, NullArgumentsAreRefused) {
  char* text = nullptr;
  EXPECT_EQ(goss_comm_measure_links(nullptr, nullptr, &text), GOSS_ERR_INVALID_ARGUMENT);
  runRanks(1, [](goss_comm_t comm, int) {
    EXPECT_EQ(goss_comm_measure_links(comm, nullptr, nullptr), GOSS_ERR_INVALID_ARGUMENT);
  });
}

} // namespace
} // namespace goss::test

// GOSS_CODEC: which calls it serves, and that ranks that do not agree notice it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lib/execution/compressed/harness.h"
#include "tests/support/environment.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kCount = 5000;

Floats allReduce(goss_comm_t comm, int rank, const goss_options* options) {
  Floats values = contribution(rank, kCount);
  EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, GOSS_SUM, options, nullptr),
            GOSS_SUCCESS)
      << goss_last_error();
  return values;
}

TEST(DefaultCodec, ServesFloatAllReducesThatNameNone) {
  ScopedEnvironment environment;
  environment.set("GOSS_CODEC", "int4");
  runRanks(3, [](goss_comm_t comm, int rank) {
    goss_options named = GOSS_OPTIONS_INIT, none = GOSS_OPTIONS_INIT;
    named.codec = "int4";
    none.codec = "none";
    for (int round = 0; round < 3; ++round) { // The later calls are cached ones.
      EXPECT_EQ(allReduce(comm, rank, nullptr), allReduce(comm, rank, &named));
      EXPECT_NE(allReduce(comm, rank, nullptr), allReduce(comm, rank, &none));
    }
    std::vector<double> wide(10, 0.1);
    EXPECT_EQ(goss_all_reduce(comm, wide.data(), wide.data(), 10, GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr),
              GOSS_SUCCESS);
    Floats largest(10, static_cast<float>(rank) + 0.1f);
    EXPECT_EQ(goss_all_reduce(comm, largest.data(), largest.data(), 10, GOSS_FLOAT32, GOSS_MAX, nullptr, nullptr),
              GOSS_SUCCESS);
    EXPECT_EQ(largest[0], 2.1f) << "a maximum is not compressed";
  });
}

TEST(DefaultCodec, KeepsFeedbackOfVectorsThatHaveAName) {
  ScopedEnvironment environment;
  environment.set("GOSS_CODEC", "int2+ef");
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_options named = GOSS_OPTIONS_INIT, none = GOSS_OPTIONS_INIT;
    named.tensor = 4;
    none.codec = "none";
    const Floats first = allReduce(comm, rank, &named);
    EXPECT_NE(allReduce(comm, rank, &named), first) << "what the first lost comes with the second";
    EXPECT_EQ(allReduce(comm, rank, nullptr), allReduce(comm, rank, &none)) << "without a name it is left as it is";
  });
}

TEST(DefaultCodec, IsComparedAcrossRanks) {
  ScopedEnvironment environment;
  environment.set("GOSS_CODEC", "int8");
  runRanks(2, [](goss_comm_t comm, int rank) {
    Floats values(kCount, 1.0f);
    goss_options other = GOSS_OPTIONS_INIT;
    other.codec = "int4";
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, GOSS_SUM,
                              rank == 0 ? nullptr : &other, nullptr),
              GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("another codec"));
  });
}

TEST(DefaultCodec, IsNamedWhenItIsNoneBeforeThereIsACommunicator) {
  for (const char* wrong : {"int9", "powersgd+ef:at=server"}) {
    ScopedEnvironment environment;
    environment.set("GOSS_CODEC", wrong);
    goss_unique_id id;
    ASSERT_EQ(goss_unique_id_create(&id), GOSS_SUCCESS);
    goss_config config;
    ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS);
    config.rank = 0;
    config.ranks = 1;
    config.unique_id = &id;
    goss_comm_t comm = nullptr;
    EXPECT_EQ(goss_comm_create(&config, &comm), GOSS_ERR_INVALID_ARGUMENT) << wrong;
    EXPECT_THAT(goss_last_error(), HasSubstr("GOSS_CODEC"));
    EXPECT_EQ(comm, nullptr);
  }
}

} // namespace
} // namespace goss::test

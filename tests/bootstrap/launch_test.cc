#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/bootstrap.h"
#include "core/bootstrap_unique_id.h"
#include "tests/support/environment.h"

namespace goss::core {
namespace {

using test::ScopedEnvironment;
using ::testing::HasSubstr;

goss_config unset() {
  goss_config fields{};
  fields.rank = -1;
  fields.ranks = -1;
  return fields;
}

void setTorchrun(ScopedEnvironment& environment) {
  environment.set("RANK", "1");
  environment.set("WORLD_SIZE", "4");
  environment.set("LOCAL_RANK", "0");
  environment.set("MASTER_ADDR", "10.0.0.1");
  environment.set("MASTER_PORT", "4711");
}

TEST(Launch, AloneWithoutLauncher) {
  ScopedEnvironment environment;
  const auto launch = detectLaunch(Config{}, nullptr);
  ASSERT_TRUE(launch.isOk()) << launch.status().text();
  EXPECT_EQ(launch.value().source, "alone");
  EXPECT_EQ(launch.value().rank, 0);
  EXPECT_EQ(launch.value().ranks, 1);
}

TEST(Launch, ReadsTorchrunVariables) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  const auto launch = detectLaunch(Config{}, nullptr);
  ASSERT_TRUE(launch.isOk()) << launch.status().text();
  EXPECT_EQ(launch.value().source, "environment");
  EXPECT_EQ(launch.value().rank, 1);
  EXPECT_EQ(launch.value().ranks, 4);
  EXPECT_EQ(launch.value().local_rank, 0);
  EXPECT_EQ(launch.value().host, "10.0.0.1");
  EXPECT_EQ(launch.value().port, 4711);
}

TEST(Launch, LeavesMasterPortToTorchrunsAgent) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  environment.set("TORCHELASTIC_USE_AGENT_STORE", "True");
  Config config;
  EXPECT_EQ(detectLaunch(config, nullptr).value().port, 4712);
  config.bootstrap_port = 5000;
  EXPECT_EQ(detectLaunch(config, nullptr).value().port, 5000);
}

TEST(Launch, JobDependsOnIdAddressAndSize) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  Config config;
  const auto job = detectLaunch(config, nullptr).value().job;
  EXPECT_EQ(detectLaunch(config, nullptr).value().job, job);
  config.job_id = "other";
  EXPECT_NE(detectLaunch(config, nullptr).value().job, job);
  config.job_id = "";
  environment.set("WORLD_SIZE", "5");
  EXPECT_NE(detectLaunch(config, nullptr).value().job, job);
}

TEST(Launch, TakesRanksFromMpirunAndPlaceFromMasterAddr) {
  ScopedEnvironment environment;
  environment.set("OMPI_COMM_WORLD_RANK", "2");
  environment.set("OMPI_COMM_WORLD_SIZE", "3");
  environment.set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  environment.set("MASTER_ADDR", "node0");
  environment.set("MASTER_PORT", "80");
  const auto launch = detectLaunch(Config{}, nullptr);
  ASSERT_TRUE(launch.isOk()) << launch.status().text();
  EXPECT_EQ(launch.value().rank, 2);
  EXPECT_EQ(launch.value().ranks, 3);
  EXPECT_EQ(launch.value().local_rank, 1);
  EXPECT_EQ(launch.value().source, "environment");
}

TEST(Launch, MalformedAndMissingVariablesAreNamed) {
  const struct {
    const char* name;
    const char* value;
    const char* text;
  } cases[] = {{"RANK", "one", "RANK is \"one\"; it must be a whole number from 0 to"},
               {"WORLD_SIZE", "0", "WORLD_SIZE is \"0\""},
               {"MASTER_PORT", "65536", "MASTER_PORT is \"65536\"; it must be a whole number from 1 to 65535"},
               {"MASTER_PORT", "", "MASTER_PORT is not set"},
               {"MASTER_ADDR", "", "does not know where to meet"},
               {"RANK", "", "this process's rank is not known"},
               {"RANK", "4", "rank 4 of 4 ranks"}};
  for (const auto& one : cases) {
    ScopedEnvironment environment;
    setTorchrun(environment);
    environment.set(one.name, one.value);
    const auto launch = detectLaunch(Config{}, nullptr);
    ASSERT_FALSE(launch.isOk()) << one.name;
    EXPECT_EQ(launch.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(launch.status().text(), HasSubstr(one.text));
  }
}

TEST(Launch, UniqueIdWinsOverTheEnvironment) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  Config config;
  config.interface = "127.0.0.1";
  const auto id = makeUniqueId(config);
  ASSERT_TRUE(id.isOk()) << id.status().text();
  goss_config fields = unset();
  fields.unique_id = &id.value();
  fields.rank = 0;
  fields.ranks = 2;
  const auto launch = detectLaunch(config, &fields);
  ASSERT_TRUE(launch.isOk()) << launch.status().text();
  EXPECT_EQ(launch.value().source, "unique id");
  EXPECT_EQ(launch.value().host, "127.0.0.1");
  ASSERT_GE(launch.value().listen_fd, 0);
  EXPECT_EQ(::close(launch.value().listen_fd), 0);

  // The socket is gone now: the id is used up.
  const auto again = detectLaunch(config, &fields);
  ASSERT_FALSE(again.isOk());
  EXPECT_THAT(again.status().text(), HasSubstr("has been used already"));
}

TEST(Launch, UniqueIdOfAnotherProcessIsRefusedAtRank0) {
  ScopedEnvironment environment;
  UniqueId other;
  other.port = 1;
  other.process = 1;
  other.host = hostHash();
  other.addresses = {std::string("\x7f\0\0\1", 4)};
  const goss_unique_id id = encodeUniqueId(other);
  goss_config fields = unset();
  fields.unique_id = &id;
  fields.rank = 0;
  fields.ranks = 2;
  const auto launch = detectLaunch(Config{}, &fields);
  ASSERT_FALSE(launch.isOk());
  EXPECT_THAT(launch.status().text(), HasSubstr("rank 0 must be the process that made the unique id (process 1"));
}

TEST(Launch, LoopbackOfAnotherHostIsRefused) {
  ScopedEnvironment environment;
  UniqueId far;
  far.port = 1;
  far.host = hostHash() + 1;
  far.addresses = {std::string("\x7f\0\0\1", 4)};
  const goss_unique_id id = encodeUniqueId(far);
  goss_config fields = unset();
  fields.unique_id = &id;
  fields.rank = 1;
  fields.ranks = 2;
  const auto launch = detectLaunch(Config{}, &fields);
  ASSERT_FALSE(launch.isOk());
  EXPECT_THAT(launch.status().text(), HasSubstr("only loopback addresses of another host"));
}

} // namespace
} // namespace goss::core

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/bootstrap.h"
#include "core/bootstrap_unique_id.h"
#include "core/launcher_variables.h"
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
  const auto named = detectLaunch(config, nullptr).value().job;
  // Behind a router rank 0 may be called at another address and port than it listens on.
  environment.set("MASTER_ADDR", "203.0.113.7");
  EXPECT_EQ(detectLaunch(config, nullptr).value().job, named);
  config.job_id = "";
  EXPECT_NE(detectLaunch(config, nullptr).value().job, job);
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

void setSlurmStep(ScopedEnvironment& environment) {
  environment.set("SLURM_PROCID", "2");
  environment.set("SLURM_STEP_NUM_TASKS", "6");
  environment.set("SLURM_LOCALID", "0");
  environment.set("SLURM_JOB_ID", "4711");
  environment.set("SLURM_STEP_ID", "1");
  environment.set("SLURM_STEP_NODELIST", "node[07-09],other3");
}

TEST(Launch, TasksOfASlurmStepMeetOnItsFirstNode) {
  ScopedEnvironment environment;
  setSlurmStep(environment);
  const auto launch = detectLaunch(Config{}, nullptr);
  ASSERT_TRUE(launch.isOk()) << launch.status().text();
  EXPECT_EQ(launch.value().source, "slurm");
  EXPECT_EQ(launch.value().rank, 2);
  EXPECT_EQ(launch.value().ranks, 6);
  EXPECT_EQ(launch.value().local_rank, 0);
  EXPECT_EQ(launch.value().host, "node07");
  EXPECT_GE(launch.value().port, 16384);
  EXPECT_LT(launch.value().port, 32768);

  environment.set("SLURM_STEP_ID", "2"); // Another step of the same job, perhaps at the same time.
  const auto other = detectLaunch(Config{}, nullptr);
  EXPECT_NE(other.value().port, launch.value().port);
  EXPECT_NE(other.value().job, launch.value().job);
  environment.set("MASTER_PORT", "5000");
  EXPECT_EQ(detectLaunch(Config{}, nullptr).value().port, 5000);
}

TEST(Launch, SlurmsBatchScriptIsAlone) {
  ScopedEnvironment environment;
  setSlurmStep(environment);
  environment.set("SLURM_PROCID", "0");
  environment.set("SLURM_STEP_NUM_TASKS", std::nullopt);
  environment.set("SLURM_NTASKS", "6");
  const auto launch = detectLaunch(Config{}, nullptr);
  ASSERT_TRUE(launch.isOk()) << launch.status().text();
  EXPECT_EQ(launch.value().source, "alone");
}

TEST(Launch, WhereALauncherSaysSeveralRanksNobodyIsAlone) {
  ScopedEnvironment environment;
  setSlurmStep(environment);
  environment.set("SLURM_STEP_NODELIST", "");
  const auto slurm = detectLaunch(Config{}, nullptr);
  ASSERT_FALSE(slurm.isOk());
  EXPECT_THAT(slurm.status().text(), HasSubstr("SLURM_STEP_NODELIST is \"\"; set MASTER_ADDR and MASTER_PORT"));

  ScopedEnvironment again;
  again.set("PMI_RANK", "1");
  again.set("PMI_SIZE", "2");
  const auto pmi = detectLaunch(Config{}, nullptr);
  ASSERT_FALSE(pmi.isOk());
  EXPECT_THAT(pmi.status().text(), HasSubstr("rank 1 of 2 does not know where to meet the others"));
}

TEST(Launch, PmiThatIsNotThereIsNamed) {
  ScopedEnvironment environment;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  environment.set("PMI_RANK", "1");
  environment.set("PMI_SIZE", "2");
  environment.set("PMI_FD", std::to_string(ends[0]));
  const auto launch = detectLaunch(Config{}, nullptr);
  ASSERT_FALSE(launch.isOk());
  EXPECT_EQ(launch.status().kind(), GOSS_ERR_BOOTSTRAP);
  EXPECT_THAT(launch.status().text(), HasSubstr("the launcher does not listen on PMI_FD"));
  ::close(ends[0]);
}

TEST(SlurmNodes, TheFirstHostIsFound) {
  EXPECT_EQ(firstSlurmHost("one"), "one");
  EXPECT_EQ(firstSlurmHost("one,two"), "one");
  EXPECT_EQ(firstSlurmHost("n[01-03,7],m2"), "n01");
  EXPECT_EQ(firstSlurmHost("n[5,7]"), "n5");
  EXPECT_EQ(firstSlurmHost("n[1-2]-ib,m"), "n1-ib");
  for (const char* text : {"", "n[", "n[]", ",", "[", "a b"})
    EXPECT_FALSE(firstSlurmHost(text).has_value()) << text;
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
  other.addresses = {*platform::SocketAddress::parse("127.0.0.1", 4711)};
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
  far.addresses = {*platform::SocketAddress::parse("127.0.0.1", 4711)};
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

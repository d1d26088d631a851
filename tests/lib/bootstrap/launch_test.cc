#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/launcher_variables.h"
#include "bootstrap/unique_id.h"
#include "platform/socket.h"
#include "tests/lib/platform/listening.h"
#include "tests/support/environment.h"

namespace goss {
namespace {

using test::ScopedEnvironment;
using ::testing::HasSubstr;

void setTorchrun(ScopedEnvironment& environment) {
  environment.set("RANK", "1");
  environment.set("WORLD_SIZE", "4");
  environment.set("LOCAL_RANK", "0");
  environment.set("MASTER_ADDR", "10.0.0.1");
  environment.set("MASTER_PORT", "4711");
}

goss_config with(int rank, int ranks, const goss_unique_id& id) {
  goss_config fields{};
  fields.rank = rank;
  fields.ranks = ranks;
  fields.unique_id = &id;
  return fields;
}

/// The launch that the environment and `fields` describe; the test fails where that is an error.
Launch detect(const Config& config = {}, const goss_config* fields = nullptr) {
  auto launch = detectLaunch(config, fields);
  EXPECT_TRUE(launch.isOk()) << launch.status().text();
  return launch.isOk() ? launch.take() : Launch{};
}

/// The error that they make of it; ok where they make none.
Status refusal(const Config& config = {}, const goss_config* fields = nullptr) {
  return detectLaunch(config, fields).status();
}

void expectPlace(const Launch& launch, const std::string& source, int rank, int ranks, int local_rank) {
  EXPECT_EQ(launch.source, source);
  EXPECT_EQ(launch.rank, rank);
  EXPECT_EQ(launch.ranks, ranks);
  EXPECT_EQ(launch.local_rank, local_rank);
}

TEST(Launch, AloneWithoutLauncher) {
  ScopedEnvironment environment;
  expectPlace(detect(), "alone", 0, 1, -1);
}

TEST(Launch, ReadsTorchrunVariables) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  const Launch launch = detect();
  expectPlace(launch, "environment", 1, 4, 0);
  EXPECT_EQ(launch.host, "10.0.0.1");
  EXPECT_EQ(launch.port, 4711);
}

TEST(Launch, LeavesMasterPortToTorchrunsAgent) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  environment.set("TORCHELASTIC_USE_AGENT_STORE", "True");
  Config config;
  EXPECT_EQ(detect(config).port, 4712);
  config.bootstrap_port = 5000;
  EXPECT_EQ(detect(config).port, 5000);
}

TEST(Launch, JobDependsOnIdAddressAndSize) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  Config config;
  const auto job = detect(config).job;
  EXPECT_EQ(detect(config).job, job);
  config.job_id = "other";
  EXPECT_NE(detect(config).job, job);
  const auto named = detect(config).job;
  // Behind a router rank 0 may be called at another address and port than it listens on.
  environment.set("MASTER_ADDR", "203.0.113.7");
  EXPECT_EQ(detect(config).job, named);
  config.job_id = "";
  EXPECT_NE(detect(config).job, job);
  environment.set("WORLD_SIZE", "5");
  EXPECT_NE(detect(config).job, job);
}

TEST(Launch, TakesRanksFromMpirunAndPlaceFromMasterAddr) {
  ScopedEnvironment environment;
  environment.set("OMPI_COMM_WORLD_RANK", "2");
  environment.set("OMPI_COMM_WORLD_SIZE", "3");
  environment.set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
  environment.set("MASTER_ADDR", "node0");
  environment.set("MASTER_PORT", "80");
  expectPlace(detect(), "environment", 2, 3, 1);
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
  const Launch launch = detect();
  expectPlace(launch, "slurm", 2, 6, 0);
  EXPECT_EQ(launch.host, "node07");
  EXPECT_GE(launch.port, 16384);
  EXPECT_LT(launch.port, 32768);

  environment.set("SLURM_STEP_ID", "2"); // Another step of the same job, perhaps at the same time.
  const Launch other = detect();
  EXPECT_NE(other.port, launch.port);
  EXPECT_NE(other.job, launch.job);
  environment.set("MASTER_PORT", "5000");
  EXPECT_EQ(detect().port, 5000);
}

TEST(Launch, SlurmsBatchScriptIsAlone) {
  ScopedEnvironment environment;
  setSlurmStep(environment);
  environment.set("SLURM_PROCID", "0");
  environment.set("SLURM_STEP_NUM_TASKS", std::nullopt);
  environment.set("SLURM_NTASKS", "6");
  EXPECT_EQ(detect().source, "alone");
}

TEST(Launch, WhereALauncherSaysSeveralRanksNobodyIsAlone) {
  ScopedEnvironment environment;
  setSlurmStep(environment);
  environment.set("SLURM_STEP_NODELIST", "");
  EXPECT_THAT(refusal().text(), HasSubstr("SLURM_STEP_NODELIST is \"\"; set MASTER_ADDR and MASTER_PORT"));

  ScopedEnvironment again;
  again.set("PMI_RANK", "1");
  again.set("PMI_SIZE", "2");
  EXPECT_THAT(refusal().text(), HasSubstr("rank 1 of 2 does not know where to meet the others"));
}

/// The error that rank `rank` of two gets where the launcher does not listen on PMI_FD.
Status refusalWithoutPmi(const char* rank) {
  ScopedEnvironment environment;
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  ::close(ends[1]);
  environment.set("PMI_RANK", rank);
  environment.set("PMI_SIZE", "2");
  environment.set("PMI_FD", std::to_string(ends[0]));
  Status refused = refusal();
  ::close(ends[0]);
  return refused;
}

TEST(Launch, PmiThatIsNotThereIsNamed) {
  const Status refused = refusalWithoutPmi("1");
  EXPECT_EQ(refused.kind(), GOSS_ERR_BOOTSTRAP);
  EXPECT_THAT(refused.text(), HasSubstr("the launcher does not listen on PMI_FD"));
}

int countListeners() {
  int found = 0;
  for (int fd = 0; fd < 1024; ++fd)
    found += test::isListening(fd) ? 1 : 0;
  return found;
}

TEST(Launch, WhereNobodyLearnsOfRank0sSocketItIsClosed) {
  const int before = countListeners();
  EXPECT_EQ(refusalWithoutPmi("0").kind(), GOSS_ERR_BOOTSTRAP);
  EXPECT_EQ(countListeners(), before);
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
    const Status refused = refusal();
    EXPECT_EQ(refused.kind(), GOSS_ERR_INVALID_ARGUMENT) << one.name;
    EXPECT_THAT(refused.text(), HasSubstr(one.text));
  }
}

TEST(Launch, UniqueIdWinsOverTheEnvironment) {
  ScopedEnvironment environment;
  setTorchrun(environment);
  Config config;
  config.interface = "127.0.0.1";
  const auto id = makeUniqueId(config);
  ASSERT_TRUE(id.isOk()) << id.status().text();
  const goss_config fields = with(0, 2, id.value());
  {
    const Launch launch = detect(config, &fields);
    EXPECT_EQ(launch.source, "unique id");
    EXPECT_EQ(launch.host, "127.0.0.1");
    EXPECT_TRUE(launch.listener.valid());
  }
  // The socket is gone now: the id is used up.
  EXPECT_THAT(refusal(config, &fields).text(), HasSubstr("has been used already"));
}

TEST(Launch, UniqueIdGivesItsSocketToOneRank0) {
  Config config;
  config.interface = "127.0.0.1";
  const auto id = makeUniqueId(config);
  ASSERT_TRUE(id.isOk()) << id.status().text();
  const auto decoded = decodeUniqueId(id.value());
  const auto first = takeListener(decoded.value());
  ASSERT_TRUE(first.isOk()) << first.status().text();
  EXPECT_THAT(takeListener(decoded.value()).status().text(), HasSubstr("has been used already"));
  EXPECT_THAT(destroyUniqueId(id.value()).text(), HasSubstr("has been used already"));
  EXPECT_TRUE(test::isListening(first.value().get()));
}

TEST(Launch, UniqueIdOfAnotherProcessIsRefusedAtRank0) {
  ScopedEnvironment environment;
  UniqueId other;
  other.port = 1;
  other.process = 1;
  other.host = hostHash();
  other.addresses = {*platform::SocketAddress::parse("127.0.0.1", 4711)};
  const goss_unique_id id = encodeUniqueId(other);
  const goss_config fields = with(0, 2, id);
  EXPECT_THAT(refusal(Config{}, &fields).text(),
              HasSubstr("rank 0 must be the process that made the unique id (process 1"));
}

TEST(Launch, LoopbackOfAnotherHostIsRefused) {
  ScopedEnvironment environment;
  UniqueId far;
  far.port = 1;
  far.host = hostHash() + 1;
  far.addresses = {*platform::SocketAddress::parse("127.0.0.1", 4711)};
  const goss_unique_id id = encodeUniqueId(far);
  const goss_config fields = with(1, 2, id);
  EXPECT_THAT(refusal(Config{}, &fields).text(), HasSubstr("only loopback addresses of another host"));
}

} // namespace
} // namespace goss

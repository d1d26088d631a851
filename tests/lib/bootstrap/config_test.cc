#include "gossamer/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/environment.h"

namespace goss {
namespace {

using test::ScopedEnvironment;
using ::testing::HasSubstr;

TEST(Config, EmptyEnvironmentGivesTheDocumentedDefaults) {
  ScopedEnvironment environment;
  environment.set("GOSS_TIMEOUT_MS", "");
  const auto config = Config::fromEnvironment();
  ASSERT_TRUE(config.isOk()) << config.status().text();
  EXPECT_EQ(config.value().timeout_ms, 300000);
  EXPECT_EQ(config.value().bootstrap_timeout_ms, 60000);
  EXPECT_EQ(config.value().connections_per_peer, 1);
  EXPECT_EQ(config.value().log_level, "warn");
}

TEST(Config, ReadsEveryVariable) {
  ScopedEnvironment environment;
  for (const auto& [name, value] : std::map<std::string, std::string>{{"GOSS_TIMEOUT_MS", "1"},
                                                                      {"GOSS_BOOTSTRAP_TIMEOUT_MS", "2"},
                                                                      {"GOSS_TRANSPORT", "tcp"},
                                                                      {"GOSS_INTERFACE", "lo"},
                                                                      {"GOSS_PORT_RANGE", "2000-65535"},
                                                                      {"GOSS_ADVERTISE", "203.0.113.7"},
                                                                      {"GOSS_CONNECTIONS", "4"},
                                                                      {"GOSS_ALGORITHM", "ring"},
                                                                      {"GOSS_CODEC", "int8"},
                                                                      {"GOSS_FRAGMENT_BYTES", "512K"},
                                                                      {"GOSS_TUNING", "/tmp/tuning"},
                                                                      {"GOSS_LINKS", "/tmp/links"},
                                                                      {"GOSS_MEASURE", "trials"},
                                                                      {"GOSS_UNEXPECTED_BYTES", "2M"},
                                                                      {"GOSS_SHM_RING_BYTES", "65536"},
                                                                      {"GOSS_SHM_PATH", "ring"},
                                                                      {"GOSS_SHM_DIRECT_BYTES", "1M"},
                                                                      {"GOSS_SPIN_US", "0"},
                                                                      {"GOSS_SIM_SEED", "18446744073709551615"},
                                                                      {"GOSS_SIM_DROP", "0.25"},
                                                                      {"GOSS_LOG", "debug"},
                                                                      {"GOSS_BOOTSTRAP_PORT", "4711"},
                                                                      {"GOSS_JOB_ID", "seven"}})
    environment.set(name, value);
  const auto read = Config::fromEnvironment();
  ASSERT_TRUE(read.isOk()) << read.status().text();
  const Config& config = read.value();
  EXPECT_EQ(config.timeout_ms, 1);
  EXPECT_EQ(config.bootstrap_timeout_ms, 2);
  EXPECT_EQ(config.transport, "tcp");
  EXPECT_EQ(config.interface, "lo");
  EXPECT_EQ(config.port_min, 2000);
  EXPECT_EQ(config.port_max, 65535);
  EXPECT_EQ(config.advertise, "203.0.113.7");
  EXPECT_EQ(config.connections_per_peer, 4);
  EXPECT_EQ(config.algorithm, "ring");
  EXPECT_EQ(config.codec, "int8");
  EXPECT_EQ(config.links_file, "/tmp/links");
  EXPECT_EQ(config.measure, "trials");
  EXPECT_EQ(config.unexpected_bytes, 2u << 20);
  EXPECT_EQ(config.shm_ring_bytes, 65536u);
  EXPECT_EQ(config.fragment_bytes, 512u << 10);
  EXPECT_EQ(config.tuning_file, "/tmp/tuning");
  EXPECT_EQ(config.spin_us, 0);
  EXPECT_EQ(config.sim_seed, 18446744073709551615u);
  EXPECT_EQ(config.shm_path, "ring");
  EXPECT_EQ(config.shm_direct_bytes, 1u << 20);
  EXPECT_EQ(config.sim_drop, 0.25);
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.bootstrap_port, 4711);
  EXPECT_EQ(config.job_id, "seven");
}

struct Malformed {
  const char* name;
  const char* value;
  const char* text;
};

class MalformedVariable : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedVariable, IsRefusedByNameValueAndWhatIsAccepted) {
  ScopedEnvironment environment;
  environment.set(GetParam().name, GetParam().value);
  const auto config = Config::fromEnvironment();
  ASSERT_FALSE(config.isOk());
  EXPECT_EQ(config.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(config.status().text(), GetParam().text);
}

constexpr const char* kPorts =
    "it must be two ports from 1 to 65535, the lower one first, such as 20000-20999, or 0-0 for any";

INSTANTIATE_TEST_SUITE_P(
    Environment, MalformedVariable,
    ::testing::Values(
        Malformed{"GOSS_TIMEOUT_MS", "5s",
                  "GOSS_TIMEOUT_MS is \"5s\"; it must be a whole number of milliseconds from 1 to 1000000000000"},
        Malformed{"GOSS_TIMEOUT_MS", "0",
                  "GOSS_TIMEOUT_MS is \"0\"; it must be a whole number of milliseconds from 1 to 1000000000000"},
        Malformed{
            "GOSS_BOOTSTRAP_TIMEOUT_MS", "99999999999999999999",
            "GOSS_BOOTSTRAP_TIMEOUT_MS is \"99999999999999999999\"; it must be a whole number of milliseconds from 1 "
            "to 1000000000000"},
        Malformed{"GOSS_TRANSPORT", "TCP",
                  "GOSS_TRANSPORT is \"TCP\"; it must be one of loopback, shm, tls, tcp, sim, ucx, mpi"},
        Malformed{"GOSS_CONNECTIONS", "0",
                  "GOSS_CONNECTIONS is \"0\"; it must be a whole number of connections from 1 to 64"},
        Malformed{
            "GOSS_UNEXPECTED_BYTES", "1T",
            "GOSS_UNEXPECTED_BYTES is \"1T\"; it must be a number of bytes from 65536 to 1099511627776, K, M or G may "
            "follow it"},
        Malformed{
            "GOSS_SHM_RING_BYTES", "K",
            "GOSS_SHM_RING_BYTES is \"K\"; it must be a number of bytes from 4096 to 1073741824, K, M or G may follow "
            "it"},
        Malformed{"GOSS_SPIN_US", "-1",
                  "GOSS_SPIN_US is \"-1\"; it must be a whole number of microseconds from 0 to 1000000"},
        Malformed{"GOSS_SIM_DROP", "1", "GOSS_SIM_DROP is \"1\"; it must be a number from 0 to less than 1"},
        Malformed{"GOSS_LOG", "loud", "GOSS_LOG is \"loud\"; it must be one of off, error, warn, info, debug, trace"}));

TEST(Config, AMisspeltSettingIsRefusedWithTheNearestOne) {
  for (const auto& [name, nearest] : {std::pair("GOSS_TSL", "GOSS_TLS"), std::pair("GOSS_TIMEOUTMS", "GOSS_TIMEOUT_MS"),
                                      std::pair("GOSS_LINK", "GOSS_LINKS")}) {
    ScopedEnvironment environment;
    environment.set(name, "1");
    const auto config = Config::fromEnvironment();
    ASSERT_FALSE(config.isOk()) << name;
    EXPECT_EQ(config.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(config.status().text(), std::string(name) + " is not a setting of Gossamer; the nearest one is " +
                                          nearest + ": correct or unset it");
  }
}

TEST(Config, OtherVariablesAreToldWithTheNearestSetting) {
  ScopedEnvironment environment;
  environment.set("GOSS_SOMETHING_ELSE", "1");
  environment.set("GOSS_TEST_QUICK", "1");
  const auto config = Config::fromEnvironment();
  ASSERT_TRUE(config.isOk()) << config.status().text();
  ASSERT_EQ(config.value().notices.size(), 1u);
  EXPECT_THAT(config.value().notices[0],
              HasSubstr("GOSS_SOMETHING_ELSE is not a setting of Gossamer; the nearest one is GOSS_"));
}

TEST(Config, MalformedPortRangesAreRefused) {
  for (const char* value : {"80", "a-b", "90-80", "1-65536", "0-5", "5-", "-", "1-2-3", " 1-2"}) {
    ScopedEnvironment environment;
    environment.set("GOSS_PORT_RANGE", value);
    const auto config = Config::fromEnvironment();
    ASSERT_FALSE(config.isOk()) << value;
    EXPECT_EQ(config.status().text(), std::string("GOSS_PORT_RANGE is \"") + value + "\"; " + kPorts);
  }
}

} // namespace
} // namespace goss

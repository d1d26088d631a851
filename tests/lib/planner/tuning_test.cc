/// Tuning files: what is read, what keeps its built-in price, and what is refused with words.
#include "planner/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace goss {
namespace {

using ::testing::HasSubstr;

TEST(Tuning, WhatTheFileDoesNotNameKeepsItsBuiltInPrice) {
  const Tuning base = Tuning::builtIn();
  const auto tuning = Tuning::parse(R"({"gossamer_tuning": 1, "measured": "here",
    "cpu": {"reduce_bytes_per_s": 5e9}, "links": {"tcp": {"latency_s": 7e-6, "bandwidth_bytes_per_s": 3e9},
    "ucx": {"sender_bytes_per_s": 4e9}}})");
  ASSERT_TRUE(tuning.isOk()) << tuning.status().text();
  EXPECT_EQ(tuning.value().ucx.sender_bytes_per_s, 4e9);
  EXPECT_EQ(tuning.value().ucx.latency_s, base.ucx.latency_s);
  EXPECT_EQ(tuning.value().tcp.latency_s, 7e-6);
  EXPECT_EQ(tuning.value().tcp.bandwidth_bytes_per_s, 3e9);
  EXPECT_EQ(tuning.value().tcp.overhead_s, base.tcp.overhead_s);
  EXPECT_EQ(tuning.value().cpu.reduce_bytes_per_s, 5e9);
  EXPECT_EQ(tuning.value().cpu.copy_bytes_per_s, base.cpu.copy_bytes_per_s);
  EXPECT_EQ(tuning.value().shm, base.shm);
  EXPECT_EQ(tuning.value().network, base.network);
}

TEST(Tuning, EncryptionHasAPriceOfItsOwn) {
  const Tuning base = Tuning::builtIn();
  EXPECT_LT(base.tls.bandwidth_bytes_per_s, base.tcp.bandwidth_bytes_per_s);
  EXPECT_GT(base.tls.overhead_s, base.tcp.overhead_s);
  const auto tuning =
      Tuning::parse(R"({"gossamer_tuning": 1, "links": {"tls": {"bandwidth_bytes_per_s": 2e9, "overhead_s": 4e-6}}})");
  ASSERT_TRUE(tuning.isOk()) << tuning.status().text();
  EXPECT_EQ(tuning.value().tls.bandwidth_bytes_per_s, 2e9);
  EXPECT_EQ(tuning.value().tls.overhead_s, 4e-6);
  EXPECT_EQ(tuning.value().tls.latency_s, base.tls.latency_s);
  EXPECT_EQ(tuning.value().tcp, base.tcp);
}

struct Wrong {
  const char* text;
  const char* complaint;
};

class TuningRefuses : public ::testing::TestWithParam<Wrong> {};

TEST_P(TuningRefuses, WithTheKeyAndWhatIsAccepted) {
  const auto tuning = Tuning::parse(GetParam().text);
  ASSERT_FALSE(tuning.isOk());
  EXPECT_EQ(tuning.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(tuning.status().text(), HasSubstr(GetParam().complaint));
  EXPECT_THAT(tuning.status().text(), HasSubstr("GOSS_TUNING"));
}

INSTANTIATE_TEST_SUITE_P(
    Files, TuningRefuses,
    ::testing::Values(
        Wrong{"", "is not a JSON object"}, Wrong{"[1]", "is not a JSON object"},
        Wrong{R"({"gossamer_tuning": 1)", "is not a JSON object"}, Wrong{"{}", "gossamer_tuning must be 1"},
        Wrong{R"({"gossamer_tuning": 2})", "gossamer_tuning must be 1"},
        Wrong{R"({"gossamer_tuning": 1, "link": {}})", "link is not one of"},
        Wrong{R"({"gossamer_tuning": 1, "links": 3})", "links must be an object"},
        Wrong{R"({"gossamer_tuning": 1, "links": {"ib": {}}})",
              "links.ib is not one of loopback, shm, ucx, tcp, tls, network"},
        Wrong{R"({"gossamer_tuning": 1, "links": {"shm": 1}})", "links.shm must be an object"},
        Wrong{R"({"gossamer_tuning": 1, "links": {"shm": {"latency": 1}}})", "links.shm.latency is not known"},
        Wrong{R"({"gossamer_tuning": 1, "links": {"shm": {"latency_s": "1us"}}})",
              "links.shm.latency_s must be a number of seconds from 0 to 100"},
        Wrong{R"({"gossamer_tuning": 1, "links": {"tcp": {"bandwidth_bytes_per_s": 0}}})",
              "links.tcp.bandwidth_bytes_per_s must be a number of bytes per second from 1000"},
        Wrong{R"({"gossamer_tuning": 1, "links": {"tcp": {"overhead_s": -1}}})", "links.tcp.overhead_s must be"},
        Wrong{R"({"gossamer_tuning": 1, "cpu": {"reduce_bytes_per_s": 1e99}})", "cpu.reduce_bytes_per_s must be"}));

} // namespace
} // namespace goss

/// Options, statistics and output of goss-bench.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "bench/suite/collective_table.h"
#include "bench/suite/families.h"
#include "bench/suite/options.h"
#include "bench/suite/report.h"
#include "bench/suite/runner.h"

namespace goss::bench {
namespace {

using Sizes = std::vector<std::size_t>;

TEST(MessageSizes, DoubleFromTheFirstToTheLast) {
  EXPECT_EQ(messageSizes("", 4, 16), (Sizes{4, 8, 16}));
  EXPECT_EQ(messageSizes("32", 8, 16), (Sizes{8, 16, 32}));
  EXPECT_EQ(messageSizes("0:2", 4, 16), (Sizes{0, 1, 2}));
  EXPECT_EQ(messageSizes("8:", 4, 16), (Sizes{8, 16}));
  EXPECT_EQ(messageSizes("1K:3K", 4, 16), (Sizes{1024, 2048}));
}

TEST(MessageSizes, GrowByAFactorOrByBytes) {
  EXPECT_EQ(messageSizes("1:64", 4, 16, {4, 0}), (Sizes{1, 4, 16, 64}));
  EXPECT_EQ(messageSizes("0:9", 4, 16, {3, 0}), (Sizes{0, 1, 3, 9}));
  EXPECT_EQ(messageSizes("8:32", 4, 16, {2, 10}), (Sizes{8, 18, 28}));
}

std::vector<std::string> runsOf(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "goss-bench");
  std::vector<Options> runs;
  EXPECT_EQ(
      parseOptions(static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()), benchmarkNames(), runs),
      -1);
  std::vector<std::string> names;
  for (const Options& run : runs)
    names.push_back(run.benchmark + " " + run.dtype);
  return names;
}

TEST(ParseOptions, SeveralBenchmarksAndTypesAreRunsInOrder) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(runsOf({"bcast"}), (Names{"bcast float32"}));
  EXPECT_EQ(runsOf({"bcast", "latency,scan", "-T", "int8,f16"}),
            (Names{"bcast int8", "bcast f16", "latency int8", "scan int8", "scan f16"}));
  EXPECT_EQ(runsOf({"all"}).size(), 13u);
  EXPECT_EQ(runsOf({"reduce", "-T", "all"}).size(), static_cast<std::size_t>(GOSS_DTYPE_COUNT));
  EXPECT_EQ(runsOf({"all", "-T", "all"}).size(), 12u * GOSS_DTYPE_COUNT + 1) << "barrier has no elements";
}

TEST(Percentile, IsTheNearestRank) {
  EXPECT_EQ(percentile({7}, 50), 7);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 50), 2);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 51), 3);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 99), 4);
}

TEST(MessageSizes, NonsenseIsRefused) {
  for (const char* text : {"8:4", "x", "4:y", "4KB", "-1", ":", "99999999999999999999"}) {
    EXPECT_THROW((void)messageSizes(text, 4, 16), std::invalid_argument) << text;
  }
}

TEST(Names, OsuShortAndLongNamesMeanTheSame) {
  EXPECT_EQ(dtypeNamed("mpi_float"), GOSS_FLOAT32);
  EXPECT_EQ(dtypeNamed("f32"), GOSS_FLOAT32);
  EXPECT_EQ(dtypeNamed("float8_e5m2"), GOSS_FLOAT8_E5M2);
  EXPECT_EQ(opNamed("premul_sum"), GOSS_PREMUL_SUM);
  EXPECT_EQ(dtypeNamed("mpi_c_bool"), GOSS_BOOL);
  EXPECT_EQ(opNamed("mpi_lxor"), GOSS_LXOR);
  EXPECT_THROW((void)opNamed("xor"), std::invalid_argument);
  EXPECT_EQ(benchmarkNames().collectives.size(), 13u);
  EXPECT_EQ(benchmarkNames().messages.size(), 4u);
}

TEST(Median, OfOddAndEvenNumbersOfRounds) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
}

TEST(BusBandwidth, FollowsNcclTests) {
  const auto specs = collectiveSpecs();
  EXPECT_DOUBLE_EQ(busFactor(specs[0], 4), 1.5) << specs[0].name;
  EXPECT_DOUBLE_EQ(busFactor(specs[3], 4), 0.75) << specs[3].name;
  EXPECT_DOUBLE_EQ(busFactor(specs[2], 4), 1) << specs[2].name;
  EXPECT_EQ(countedBytes(specs[0], 100, 4), 100u);
  EXPECT_EQ(countedBytes(specs[3], 100, 4), 400u);
  EXPECT_EQ(countedBytes(specs[5], 100, 4), 100u) << specs[5].name;
}

TEST(Shape, AnUnevenReduceScatterGivesTheFirstRanksOneMore) {
  const Shape shape = shapeOf(collectiveSpecs()[5], 7, 1, 3);
  EXPECT_EQ(shape.counts, (Sizes{3, 2, 2}));
  EXPECT_FALSE(shape.even);
  EXPECT_EQ(shape.send, 7u);
  EXPECT_EQ(shape.recv, 2u);
}

std::string contents(std::FILE* file) {
  std::rewind(file);
  std::array<char, 4096> text{};
  return std::string(text.data(), std::fread(text.data(), 1, text.size(), file));
}

TEST(Report, PrintsTitlesOnceAndKeepsUntitledFieldsForJson) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), &std::fclose);
  const std::string path = ::testing::TempDir() + "goss_bench_report.json";
  {
    Report report(true, {path, "", ""}, out.get());
    report.setContext({{"", "bench", std::string("allreduce")}});
    report.header({"title"});
    report.row(
        4, {{"Avg Latency(us)", "us", 1.239}, {"", "algbw", 2.5}, {"Iterations", "iterations", std::uint64_t{7}, 12}});
    report.row(
        8, {{"Avg Latency(us)", "us", 10.0}, {"", "algbw", 2.5}, {"Iterations", "iterations", std::uint64_t{7}, 12}});
  }
  EXPECT_EQ(contents(out.get()),
            "\n# title\n"
            "# Size       Avg Latency(us)  Iterations\n"
            "4                       1.24           7\n"
            "8                      10.00           7\n");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> json(std::fopen(path.c_str(), "r"), &std::fclose);
  ASSERT_NE(json, nullptr);
  const std::string text = contents(json.get());
  const auto object = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(object["bench"], "allreduce");
  EXPECT_EQ(object["bytes"], 4);
  EXPECT_EQ(object["algbw"], 2.5);
  std::remove(path.c_str());
}

TEST(Report, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(Report(true, {"/nonexistent/file.json", "", ""}), std::runtime_error);
  EXPECT_NO_THROW(Report(false, {"/nonexistent/file.json", "", ""})) << "only rank 0 writes";
}

/// A library that corrupts one byte must be noticed from the outside: the row says Fail and the rank remembers.
TEST(Validation, AWrongElementMarksTheRunAsFailed) {
  goss_config config;
  ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS);
  goss_unique_id id;
  ASSERT_EQ(goss_unique_id_create(&id), GOSS_SUCCESS);
  config.rank = 0;
  config.ranks = 1;
  config.unique_id = &id;
  goss_comm_t comm = nullptr;
  ASSERT_EQ(goss_comm_create(&config, &comm), GOSS_SUCCESS) << goss_last_error();
  GossEngine engine(comm, "");
  Options options;
  options.validate = true;
  Report report(false, {});
  Rank rank{engine, nullptr, options, report};
  std::vector<Field> fields;
  addValidation(rank, fields, totalWrong(rank, 0));
  EXPECT_FALSE(rank.failed);
  EXPECT_EQ(std::get<std::string>(fields[0].value), "Pass");
  addValidation(rank, fields, totalWrong(rank, 1));
  EXPECT_TRUE(rank.failed);
  EXPECT_EQ(std::get<std::string>(fields[2].value), "Fail");
}

} // namespace
} // namespace goss::bench

/// Files of measurements: JSON lines, comma-separated values, pictures.
#include "bench/suite/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "bench/suite/plot.h"

namespace goss::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

Record row(const std::string& bench, std::uint64_t bytes, double us) {
  Record record;
  record.add("bench", bench);
  record.add("dtype", std::string("float32"));
  record.add("bytes", bytes);
  record.add("us", us);
  return record;
}

std::string fileOf(const std::string& text) {
  const std::string path = testing::TempDir() + "goss_bench_records.json";
  std::ofstream(path) << text;
  return path;
}

std::string refusalOf(const std::string& path) {
  try {
    (void)readRecords(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Records, ComeBackFromTheirFile) {
  const Record one = row("allreduce", 4, 1.5);
  const std::vector<Record> read = readRecords(fileOf(one.json() + "\n"));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].fields(), one.fields());
  EXPECT_EQ(read[0].number("us"), 1.5);
  EXPECT_EQ(read[0].text("us"), "") << "a number is no text";
  EXPECT_EQ(read[0].number("nothing"), std::nullopt);
}

TEST(Records, AFileThatHoldsNoneIsRefusedByName) {
  EXPECT_THAT(refusalOf("/nonexistent/a.json"), HasSubstr("cannot read /nonexistent/a.json: No such file"));
  EXPECT_THAT(refusalOf(fileOf("")), HasSubstr("holds no rows"));
  EXPECT_THAT(refusalOf(fileOf("{\"us\":1}\nnonsense\n")), HasSubstr("line 2"));
  EXPECT_THAT(refusalOf(fileOf("{\"us\":[1]}\n")), HasSubstr("line 1"));
  EXPECT_THAT(refusalOf(fileOf("3\n")), HasSubstr("line 1"));
}

TEST(Csv, HasAColumnForEveryKeyAndQuotesWhatNeedsIt) {
  Record other = row("scan, odd \"name\"", 8, 2);
  other.add("peer", std::string("mpi"));
  EXPECT_EQ(csv({row("allreduce", 4, 1.5), other}),
            "bench,dtype,bytes,us,peer\n"
            "allreduce,float32,4,1.5,\n"
            "\"scan, odd \"\"name\"\"\",float32,8,2,mpi\n");
}

TEST(WriteFile, AFullDiskIsToldOf) {
  EXPECT_THROW(writeFile("/dev/full", "text", "--csv"), std::runtime_error);
  EXPECT_THROW(writeFile("/nonexistent/file", "text", "--csv"), std::runtime_error);
}

TEST(Plot, DrawsALineForEveryLibrary) {
  Record compared = row("allreduce", 1024, 4);
  compared.add("algbw", 0.256);
  compared.add("peer", std::string("mpi"));
  compared.add("peer_us", 8.0);
  const std::string svg = plot({{"", {row("allreduce", 4, 1), compared}}});
  EXPECT_THAT(svg, HasSubstr(">Gossamer</text>"));
  EXPECT_THAT(svg, HasSubstr(">mpi</text>"));
  EXPECT_THAT(svg, HasSubstr("allreduce: latency"));
  EXPECT_THAT(svg, HasSubstr("allreduce: bandwidth"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Plot, NamesTwoRunsByTheirFiles) {
  const std::string svg = plot({{"before", {row("scan", 4, 1)}}, {"<after>", {row("scan", 4, 2)}}});
  EXPECT_THAT(svg, HasSubstr(">before</text>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;after&gt;</text>"));
}

TEST(Plot, OfRowsWithoutSizesIsEmpty) {
  Record barrier;
  barrier.add("bench", std::string("barrier"));
  barrier.add("us", 1.0);
  EXPECT_THAT(plot({{"", {barrier}}}), Not(HasSubstr("barrier")));
}

} // namespace
} // namespace goss::bench

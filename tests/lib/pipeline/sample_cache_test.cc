// The samples that both ends of a boundary keep: in memory, in a file, and on a disk that is full.
#include "pipeline/sample_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

namespace goss::pipeline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SampleCache, GivesBackWhatWasStoredLastInMemoryAndInAFile) {
  for (const std::string& directory : {std::string(), testing::TempDir() + "samples"}) {
    Result<SampleCache> made = SampleCache::create(directory, 3);
    ASSERT_TRUE(made.isOk()) << made.status().text();
    SampleCache cache = made.take();
    for (const float first : {1.0f, 2.0f}) {
      const float values[] = {first, 5, 6}, others[] = {7, 8, 9};
      ASSERT_TRUE(cache.store({0, 4}, values).isOk());
      ASSERT_TRUE(cache.store({1, 4}, others).isOk());
      float out[3] = {};
      ASSERT_TRUE(cache.load({0, 4}, out).isOk());
      EXPECT_EQ(out[0], first);
      EXPECT_EQ(out[2], 6);
    }
    EXPECT_TRUE(cache.has({1, 4}));
    EXPECT_FALSE(cache.has({1, 5}));
  }
}

TEST(SampleCache, ExportedVectorsComeBackInMemoryAndInAFileAndDamagedBytesChangeNothing) {
  Result<SampleCache> made = SampleCache::create("", 2);
  SampleCache cache = made.take();
  const float values[] = {1, 2}, others[] = {3, 4};
  ASSERT_TRUE(cache.store({1, 7}, values).isOk());
  ASSERT_TRUE(cache.store({0, 9}, others).isOk());
  const std::string bytes = cache.exportAll().value();
  for (const std::string& directory : {std::string(), testing::TempDir() + "samples"}) {
    Result<SampleCache> second = SampleCache::create(directory, 2);
    ASSERT_TRUE(second.isOk()) << second.status().text();
    SampleCache other = second.take();
    ASSERT_TRUE(other.importAll(bytes).isOk());
    EXPECT_EQ(other.exportAll().value(), bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      EXPECT_EQ(other.importAll(bad).kind(), GOSS_ERR_PROTOCOL) << i;
      EXPECT_EQ(other.importAll(std::string_view(bytes).substr(0, i)).kind(), GOSS_ERR_PROTOCOL) << i;
    }
    EXPECT_EQ(other.exportAll().value(), bytes);
  }
  Result<SampleCache> third = SampleCache::create("", 3);
  EXPECT_EQ(third.value().importAll(bytes).kind(), GOSS_ERR_INVALID_ARGUMENT);
}

TEST(SampleCache, AFullDiskIsNamedWithTheSystemsReason) {
  std::signal(SIGXFSZ, SIG_IGN);
  Result<SampleCache> made = SampleCache::create(testing::TempDir() + "samples", 1024);
  ASSERT_TRUE(made.isOk()) << made.status().text();
  SampleCache cache = made.take();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max}; // as a disk that fills up on the way
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = cache.store({0, 0}, std::vector<float>(1024, 1.0f));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.kind(), GOSS_ERR_RESOURCE);
  EXPECT_THAT(status.text(), AllOf(HasSubstr("samples/activations-"), HasSubstr("cannot be written: File too large")));
}

TEST(SampleCache, ADirectoryThatCannotBeUsedIsNamedWithTheSystemsReason) {
  const Result<SampleCache> made = SampleCache::create("/dev/null/samples", 3);
  EXPECT_THAT(made.status().text(), AllOf(HasSubstr("/dev/null/samples"), HasSubstr("Not a directory")));
}

} // namespace
} // namespace goss::pipeline

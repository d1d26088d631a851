// Ranks whose settings differ: those that must be the same are named at the start, the others change no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/gossamer.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

/// Calls `body` on a thread for each rank, with what goss_comm_create() returned for the config that `set` has changed.
void createOnThreads(int ranks, const std::function<void(goss_config& config, int rank)>& set,
                     const std::function<void(goss_status status, goss_comm_t comm, int rank)>& body) {
  goss_unique_id id;
  ASSERT_EQ(goss_unique_id_create(&id), GOSS_SUCCESS) << goss_last_error();
  std::barrier<> end(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      goss_config config;
      ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS) << goss_last_error();
      config.rank = rank;
      config.ranks = ranks;
      config.unique_id = &id;
      config.timeout_ms = 20000;
      config.bootstrap_timeout_ms = 20000;
      set(config, rank);
      goss_comm_t comm = nullptr;
      const goss_status status = goss_comm_create(&config, &comm);
      body(status, comm, rank);
      end.arrive_and_wait();
      EXPECT_EQ(goss_comm_destroy(comm), GOSS_SUCCESS);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

/// All ranks fail, and name the setting and the two ranks, where rank 2 of 3 has another one.
void expectNamed(const std::string& setting, const std::function<void(goss_config& config, bool other)>& set) {
  createOnThreads(
      3, [&](goss_config& config, int rank) { set(config, rank == 2); },
      [&](goss_status status, goss_comm_t, int rank) {
        EXPECT_EQ(status, GOSS_ERR_MISMATCH) << setting << ", rank " << rank;
        EXPECT_THAT(goss_last_error(), HasSubstr("rank 2 has set " + setting + " otherwise than rank 0"));
        std::int32_t culprit = -1;
        EXPECT_EQ(goss_last_error_rank(nullptr, &culprit), GOSS_SUCCESS);
        EXPECT_EQ(culprit, 2);
      });
}

class SettingFile {
 public:
  explicit SettingFile(const std::string& text) {
    ::close(::mkstemp(path_.data()));
    std::ofstream(path_) << text;
  }
  ~SettingFile() { std::remove(path_.c_str()); }
  SettingFile(const SettingFile&) = delete;
  SettingFile& operator=(const SettingFile&) = delete;
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::string path_ = "/tmp/goss-setting-XXXXXX";
};

TEST(UnlikeSettings, ThatMustBeTheSameAreNamedOnAllRanks) {
  expectNamed("GOSS_ALGORITHM", [](goss_config& config, bool other) { config.algorithm = other ? "direct" : "ring"; });
  expectNamed("GOSS_CODEC", [](goss_config& config, bool other) { config.codec = other ? "int8" : ""; });
  expectNamed("GOSS_FRAGMENT_BYTES",
              [](goss_config& config, bool other) { config.fragment_bytes = other ? 1 << 20 : 1 << 21; });
  const SettingFile slow(R"({"gossamer_tuning": 1, "links": {"shm": {"latency_s": 1e-5}}})");
  const SettingFile fast(R"({"gossamer_tuning": 1, "links": {"shm": {"latency_s": 1e-6}}})");
  expectNamed("GOSS_TUNING",
              [&](goss_config& config, bool other) { config.tuning_file = other ? slow.path() : fast.path(); });
  const SettingFile links("gossamer-links 1\nbase tcp\n");
  expectNamed("GOSS_LINKS", [&](goss_config& config, bool other) { config.links_file = other ? links.path() : ""; });
}

TEST(UnlikeSettings, OfEqualContentsAreTheSame) {
  const std::string text = R"({"gossamer_tuning": 1, "links": {"shm": {"latency_s": 1e-6}}})";
  const SettingFile one(text);
  const SettingFile other(text);
  createOnThreads(
      2, [&](goss_config& config, int rank) { config.tuning_file = rank == 0 ? one.path() : other.path(); },
      [](goss_status status, goss_comm_t, int) { EXPECT_EQ(status, GOSS_SUCCESS) << goss_last_error(); });
}

// Plans follow from prices, and these from transports: ranks that priced links by their own settings alone would take
// different plans.
TEST(UnlikeSettings, TransportOfOneRankChangesNoSum) {
  for (const int forced : {0, 3}) {
    createOnThreads(
        4, [&](goss_config& config, int rank) { config.transport = rank == forced ? "tcp" : nullptr; },
        [](goss_status status, goss_comm_t comm, int rank) {
          ASSERT_EQ(status, GOSS_SUCCESS) << goss_last_error();
          for (std::size_t count = 1; count <= 1 << 20; count *= 4) {
            std::vector<double> values(count, rank + 1.0);
            ASSERT_EQ(
                goss_all_reduce(comm, values.data(), values.data(), count, GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr),
                GOSS_SUCCESS)
                << count << ": " << goss_last_error();
            ASSERT_EQ(values, std::vector<double>(count, 10.0)) << count;
            ASSERT_EQ(goss_broadcast(comm, values.data(), values.data(), count, GOSS_FLOAT64, 1, nullptr, nullptr),
                      GOSS_SUCCESS)
                << count << ": " << goss_last_error();
          }
        });
  }
}

} // namespace
} // namespace goss::test

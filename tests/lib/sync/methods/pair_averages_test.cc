// Methods whose ranks average in pairs: no rank waits for another, whenever the others finish or leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "gossamer/sync.h"
#include "tests/support/calls.h"
#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::size_t kElements = 700;
constexpr const char* kSpecs[] = {"adpsgd", "acid", "adpsgd:wait=1,topology=full", "acid:topology=star,h=2,wait=1",
                                  "adpsgd:topology=one-peer-exponential"};

/// A synchronizer over one vector, which begins as zeros.
class Paired {
 public:
  Paired(goss_comm_t comm, const std::string& spec) : x(kElements) {
    EXPECT_OK(goss_sync_create(comm, spec.c_str(), &sync));
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x.data();
    tensor.count = x.size();
    EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
  }
  ~Paired() { EXPECT_OK(goss_sync_destroy(sync)); }
  Paired(const Paired&) = delete;
  Paired& operator=(const Paired&) = delete;

  /// A step in which the optimizer adds `update`.
  void step(float update) {
    for (float& value : x)
      value += update;
    EXPECT_OK(goss_sync_step(sync));
  }

  std::vector<float> x;
  goss_sync_t sync = nullptr;
};

// Every update is a whole number of eighths below 2^7, so that updates add exactly; averages round.
TEST(PairAverages, RanksThatFinishAtDifferentTimesAndLeaveAtOnceHaveTheMeanOfAllUpdates) {
  struct Case {
    const char* transport;
    int ranks;
  };
  for (const auto& [transport, ranks] : {Case{"loopback", 1}, {"loopback", 5}, {"shm", 3}, {"tcp", 2}}) {
    for (const char* spec : kSpecs) {
      RanksSetup setup = over(transport, ranks);
      setup.leave_at_once = true;
      std::vector<double> updates(static_cast<std::size_t>(ranks));
      std::vector<std::vector<float>> ends(updates.size());
      runRanks(setup, [&, spec = spec](goss_comm_t comm, int rank) {
        const auto at = static_cast<std::size_t>(rank);
        base::SplitMix64 random(at);
        Paired one(comm, spec);
        EXPECT_OK(goss_sync_start(one.sync));
        for (std::size_t left = 1 + random.below(24); left > 0; --left) {
          const float update = static_cast<float>(random.below(40)) / 8;
          updates[at] += static_cast<double>(update);
          one.step(update);
        }
        EXPECT_OK(goss_sync_finish(one.sync));
        ends[at] = one.x;
      });
      double mean = 0;
      for (const double update : updates)
        mean += update / ranks;
      for (const std::vector<float>& end : ends) {
        EXPECT_EQ(std::memcmp(end.data(), ends[0].data(), kElements * sizeof(float)), 0) << spec;
        // At most 24 updates, mixtures and averages of a rank, of numbers below 2^8, are rounded by 2^-16 each.
        EXPECT_NEAR(static_cast<double>(end[1]), mean, 0x1p-16 * 24 * 4) << spec << " on " << ranks;
      }
    }
  }
}

TEST(PairAverages, RanksGoOnTrainingBehindAFinish) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    Paired one(comm, "adpsgd:topology=full");
    EXPECT_OK(goss_sync_start(one.sync));
    for (int round = 0; round < 4; ++round) {
      for (int step = 0; step <= rank; ++step)
        one.step(rank == 1 ? 3.0F : 0.0F);
      EXPECT_OK(goss_sync_finish(one.sync));
      EXPECT_NEAR(one.x[0], 2 * (round + 1), 1e-4); // Rank 1 makes two steps of 3 a round, of three ranks.
    }
  });
}

TEST(PairAverages, ARankThatDestroysItsSynchronizerHoldsNobodyUp) {
  for (const char* spec : kSpecs) {
    runRanks(over("", 4), [&](goss_comm_t comm, int rank) {
      base::SplitMix64 random(static_cast<std::uint64_t>(rank));
      for (int time = 0; time < fullOr(6, 2); ++time) {
        Paired one(comm, spec);
        EXPECT_OK(goss_sync_start(one.sync));
        for (std::size_t left = random.below(30); left > 0; --left)
          one.step(1);
      }
    });
  }
}

TEST(PairAverages, AStateKeepsTheMeanOfTheRanks) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    void* bytes = nullptr;
    std::size_t size = 0;
    std::vector<float> parameters;
    {
      Paired one(comm, "adpsgd:wait=1");
      EXPECT_OK(goss_sync_start(one.sync));
      for (int step = 0; step < 5; ++step)
        one.step(rank == 0 ? 2.0F : 0.0F);
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // Each average is over at both ranks when its step returns.
      parameters = one.x;
      EXPECT_OK(goss_sync_export(one.sync, &bytes, &size));
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    }
    Paired again(comm, "adpsgd:wait=1");
    again.x = parameters;
    EXPECT_OK(goss_sync_import(again.sync, bytes, size));
    goss_free(bytes);
    EXPECT_OK(goss_sync_start(again.sync));
    EXPECT_OK(goss_sync_finish(again.sync));
    EXPECT_NEAR(again.x[0], 5, 1e-5);
  });
}

TEST(PairAverages, AcidRefusesATopologyThatDoesNotConnectTheRanks) {
  const std::string matrix = testing::TempDir() + "gossamer_apart_" + std::to_string(getpid());
  std::ofstream(matrix) << "1 0\n0 1\n";
  runRanks(2, [&](goss_comm_t comm, int) {
    Paired one(comm, "acid:topology=matrix:" + matrix);
    EXPECT_OK(goss_sync_start(one.sync));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // The failure of a step ends the other rank's start.
    EXPECT_NE(goss_sync_step(one.sync), GOSS_SUCCESS);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("does not connect all 2 ranks"));
  });
  std::filesystem::remove(matrix);
}

} // namespace
} // namespace goss::test

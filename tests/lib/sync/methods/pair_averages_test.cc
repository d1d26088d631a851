// Methods whose ranks average in pairs: no rank waits for another, whenever the others finish or leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
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

/// Three processes, of which one is stopped, share this memory.
struct Processes {
  std::atomic<bool> has_id = false;
  goss_unique_id id{};
  std::atomic<int> steps[3] = {};
  std::atomic<bool> is_stopped = false;
  std::atomic<bool> goes_on = false;
};

constexpr int kProcesses = 3;

/// Calls `train` in a process of its own, which ends with 0 if no expectation has failed there.
pid_t inProcess(Processes& shared, const std::string& spec, int rank, const std::function<void(Paired&)>& train) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(60);
  goss_config config;
  goss_config_init(&config);
  config.timeout_ms = 1000;
  config.silence_ms = 0;
  if (rank == 0) {
    EXPECT_OK(goss_unique_id_create(&shared.id));
    shared.has_id = true;
  }
  while (!shared.has_id)
    ::usleep(100);
  config.unique_id = &shared.id;
  config.rank = rank;
  config.ranks = kProcesses;
  goss_comm_t comm = nullptr;
  EXPECT_OK(goss_comm_create(&config, &comm));
  Paired one(comm, spec);
  EXPECT_OK(goss_sync_start(one.sync));
  train(one);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

void waitFor(const std::atomic<bool>& event) {
  while (!event)
    ::usleep(100);
}

goss_status exportedFrom(const Paired& one) {
  void* bytes = nullptr;
  std::size_t size = 0;
  const goss_status status = goss_sync_export(one.sync, &bytes, &size);
  goss_free(bytes);
  return status;
}

/// Runs `train` in all processes, and stops `victim` when all have made 50 steps, until Processes::goes_on is set.
/// Expects that rank 0's process ends well, or 2's where rank 0 is the victim.
void besideAStoppedRank(const std::string& spec, int victim,
                        const std::function<void(Processes&, int rank, Paired&)>& train) {
  void* memory = ::mmap(nullptr, sizeof(Processes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& shared = *new (memory) Processes;
  pid_t processes[kProcesses];
  for (int rank = 0; rank < kProcesses; ++rank)
    processes[rank] = inProcess(shared, spec, rank, [&](Paired& one) { train(shared, rank, one); });
  for (const std::atomic<int>& steps : shared.steps)
    while (steps < 50)
      ::usleep(1000);
  ::kill(processes[victim], SIGSTOP);
  shared.is_stopped = true;
  waitFor(shared.goes_on);
  ::kill(processes[victim], SIGCONT);
  int status = -1;
  const int other = victim == 0 ? 2 : 0;
  EXPECT_EQ(::waitpid(processes[other], &status, 0), processes[other]);
  EXPECT_EQ(status, 0) << spec;
  for (int rank = 0; rank < kProcesses; ++rank) {
    if (rank == other) continue;
    ::kill(processes[rank], SIGKILL);
    ::waitpid(processes[rank], &status, 0);
  }
  ::munmap(memory, sizeof(Processes));
}

// Its own part of all averages is what a rank saves; a partner that is stopped has to do nothing for that.
TEST(PairAverages, ARankSavesItsStateAndGoesOnBesideAStoppedNeighbour) {
  for (const char* spec : {"adpsgd:topology=full,patience=0.2", "acid:topology=full,patience=0.2"}) {
    besideAStoppedRank(spec, 2, [](Processes& shared, int rank, Paired& one) {
      for (int left = 40; left > 0; left -= rank == 0 && shared.is_stopped ? 1 : 0) {
        one.step(1);
        ++shared.steps[rank];
        ::usleep(2000);
      }
      EXPECT_OK(exportedFrom(one));
      one.step(1);
      shared.goes_on = true;
    });
  }
}

TEST(PairAverages, AnExportThatCannotReadAStoppedCentreMayBeRepeated) {
  besideAStoppedRank("heloco:h=4", 0, [](Processes& shared, int rank, Paired& one) {
    for (; shared.steps[rank] < 50; ++shared.steps[rank])
      one.step(1);
    waitFor(shared.is_stopped);
    while (rank != 2)
      ::usleep(1000); // until the process is killed
    EXPECT_EQ(exportedFrom(one), GOSS_ERR_TIMEOUT);
    shared.goes_on = true;
    EXPECT_OK(exportedFrom(one));
    one.step(1);
  });
}

} // namespace
} // namespace goss::test

// HeLoCo: the model that rank 0 holds survives a restart, also on another number of ranks; no rank waits for another.
// tests/synchronizers/python has its rule.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/sync.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr const char* kSpec = "heloco:h=2,lr=0.5,momentum=0.5";
constexpr int kHeLoCoRanks = 3;

/// One step of each rank after the other.
void stepInTurn(goss_comm_t comm, int rank, int ranks, SyncRun& run, int step) {
  for (int turn = 0; turn < ranks; ++turn) {
    if (turn == rank) run.step(step);
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  }
}

TEST(HeLoCo, GoesOnWithTheSameBitsAfterARestart) {
  runRanks(kHeLoCoRanks, [&](goss_comm_t comm, int rank) {
    SyncRun whole(comm, kSpec);
    whole.start();
    std::vector<std::string> states;
    std::vector<std::vector<float>> parameters;
    for (int step = 0; step < 10; ++step) {
      states.push_back(exported(whole.sync()));
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // all have saved what rank 0 holds
      parameters.push_back(whole.parameters());
      stepInTurn(comm, rank, kHeLoCoRanks, whole, step);
    }
    for (const std::size_t from : {3u, 6u}) {
      SyncRun resumed(comm, kSpec);
      EXPECT_OK(goss_sync_import(resumed.sync(), states[from].data(), states[from].size()));
      resumed.parameters() = parameters[from];
      resumed.start();
      for (int step = static_cast<int>(from); step < 10; ++step)
        stepInTurn(comm, rank, kHeLoCoRanks, resumed, step);
      EXPECT_EQ(resumed.parameters(), whole.parameters()) << "from step " << from << ", rank " << rank;
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // the synchronizer's memory is there while others use it
    }
    whole.finish();
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(HeLoCo, TakesTheModelToAnotherNumberOfRanks) {
  std::vector<std::string> states(kHeLoCoRanks);
  std::vector<float> end;
  runRanks(kHeLoCoRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, kSpec);
    run.start();
    for (int step = 0; step < 4; ++step)
      stepInTurn(comm, rank, kHeLoCoRanks, run, step);
    run.finish();
    states[static_cast<std::size_t>(rank)] = exported(run.sync());
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 0) end = run.parameters();
  });
  runRanks(2, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, kSpec);
    std::vector<const void*> bytes;
    std::vector<std::size_t> counts;
    for (const std::string& state : states) {
      bytes.push_back(state.data());
      counts.push_back(state.size());
    }
    run.parameters() = end;
    EXPECT_OK(goss_sync_import_all(run.sync(), bytes.data(), counts.data(), bytes.size(), nullptr));
    run.start();
    run.finish();
    EXPECT_EQ(run.parameters(), end) << "rank " << rank;
    stepInTurn(comm, rank, 2, run, 4);
    stepInTurn(comm, rank, 2, run, 5);
    run.finish();
    EXPECT_NE(run.parameters(), end);
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

// Rank 1 makes its steps while rank 0, which holds the model, is in no call of the library.
TEST(HeLoCo, NobodyWaitsForARankThatComputes) {
  std::atomic<bool> is_done = false;
  runRanks(2, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, "heloco:h=1");
    run.start();
    for (int step = 0; rank == 1 && step < 8; ++step)
      run.step(step);
    is_done = is_done || rank == 1;
    while (!is_done)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    run.finish();
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(HeLoCo, AFinishThatFailsLeavesTheParametersAsTheyWere) {
  runRanks(2, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, kSpec);
    run.start();
    for (int step = 0; step < 3; ++step)
      stepInTurn(comm, rank, 2, run, step);
    const std::vector<float> before = run.parameters();
    EXPECT_OK(goss_sync_abort(run.sync(), "as the test wants"));
    EXPECT_EQ(goss_sync_finish(run.sync()), GOSS_ERR_ABORTED);
    EXPECT_EQ(run.parameters(), before) << "rank " << rank;
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

} // namespace
} // namespace goss::test

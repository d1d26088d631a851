// Methods in which nobody waits for a rank that computes longer: throughput, sums that are kept, and groups of whoever
// is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "gossamer/sync.h"
#include "sync/group_averages.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"
#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A synchronizer over one vector.
class OneVector {
 public:
  /// `states`: of the ranks of a run before.
  OneVector(goss_comm_t comm, const std::string& spec, std::size_t count, float value = 0,
            const std::vector<std::string>& states = {})
      : x(count, 0), g_(count, 0) {
    EXPECT_OK(goss_sync_create(comm, spec.c_str(), &sync));
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x.data();
    tensor.gradient = g_.data();
    tensor.count = count;
    EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
    std::vector<const void*> bytes;
    std::vector<std::size_t> counts;
    for (const std::string& state : states) {
      bytes.push_back(state.data());
      counts.push_back(state.size());
    }
    if (!states.empty()) EXPECT_OK(goss_sync_import_all(sync, bytes.data(), counts.data(), bytes.size(), nullptr));
    EXPECT_OK(goss_sync_start(sync));
    std::fill(x.begin(), x.end(), value);
  }
  ~OneVector() { EXPECT_OK(goss_sync_destroy(sync)); }
  OneVector(const OneVector&) = delete;
  OneVector& operator=(const OneVector&) = delete;

  void step() {
    EXPECT_OK(goss_sync_gradients(sync));
    EXPECT_OK(goss_sync_step(sync));
  }

  std::vector<float> x;
  goss_sync_t sync = nullptr;

 private:
  std::vector<float> g_;
};

constexpr int kMany = 8;

/// Steps per second of all ranks together. A step computes for `step_time`, asleep; one of rank 3 for `slowness` times
/// as long. Ranks that wait for nobody step until the time is over, others equally often.
struct Throughput {
  double steps_per_s = 0;
  double exchanges = 0; ///< Exchanges of a rank in a step.
};
Throughput throughput(const std::string& spec, bool waits, double slowness, milliseconds step_time, int steps) {
  std::atomic<int> made = 0;
  std::atomic<std::uint64_t> exchanges = 0;
  std::vector<double> rates(kMany);
  runRanks(over("shm", kMany), [&](goss_comm_t comm, int rank) {
    OneVector one(comm, spec, 1000);
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    const Clock::time_point begin = Clock::now();
    const auto own = std::chrono::duration_cast<Clock::duration>(step_time * (rank == 3 ? slowness : 1));
    int step = 0;
    for (; waits ? step < steps : Clock::now() - begin < step_time * steps; ++step) {
      std::this_thread::sleep_for(own);
      one.step();
    }
    made += step;
    rates[static_cast<std::size_t>(rank)] = step / std::chrono::duration<double>(Clock::now() - begin).count();
    goss_sync_counters counters{};
    counters.size = sizeof counters;
    EXPECT_OK(goss_sync_get_counters(one.sync, &counters));
    exchanges += counters.exchanges;
    EXPECT_OK(goss_sync_finish(one.sync));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
  return {std::accumulate(rates.begin(), rates.end(), 0.0), static_cast<double>(exchanges) / made};
}

/// What ranks of which one is 5 times slower make of what equal ranks make.
double shareWithASlowRank(const char* spec, bool waits, milliseconds step_time, int steps) {
  const Throughput equal = throughput(spec, waits, 1, step_time, steps);
  const Throughput slow = throughput(spec, waits, 5, step_time, steps);
  const double share = slow.steps_per_s / equal.steps_per_s;
  std::printf("%-16s %5.1f steps/s, %.2f exchanges a step; with a slow rank %5.1f, %.2f: %3.0f %%\n", spec,
              equal.steps_per_s, equal.exchanges, slow.steps_per_s, slow.exchanges, 100 * share);
  return share;
}

// With one of 8 ranks 5 times slower the others could make 90 % of what equal ranks make.
TEST(Unwaiting, ARankFiveTimesSlowerCostsLittleMoreThanItself) {
  const milliseconds step_time(fullOr(40, 80)); // far above what a busy machine delays
  for (const char* spec : {"adpsgd", "sgp:wait=0", "moshpit:wait=0"}) {
    double share = 0; // a busy machine delays some of the 16 threads
    for (int attempt = 0; attempt < 3 && share < 0.8; ++attempt)
      share = std::max(share, shareWithASlowRank(spec, false, step_time, 14));
    EXPECT_GE(share, fullOr(0.8, 0.6)) << spec;
  }
  double share = 1;
  for (int attempt = 0; attempt < 3 && share > 0.3; ++attempt)
    share = std::min(share, shareWithASlowRank("ddp", true, step_time, 8));
  EXPECT_LE(share, 0.3) << "all ranks of ddp wait for the slow one";
}

// Each rank adds 1/8 in each of its steps, whose numbers differ. Every number is below 2^5, and a push rounds x and w
// once: over some 60 pushes of each of 5 ranks that is below 300 * 2^-19 of the mean.
TEST(Unwaiting, PushSumsAreKeptWhateverTheRanksNumbersOfSteps) {
  for (const char* transport : {"shm", "tcp"}) {
    for (const char* spec : {"sgp:wait=0", "sgp:topology=ring,wait=0", "sgp:topology=star:weights=push-sum,wait=0"}) {
      constexpr int kPushing = 5;
      std::vector<float> ends(kPushing);
      double sum = 0;
      runRanks(over(transport, kPushing), [&](goss_comm_t comm, int rank) {
        OneVector one(comm, spec, 300);
        base::SplitMix64 random(static_cast<std::uint64_t>(rank));
        const int steps = 20 + 10 * rank;
        for (int step = 0; step < steps; ++step) {
          for (float& value : one.x)
            value += 0.125F;
          if (random.below(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
          one.step();
        }
        EXPECT_OK(goss_sync_finish(one.sync));
        ends[static_cast<std::size_t>(rank)] = one.x[0];
        EXPECT_EQ(std::count(one.x.begin(), one.x.end(), one.x[0]), static_cast<long>(one.x.size()));
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      });
      for (int rank = 0; rank < kPushing; ++rank)
        sum += 0.125 * (20 + 10 * rank);
      for (const float end : ends)
        EXPECT_NEAR(end, sum / kPushing, 300 * 0x1p-19) << transport << " " << spec;
    }
  }
}

// On a 2 x 2 grid whose ranks all come, two averages are exact, and so is one of all 4 ranks. There ranks that send
// faster average more, and slow ones nothing, which does not change a bit.
TEST(Unwaiting, GroupsToWhichAllComeAreExactWithAnyShards) {
  for (const char* transport : {"shm", "tcp"}) {
    for (const char* rates : {"equal", "measured", "8;1;1;2", "1;1000;1;1"}) {
      for (const char* dims : {"2x2", "4"}) {
        runRanks(over(transport, 4), [&](goss_comm_t comm, int rank) {
          const auto spec = std::string("moshpit:dims=") + dims + ",wait=0,patience=100,rates=" + rates;
          OneVector one(comm, spec, 1003, static_cast<float>(1 << rank));
          for (int step = 0; step < 3; ++step) {
            one.step();
            for (const float value : one.x)
              ASSERT_EQ(value, 3.75F) << spec << ", rank " << rank;
          }
          EXPECT_OK(goss_sync_finish(one.sync));
          EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
        });
      }
    }
  }
}

TEST(Unwaiting, AGroupAveragesThoseWhoAreThereWhateverTheirNumber) {
  runRanks(over("shm", 4), [&](goss_comm_t comm, int rank) {
    const char* patience = fullOr("0.5", "5"); // times the second before the first average
    OneVector one(comm, std::string("moshpit:dims=4,wait=0,patience=") + patience, 100, static_cast<float>(1 << rank));
    if (rank != 2) one.step(); // the first waits so long
    EXPECT_EQ(one.x[99], rank == 2 ? 4.0F : 11.0F / 3) << "rank " << rank;
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    if (rank == 2) one.step(); // alone
    EXPECT_EQ(one.x[99], rank == 2 ? 4.0F : 11.0F / 3) << "rank " << rank;
    EXPECT_OK(goss_sync_finish(one.sync));
    EXPECT_FLOAT_EQ(one.x[0], 3.75F) << "the mean of all is kept";
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Unwaiting, StatesOfUnequalStepsAreTakenToAnotherNumberOfRanks) {
  for (const char* spec : {"sgp:wait=0", "moshpit:dims=2,wait=0", "heloco:h=1", "adpsgd"}) {
    std::vector<std::string> states(2);
    runRanks(over("shm", 2), [&](goss_comm_t comm, int rank) {
      OneVector one(comm, spec, 100);
      for (int step = 0; step < 2 + 3 * rank; ++step)
        one.step();
      EXPECT_OK(goss_sync_finish(one.sync));
      states[static_cast<std::size_t>(rank)] = exported(one.sync);
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    });
    runRanks(over("shm", 4), [&](goss_comm_t comm, int) {
      OneVector one(comm, spec == std::string("moshpit:dims=2,wait=0") ? "moshpit:dims=4,wait=0" : spec, 100, 0,
                    states);
      one.step();
      goss_sync_counters counters{};
      counters.size = sizeof counters;
      EXPECT_OK(goss_sync_get_counters(one.sync, &counters));
      EXPECT_EQ(counters.steps, 6u) << spec << ": the largest number goes on";
      EXPECT_OK(goss_sync_finish(one.sync));
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    });
  }
}

// Rank 0 has the boards of its group.
TEST(Unwaiting, AGroupGoesOnWithoutARankThatHasLeft) {
  for (const int leaver : {0, 2}) {
    runRanks(over("shm", 3), [&](goss_comm_t comm, int rank) {
      const auto one = std::make_unique<OneVector>(comm, "moshpit:dims=3,wait=0,patience=0.3", 100, 1.0F);
      one->step();
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      if (rank != leaver) {
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // it has left
        one->step();
        one->step();
        EXPECT_EQ(one->x[99], 1.0F) << leaver;
      }
      if (rank == leaver) {
        EXPECT_OK(goss_sync_destroy(std::exchange(one->sync, nullptr)));
        EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      }
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    });
  }
}

/// What rank 0 gets from an average with rank 1, which writes to rank 0's board and sends messages as it likes before
/// it comes, and then does not come.
Result<std::size_t> averageWithoutRankOne(const std::vector<std::int64_t>& board,
                                          const std::vector<std::int64_t>& list) {
  Result<std::size_t> there = std::size_t{0};
  runRanks(over("shm", 2), [&](goss_comm_t comm, int rank) {
    const auto channel = sync::Channel::duplicate(comm).take();
    std::vector<std::int64_t> own(7); // a board of a group of two
    if (rank == 1) {
      goss_window_t window = nullptr;
      ASSERT_TRUE(channel->openWindow(own, &window).isOk());
      if (!board.empty()) {
        EXPECT_OK(goss_window_put(window, board.data(), board.size(), 0, 0, nullptr, nullptr));
        EXPECT_OK(goss_window_flush(window, 0, nullptr));
      }
      if (!list.empty()) {
        EXPECT_TRUE(channel->mailbox().send(std::as_bytes(std::span(list)), 0, 1).isOk());
      }
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
      return;
    }
    sync::GroupAverages averages(*channel);
    ASSERT_TRUE(averages.open(1, 2).isOk());
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
    const int group[] = {0, 1};
    std::vector<float> values(100, 2.0F);
    there = averages.average({group, 0, std::chrono::milliseconds(300), 1}, values);
    EXPECT_EQ(values, std::vector<float>(100, 2.0F));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
  return there;
}

// A board: meeting, open, members, then rank and rate of each. A list: the board's rank, board, meeting, then as there.
TEST(Unwaiting, NoNumberOfABoardOrAListIsTakenForGranted) {
  const std::vector<std::vector<std::int64_t>> boards = {
      {1, 1, 3, 1, 1, 0, 1},  {1, 1, -1, 1, 1, 0, 1},       {1, 1, 1, 7, 1, 0, 1}, {1, 1, 1, -1, 1, 0, 1},
      {1, 1, 1, 0, 1, 0, 1},  {1, 1, 2, 1, 1, 1, 1},        {1, 1, 1, 1, 0, 0, 1}, {1, 1, 1, 1, -5, 0, 1},
      {-1, 1, 0, 0, 0, 0, 0}, {INT64_MAX, 0, 0, 0, 0, 0, 0}};
  for (const auto& board : boards) {
    const Result<std::size_t> there = averageWithoutRankOne(board, {});
    ASSERT_FALSE(there.isOk()) << testing::PrintToString(board);
    EXPECT_EQ(there.status().kind(), GOSS_ERR_PROTOCOL) << there.status().text();
    EXPECT_THAT(there.status().text(), testing::HasSubstr("an average with rank 0: its board"));
  }
  const std::vector<std::vector<std::int64_t>> lists = {{0, 0, 1, 0, 1, 7, 1}, {0, 0, 1, 1, 1}, {0, 0, 1, 0, 1, 1, 0},
                                                        {0, 0, 1, 0, 1, 0, 1}, {0, 0, 1},       {0, 0},
                                                        {0, 0, 1, 0}};
  for (const auto& list : lists) {
    const Result<std::size_t> there = averageWithoutRankOne({}, list);
    ASSERT_FALSE(there.isOk()) << testing::PrintToString(list);
    EXPECT_EQ(there.status().kind(), GOSS_ERR_PROTOCOL) << there.status().text();
    EXPECT_THAT(there.status().text(), testing::HasSubstr("an average with rank 1: it has sent a list"));
  }
}

TEST(Unwaiting, AListOfAnEarlierMeetingIsDropped) {
  for (const std::vector<std::int64_t>& list :
       {std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1}, {1, 0, 1, 0, 1, 1, 1}}) {
    const Result<std::size_t> there = averageWithoutRankOne({}, list);
    ASSERT_TRUE(there.isOk()) << there.status().text();
    EXPECT_EQ(there.value(), 1u) << "rank 1 is not there";
  }
}

double slowest(const std::vector<double>& rates, const std::vector<double>& shares) {
  double most = 0;
  for (std::size_t i = 0; i < rates.size(); ++i)
    most = std::max(most, (1 + (static_cast<double>(rates.size()) - 2) * shares[i]) / rates[i]);
  return most;
}

TEST(Unwaiting, ShardsByRateMakeTheSlowestSoonest) {
  base::SplitMix64 random(5);
  const auto draw = [&] { return static_cast<double>(random.below(1000) + 1); };
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::vector<double> rates(2 + random.below(6));
    for (double& rate : rates)
      rate = draw();
    constexpr std::size_t kElements = 100003;
    const std::vector<std::size_t> shards = sync::shardsByRate(rates, kElements);
    ASSERT_EQ(std::accumulate(shards.begin(), shards.end(), std::size_t{0}), kElements);
    std::vector<double> shares(shards.begin(), shards.end());
    for (double& share : shares)
      share /= static_cast<double>(kElements);
    const double best = slowest(rates, shares);
    for (int other = 0; other < 50; ++other) { // no other shares are better, but for rounding
      std::vector<double> moved = shares;
      const std::size_t from = random.below(moved.size()), to = random.below(moved.size());
      const double part = moved[from] * draw() / 1000;
      moved[from] -= part;
      moved[to] += part;
      EXPECT_GE(slowest(rates, moved), best * (1 - 1e-3)) << testing::PrintToString(rates);
    }
  }
  EXPECT_EQ(sync::shardsByRate(std::vector<double>{5, 5, 5, 5}, 10), (std::vector<std::size_t>{3, 3, 2, 2}));
  EXPECT_EQ(sync::shardsByRate(std::vector<double>{1, 9}, 10), (std::vector<std::size_t>{5, 5}));
  EXPECT_EQ(sync::shardsByRate(std::vector<double>{100, 100, 1}, 10)[2], 0u) << "too slow to average for others";
}

} // namespace
} // namespace goss::test

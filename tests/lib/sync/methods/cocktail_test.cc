// CocktailSGD: what reaches the others, what stays with a rank until it does, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/sync.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::size_t kSentOfTheLargest = 4; // a quarter of kElements, rounded up

/// The `count` largest of x - theta; zero elsewhere.
Vector largestOf(const Vector& x, const Vector& theta, std::size_t count) {
  std::vector<std::size_t> order(kElements);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(x[a] - theta[a]) > std::abs(x[b] - theta[b]); });
  Vector sent(kElements, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    sent[order[k]] = x[order[k]] - theta[order[k]];
  }
  return sent;
}

/// The published rule: a rank takes what it sent out of its parameters and puts the mean in.
struct Rule {
  std::size_t count = kSentOfTheLargest;
  Vector theta = initialParameters();

  Replicas send(const Replicas& x) const {
    Replicas sent;
    for (const Vector& own : x) {
      sent.push_back(largestOf(own, theta, count));
    }
    return sent;
  }
  void apply(const Replicas& sent, Replicas& x) {
    for (std::size_t i = 0; i < kElements; ++i) {
      double mean = 0;
      for (const Vector& own : sent) {
        mean += own[i] / kRanks;
      }
      theta[i] += mean;
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        x[rank][i] += mean - sent[rank][i];
      }
    }
  }
};

TEST(Cocktail, WithoutDelayAndLossIsLocalSgdOfOneStep) {
  expectSame(runLibrary("cocktail:tau=0,codec=none"), runLibrary("local:h=1"));
}

TEST(Cocktail, LeavesWhatIsNotSentInEachRanksParameters) {
  Rule rule;
  expectSame(runLibrary("cocktail:tau=0,codec=topk:ratio=0.25+ef"),
             runReference([&](int, Replicas& x) { rule.apply(rule.send(x), x); }));
}

/// The exchange of a step is applied after the next one.
Trajectory delayed(Rule rule) {
  Replicas under_way;
  return runReference([&](int, Replicas& x) {
    if (!under_way.empty()) rule.apply(under_way, x);
    under_way = rule.send(x);
  });
}

TEST(Cocktail, AppliesAnExchangeOneStepAfterItLeft) {
  expectSame(runLibrary("cocktail:codec=topk:ratio=0.25+ef"), delayed({}));
  expectSame(runLibrary("cocktail:codec=none"), delayed({.count = kElements}));
}

TEST(Cocktail, KeepsTheStepsThatCameAfterAnExchangeLeft) {
  Rule rule;
  Replicas under_way;
  expectSame(runLibrary("cocktail:h=4,tau=3,codec=topk:ratio=0.25+ef"), runReference([&](int step, Replicas& x) {
               if (step % 4 == 1) under_way = rule.send(x);
               if (step % 4 == 0) rule.apply(under_way, x);
             }));
}

TEST(Cocktail, ComputesOnWhileItsExchangeIsUnderWay) {
  std::atomic<bool> first_is_done = false;
  runRanks(2, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, "cocktail");
    run.start();
    while (rank == 1 && !first_is_done) // a rank 0 that waited for rank 1 would fail after its timeout
      std::this_thread::yield();
    run.step(0);
    first_is_done = true;
    run.step(1);
  });
}

TEST(Cocktail, FailsWithinTheTimeLimitWhereARankNoLongerCalls) {
  std::atomic<bool> has_failed = false;
  RanksSetup setup;
  setup.timeout_ms = 300;
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, "cocktail");
    run.start();
    run.step(0);
    if (rank == 0) {
      EXPECT_EQ(goss_sync_step(run.sync()), GOSS_SUCCESS) << "the exchange of the first step has both ranks";
      EXPECT_EQ(goss_sync_step(run.sync()), GOSS_ERR_TIMEOUT);
      EXPECT_EQ(goss_sync_step(run.sync()), GOSS_ERR_TIMEOUT) << "the first failure stays";
      void* bytes = nullptr;
      std::size_t count = 0;
      EXPECT_EQ(goss_sync_export(run.sync(), &bytes, &count), GOSS_ERR_TIMEOUT);
      has_failed = true;
    }
    while (!has_failed)
      std::this_thread::yield();
  });
}

TEST(Cocktail, RefusesToApplyAnExchangeAfterTheNextHasLeft) {
  runRanks(1, [](goss_comm_t comm, int) {
    goss_sync_t sync = nullptr;
    EXPECT_EQ(goss_sync_create(comm, "cocktail:h=2,tau=3", &sync), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("tau must be at most h"));
  });
}

/// The optimum of rank `rank`: each element differs between ranks by eight times the part that they share.
float targetOf(int rank, std::size_t i) {
  return static_cast<float>(gradientOf(9, 1, i) / 4 + 2 * gradientOf(rank, 2, i));
}

/// Squared distance of the ranks' mean to the mean of their targets, over that of the start, after gradient descent.
double distanceLeft(const std::string& spec) {
  constexpr std::size_t kCount = 1024;
  constexpr int kDescents = 400;
  double left = 0;
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    std::vector<float> weights(kCount);
    goss_sync_t sync = nullptr;
    ASSERT_EQ(goss_sync_create(comm, spec.c_str(), &sync), GOSS_SUCCESS) << goss_last_error();
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "weights";
    tensor.parameter = weights.data();
    tensor.count = kCount;
    ASSERT_EQ(goss_sync_register(sync, &tensor, nullptr), GOSS_SUCCESS) << goss_last_error();
    ASSERT_EQ(goss_sync_start(sync), GOSS_SUCCESS) << goss_last_error();
    for (int step = 0; step < kDescents; ++step) {
      // The step shrinks, so that what a codec delays does not swing for ever.
      const float rate = 0.05f * std::sqrt(10.0f / static_cast<float>(step + 10));
      for (std::size_t i = 0; i < kCount; ++i)
        weights[i] -= rate * (weights[i] - targetOf(rank, i));
      ASSERT_EQ(goss_sync_step(sync), GOSS_SUCCESS) << goss_last_error();
    }
    ASSERT_EQ(goss_sync_finish(sync), GOSS_SUCCESS) << goss_last_error();
    double distance = 0, whole = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      double mean = 0;
      for (int of = 0; of < kRanks; ++of)
        mean += targetOf(of, i) / kRanks;
      distance += (weights[i] - mean) * (weights[i] - mean);
      whole += mean * mean;
    }
    if (rank == 0) left = distance / whole;
    ASSERT_EQ(goss_sync_destroy(sync), GOSS_SUCCESS);
  });
  return left;
}

TEST(Cocktail, ReachesWhatIsReachedUncompressedOnAQuadratic) {
  const std::string codec = "randk:ratio=0.5,block=8+topk:ratio=0.2+int4";
  const double plain = distanceLeft("local:h=1");
  for (const std::string tau : {"0", "1"}) {
    const double with = distanceLeft("cocktail:tau=" + tau + ",codec=" + codec + "+ef");
    const double without = distanceLeft("cocktail:tau=" + tau + ",codec=" + codec);
    EXPECT_LT(with - plain, 0.01) << "tau " << tau << "; uncompressed " << plain;
    EXPECT_GT(without - plain, 0.03) << "tau " << tau << "; uncompressed " << plain;
  }
}

void checkEnd(const std::string& spec) {
  SCOPED_TRACE(spec);
  std::mutex mutex;
  std::map<int, Vector> before, after, next;
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, spec);
    run.start();
    for (int step = 0; step < 6; ++step)
      run.step(step);
    const Vector drifted = run.values();
    EXPECT_EQ(goss_sync_finish(run.sync()), GOSS_SUCCESS);
    const Vector settled = run.values();
    run.step(6);
    EXPECT_EQ(goss_sync_finish(run.sync()), GOSS_SUCCESS);
    const std::lock_guard lock(mutex);
    before[rank] = drifted;
    after[rank] = settled;
    next[rank] = run.values();
  });
  EXPECT_NE(before[0], before[1]) << "or nothing was left";
  for (std::size_t i = 0; i < kElements; ++i) {
    double sum = 0, gradients = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      sum += before[rank][i];
      gradients += gradientOf(rank, 6, i);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(after[rank][i], sum / kRanks) << rank << ' ' << i;
      EXPECT_EQ(next[rank][i], after[rank][i] - learningRate(6) * gradients / kRanks) << "what was kept counted twice";
    }
  }
}

TEST(Cocktail, EndsWithTheMeanOfWhatTheRanksHave) {
  checkEnd("cocktail:tau=0,codec=topk:ratio=0.25+ef");
  checkEnd("cocktail:codec=topk:ratio=0.25+ef");
}

/// Two lossy encodings on the way: of what a rank went, and of the mean of a shard by its owner. What the latter loses
/// is in nobody's parameters, and must outlast goss_sync_finish.
void checkDelivery(const std::string& spec) {
  SCOPED_TRACE(spec);
  ScopedEnvironment environment;
  environment.set("GOSS_ALGORITHM", "direct");
  std::mutex mutex;
  std::map<int, Vector> finished, last;
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, spec);
    run.start();
    for (int step = 0; step < 6; ++step) {
      run.step(step);
    }
    EXPECT_EQ(goss_sync_finish(run.sync()), GOSS_SUCCESS);
    const Vector settled = run.values();
    for (int rest = 0; rest < 100; ++rest) {
      EXPECT_EQ(goss_sync_step(run.sync()), GOSS_SUCCESS) << goss_last_error();
    }
    EXPECT_EQ(goss_sync_finish(run.sync()), GOSS_SUCCESS);
    const std::lock_guard lock(mutex);
    finished[rank] = settled;
    last[rank] = run.values();
  });
  const Vector start = initialParameters();
  double missing_at_first = 0, missing = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    double whole = start[i];
    for (int step = 0; step < 6; ++step) {
      for (int rank = 0; rank < kRanks; ++rank) {
        whole -= learningRate(step) * gradientOf(rank, step, i) / kRanks;
      }
    }
    missing_at_first = std::max(missing_at_first, std::abs(finished[0][i] - whole));
    missing = std::max(missing, std::abs(last[0][i] - whole));
  }
  EXPECT_GT(missing_at_first, 0.01) << "or owners lost nothing";
  EXPECT_LT(missing, 0.01 * missing_at_first);
}

TEST(Cocktail, DeliversAllThatWasLostAlsoAfterFinish) {
  checkDelivery("cocktail:tau=0,codec=int2:block=32+ef");
  checkDelivery("cocktail:codec=int2:block=32+ef");
}

} // namespace
} // namespace goss::test

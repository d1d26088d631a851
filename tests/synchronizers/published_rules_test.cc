// Every method against an independent reference in one process, written from its paper: parameters of all ranks in
// plain vectors, no differences where the paper averages parameters, no messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>

#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"
#include "tests/synchronizers/model.h"

namespace goss::test {
namespace {

using Replicas = std::vector<Vector>; // [rank][element]

constexpr std::size_t kSentOfTheLargest = 4; // a quarter of kElements, rounded up

Replicas startEverywhere() { return Replicas(kRanks, initialParameters()); }

void localStep(Replicas& x, int step) {
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::size_t i = 0; i < kElements; ++i) {
      x[static_cast<std::size_t>(rank)][i] -= learningRate(step) * gradientOf(rank, step, i);
    }
  }
}

double meanOf(const Replicas& x, std::size_t i) {
  double sum = 0;
  for (const Vector& replica : x) {
    sum += replica[i];
  }
  return sum / kRanks;
}

Vector meanOf(const Replicas& x) {
  Vector mean(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    mean[i] = meanOf(x, i);
  }
  return mean;
}

void setAll(Replicas& x, const Vector& value) { std::fill(x.begin(), x.end(), value); }

/// Runs steps; after the local part of each, `sync(step)` may change x. `step` counts from 1 there, as papers do.
template <typename Sync>
Trajectory runReference(const Sync& sync) {
  Replicas x = startEverywhere();
  Trajectory trajectory;
  for (int step = 0; step < kSteps; ++step) {
    localStep(x, step);
    sync(step + 1, x);
    trajectory.push_back(x);
  }
  return trajectory;
}

TEST(PublishedRule, DdpStepsAlongTheMeanGradient) {
  Vector x = initialParameters();
  Trajectory reference;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < kElements; ++i) {
      double sum = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        sum += gradientOf(rank, step, i);
      }
      x[i] -= learningRate(step) * sum / kRanks;
    }
    reference.emplace_back(kRanks, x);
  }
  expectSame(runLibrary("ddp"), reference);
}

TEST(PublishedRule, LocalSgdAveragesParameters) {
  expectSame(runLibrary("local:h=3"), runReference([](int step, Replicas& x) {
               if (step % 3 == 0) setAll(x, meanOf(x));
             }));
}

TEST(PublishedRule, DilocoTakesANesterovStepAlongPseudoGradients) {
  Vector theta = initialParameters(), u(kElements, 0.0);
  expectSame(runLibrary("diloco:h=5,lr=0.5,momentum=0.5"), runReference([&](int step, Replicas& x) {
               if (step % 5 != 0) return;
               for (std::size_t i = 0; i < kElements; ++i) {
                 const double delta = theta[i] - meanOf(x, i);
                 u[i] = 0.5 * u[i] + delta;
                 theta[i] -= 0.5 * (delta + 0.5 * u[i]);
               }
               setAll(x, theta);
             }));
}

// With step times 1, 2, 4 and 4 the ranks compute 4, 2, 1 and 1 steps of a period of 4, but all of the first, in which
// nobody knows of speeds. The mean is over steps.
TEST(PublishedRule, DynamicStepsWeighEveryRankByItsSteps) {
  constexpr int kH = 4;
  const std::vector<std::vector<int>> places = {{0, 1, 2, 3}, {1, 3}, {3}, {3}};
  Vector theta = initialParameters(), u(kElements, 0.0);
  Replicas x = startEverywhere();
  Vector steps(kRanks, 0.0);
  Trajectory reference;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t m = 0; m < kRanks; ++m) {
      const bool computes = step < kH || std::ranges::count(places[m], step % kH) != 0;
      if (!computes) continue;
      ++steps[m];
      for (std::size_t i = 0; i < kElements; ++i) {
        x[m][i] -= learningRate(step) * gradientOf(static_cast<int>(m), step, i);
      }
    }
    if (step % kH == kH - 1) {
      for (std::size_t i = 0; i < kElements; ++i) {
        double delta = 0;
        for (std::size_t m = 0; m < kRanks; ++m) {
          delta += steps[m] * (theta[i] - x[m][i]);
        }
        delta /= steps[0] + steps[1] + steps[2] + steps[3];
        u[i] = 0.5 * u[i] + delta;
        theta[i] -= 0.5 * (delta + 0.5 * u[i]);
      }
      setAll(x, theta);
      std::fill(steps.begin(), steps.end(), 0.0);
    }
    reference.push_back(x);
  }
  expectSame(runLibrary("diloco:h=4,steps=dynamic,lr=0.5,momentum=0.5"), reference);
}

// The reference keeps the difference of the step in which an exchange starts, and applies it tau steps later.
TEST(PublishedRule, StreamingExchangesFragmentsInTheBackground) {
  constexpr int kH = 8, kFragments = 2, kTau = 2;
  Vector theta = initialParameters(), u(kElements, 0.0), started(kElements, 0.0);
  const auto due = [](int step, std::size_t fragment) {
    return step % kH == static_cast<int>(fragment + 1) * (kH / kFragments) % kH;
  };
  const Trajectory reference = runReference([&](int step, Replicas& x) {
    for (std::size_t i = 0; i < kElements; ++i) {
      const std::size_t fragment = fragmentOf(i, kFragments);
      if (due(step + kTau, fragment)) started[i] = theta[i] - meanOf(x, i);
      if (!due(step, fragment)) continue;
      u[i] = 0.5 * u[i] + started[i];
      theta[i] -= 0.5 * (started[i] + 0.5 * u[i]);
      for (Vector& replica : x) {
        replica[i] = 0.5 * replica[i] + 0.5 * theta[i];
      }
    }
  });
  expectSame(runLibrary("streaming:h=8,fragments=2,tau=2,alpha=0.5,lr=0.5,momentum=0.5"), reference);
}

TEST(PublishedRule, EagerUsesItsOwnNewestAndTheOthersLastDifferences) {
  Replicas theta = startEverywhere();
  Replicas u(kRanks, Vector(kElements, 0.0)), last(kRanks, Vector(kElements, 0.0));
  expectSame(runLibrary("eager:h=5,lr=0.5,momentum=0.5"), runReference([&](int step, Replicas& x) {
               if (step % 5 != 0) return;
               Replicas delta = theta;
               for (std::size_t m = 0; m < kRanks; ++m) {
                 for (std::size_t i = 0; i < kElements; ++i) {
                   delta[m][i] = theta[m][i] - x[m][i];
                   const double mixed = delta[m][i] / kRanks + meanOf(last, i) - last[m][i] / kRanks;
                   u[m][i] = 0.5 * u[m][i] + mixed;
                   theta[m][i] -= 0.5 * (mixed + 0.5 * u[m][i]);
                 }
               }
               last = delta;
               x = theta;
             }));
}

TEST(PublishedRule, DelayedNesterovUsesItsMomentumOnFullBuffersOnly) {
  constexpr double kBeta = 0.5, kLr = 0.5, kC = 0.25, kN = 2;
  Vector theta = initialParameters(), m(kElements, 0.0), d(kElements, 0.0);
  int arrivals = 0;
  const Trajectory reference = runReference([&](int step, Replicas& x) {
    if (step % 4 != 0) return;
    const bool is_full = ++arrivals % 2 == 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double g = theta[i] - meanOf(x, i);
      d[i] += g;
      if (is_full) {
        m[i] = kBeta * m[i] + d[i] / kN;
        theta[i] -= kLr * ((1 - kC * kN + kC) * kBeta * m[i] + g / kN);
        d[i] = 0;
      } else {
        theta[i] -= kLr * (kC * kBeta * m[i] + g / kN);
      }
    }
    setAll(x, theta);
  });
  expectSame(runLibrary("delayed-nesterov:h=4,lr=0.5,momentum=0.5,buffer=2,spread=0.25"), reference);
}

TEST(PublishedRule, SlowMoMovesInUnitsOfTheLearningRate) {
  Vector old = initialParameters(), u(kElements, 0.0);
  expectSame(runLibrary("slowmo:h=4,alpha=0.5,beta=0.5"), runReference([&](int step, Replicas& x) {
               if (step % 4 != 0) return;
               const double lr = learningRate(step - 1);
               for (std::size_t i = 0; i < kElements; ++i) {
                 u[i] = 0.5 * u[i] + (old[i] - meanOf(x, i)) / lr;
                 old[i] -= 0.5 * lr * u[i];
               }
               setAll(x, old);
             }));
}

TEST(PublishedRule, Co2StepsTowardsTheMeanOfTheRoundBefore) {
  for (const double clip : {0.0, 1.5}) {
    Vector old = initialParameters(), u(kElements, 0.0), stale = old;
    const Trajectory reference = runReference([&](int step, Replicas& x) {
      if (step % 4 != 0) return;
      const Vector arrives_next = meanOf(x);
      for (std::size_t i = 0; i < kElements; ++i) {
        u[i] = 0.5 * u[i] + (old[i] - stale[i]) / 2;
        if (clip > 0) u[i] = std::clamp(u[i], -clip, clip);
        old[i] -= 0.5 * u[i];
      }
      stale = arrives_next;
      setAll(x, old);
    });
    expectSame(runLibrary("co2:h=4,alpha=0.5,beta=0.5,lambda=2,clip=" + std::to_string(clip)), reference);
  }
}

TEST(PublishedRule, QsrLengthensPeriodsAsTheLearningRateFalls) {
  // (1 / 0.5)^2 = 4 and (1 / 0.25)^2 = 16, at least 3, warm-up of 3 steps: periods of 3, 4, 4 steps end at 3, 7 and 11;
  // the fourth has 16 steps but ends with the run at 18.
  expectSame(runLibrary("qsr:h=3,growth=1,warmup=3,total=18"), runReference([&](int step, Replicas& x) {
               if (step == 3 || step == 7 || step == 11 || step == 18) setAll(x, meanOf(x));
             }));
}

// With the published default rates nothing is exact. A round of the library rounds each element 8 times: two
// subtractions, three additions of the mean, its division, and two products and sums each of momentum and step. No
// intermediate exceeds kLargest, a momentum of 0.9 carries an error at most 1 / (1 - 0.9) = 10 times on, and the outer
// rate of 0.7 times 1.9 lets 1.33 of it through: 14 * rounds * 12 half units in the last place of kLargest.
TEST(PublishedRule, DilocoWithItsDefaultsStaysWithinTheBoundOfRounding) {
  Vector theta = initialParameters(), u(kElements, 0.0);
  double largest = 0;
  const Trajectory reference = runReference([&](int step, Replicas& x) {
    for (const Vector& replica : x) {
      for (const double value : replica)
        largest = std::max(largest, std::abs(value));
    }
    if (step % 5 != 0) return;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double delta = theta[i] - meanOf(x, i);
      u[i] = 0.9 * u[i] + delta;
      theta[i] -= 0.7 * (delta + 0.9 * u[i]);
      largest = std::max({largest, std::abs(u[i]), std::abs(theta[i])});
    }
    setAll(x, theta);
  });
  const Trajectory library = runLibrary("diloco:h=5");
  const double bound = 14.0 * 4 * 12 * std::ldexp(largest, -24);
  EXPECT_LT(bound, 0.01) << "or it would hide a wrong rule";
  for (std::size_t step = 0; step < library.size(); ++step) {
    for (std::size_t i = 0; i < kElements; ++i) {
      EXPECT_NEAR(library[step][0][i], reference[step][0][i], bound) << "after step " << step + 1;
    }
    for (const Vector& replica : library[step]) {
      if ((step + 1) % 5 == 0) {
        EXPECT_EQ(replica, library[step][0]) << "the ranks hold the same bits";
      }
    }
  }
}

TEST(PublishedRule, DilocoWithOneStepAndUnitRateIsDdp) {
  const Trajectory ddp = runLibrary("ddp"), diloco = runLibrary("diloco:h=1,lr=1,momentum=0");
  expectSame(diloco, ddp);
}

// Half-precision holds these differences, multiples of 1/4 below 512, exactly.
TEST(PublishedRule, OpenDilocoSendsPseudoGradientsInHalfPrecision) {
  const Trajectory plain = runLibrary("diloco:h=5,lr=0.5,momentum=0.5");
  expectSame(runLibrary("diloco:h=5,lr=0.5,momentum=0.5,codec=fp16"), plain);
  expectSame(runLibrary("streaming:h=8,fragments=2,tau=2,lr=0.5,momentum=0,alpha=0,codec=fp16"),
             runLibrary("streaming:h=8,fragments=2,tau=2,lr=0.5,momentum=0,alpha=0"));
}

// One exchange, of differences of at most `largest`, in 8 bits: an encoding errs by half a step of largest / 127. The
// ranks' own errors average to at most that, and the mean is encoded once more. The outer step is 0.7 * 1.9 times it;
// 1 % is for what the first encoding adds to the second's peak, and for the 16 bits of a step.
TEST(PublishedRule, DilocoInEightBitsErrsByNoMoreThanTwoEncodings) {
  const Trajectory plain = runLibrary("diloco:h=20"), coded = runLibrary("diloco:h=20,codec=int8");
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    for (int rank = 0; rank < kRanks; ++rank) {
      double difference = 0;
      for (int step = 0; step < kSteps; ++step) {
        difference += learningRate(step) * gradientOf(rank, step, i);
      }
      largest = std::max(largest, std::abs(difference));
    }
    error = std::max(error, std::abs(coded.back()[0][i] - plain.back()[0][i]));
  }
  EXPECT_GT(error, 0) << "or nothing was encoded";
  EXPECT_LE(error, 1.01 * 0.7 * 1.9 * 2 * largest / 127 / 2);
  for (const Vector& replica : coded.back()) {
    EXPECT_EQ(replica, coded.back()[0]) << "all ranks decode the same";
  }
}

TEST(PublishedRule, CocktailExchangesEveryStepAndLosesNothingWithoutItsCodec) {
  expectSame(runLibrary("cocktail:codec=none"), runLibrary("local:h=1"));
}

TEST(PublishedRule, CocktailLeavesWhatIsNotSentInEachRanksParameters) {
  Vector theta = initialParameters();
  expectSame(runLibrary("cocktail:codec=topk:ratio=0.25+ef"), runReference([&](int, Replicas& x) {
               Vector sum(kElements, 0.0);
               for (Vector& own : x) {
                 std::vector<std::size_t> order(kElements);
                 std::iota(order.begin(), order.end(), std::size_t{0});
                 std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                   return std::abs(own[a] - theta[a]) > std::abs(own[b] - theta[b]);
                 });
                 for (std::size_t k = 0; k < kSentOfTheLargest; ++k) {
                   const std::size_t i = order[k];
                   sum[i] += own[i] - theta[i];
                   own[i] = theta[i];
                 }
               }
               for (std::size_t i = 0; i < kElements; ++i) {
                 theta[i] += sum[i] / kRanks;
                 for (Vector& own : x) {
                   own[i] += sum[i] / kRanks;
                 }
               }
             }));
}

TEST(PublishedRule, CocktailEndsWithTheMeanOfWhatTheRanksHave) {
  std::mutex mutex;
  std::map<int, Vector> before, after, next;
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, "cocktail:codec=topk:ratio=0.25+ef");
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

/// Two lossy encodings on the way: of what a rank went, and of the mean of a shard by its owner. What the latter loses
/// is in nobody's parameters, and must outlast goss_sync_finish.
TEST(PublishedRule, CocktailDeliversAllThatWasLostAlsoAfterFinish) {
  ScopedEnvironment environment;
  environment.set("GOSS_ALGORITHM", "direct");
  std::mutex mutex;
  std::map<int, Vector> finished, last;
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, "cocktail:codec=int2:block=32+ef");
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

TEST(PublishedRule, IslandsAverageGradientsWithinAndParametersAcross) {
  const auto island_gradient = [](std::size_t rank, int step, std::size_t i) {
    const int first = static_cast<int>(rank / 2) * 2;
    return (gradientOf(first, step, i) + gradientOf(first + 1, step, i)) / 2;
  };
  Replicas x = startEverywhere();
  Trajectory reference;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      for (std::size_t i = 0; i < kElements; ++i) {
        x[rank][i] -= learningRate(step) * island_gradient(rank, step, i);
      }
    }
    if ((step + 1) % 4 == 0) setAll(x, meanOf(x));
    reference.push_back(x);
  }
  expectSame(runLibrary("local:h=4,islands=2"), reference);
}

} // namespace
} // namespace goss::test

// Every method against an independent reference in one process, written from its paper: parameters of all ranks in
// plain vectors, no differences where the paper averages parameters, no messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gossamer/sync.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

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

// With step times 1, 2, 4 and 4 the ranks compute 4, 2, 1 and 1 steps of a period of 4, but all steps of the first, in
// which speeds are unknown. The mean is over steps.
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

TEST(PublishedRule, SlowMoKeepsItsMomentumWhereARoundEndsWithALearningRateOf0) {
  const Rates rates = [](int step) { return step == 7 || step == kSteps - 1 ? 0.0 : learningRate(step); };
  Vector old = initialParameters(), u(kElements, 0.0);
  expectSame(runLibrary("slowmo:h=4,alpha=0.5,beta=0.5", rates), runReference(
                                                                     [&](int step, Replicas& x) {
                                                                       if (step % 4 != 0) return;
                                                                       const double lr = rates(step - 1);
                                                                       for (std::size_t i = 0; i < kElements; ++i) {
                                                                         const double moved = old[i] - meanOf(x, i);
                                                                         if (lr > 0) u[i] = 0.5 * u[i] + moved / lr;
                                                                         old[i] -= 0.5 * (lr > 0 ? lr * u[i] : moved);
                                                                       }
                                                                       setAll(x, old);
                                                                     },
                                                                     rates));
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

/// The parameters of all ranks after so many steps and goss_sync_finish.
Replicas finished(const std::string& spec, int steps) {
  Replicas ends(kRanks);
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, spec);
    run.start();
    for (int step = 0; step < steps; ++step)
      run.step(step);
    run.finish();
    const Vector once = run.values();
    run.finish();
    EXPECT_EQ(run.values(), once) << spec << ": nothing was left to apply";
    ends[static_cast<std::size_t>(rank)] = once;
  });
  return ends;
}

TEST(PublishedRule, Co2KeepsTheStepsSinceTheLastRoundWhenItFinishes) {
  for (const int steps : {3, 4, 6, 11}) {
    Replicas x = startEverywhere();
    Vector old = initialParameters(), u(kElements, 0.0), stale = old;
    const auto apply = [&] {
      for (std::size_t i = 0; i < kElements; ++i) {
        u[i] = 0.5 * u[i] + (old[i] - stale[i]) / 2;
        old[i] -= 0.5 * u[i];
      }
    };
    for (int step = 0; step < steps; ++step) {
      localStep(x, step);
      if (step % 4 != 3) continue;
      const Vector arrives_next = meanOf(x);
      apply();
      stale = arrives_next;
      setAll(x, old);
    }
    const Vector before = old;
    if (steps >= 4) apply();
    Vector end = meanOf(x);
    for (std::size_t i = 0; i < kElements; ++i)
      end[i] += old[i] - before[i];
    EXPECT_EQ(finished("co2:h=4,alpha=0.5,beta=0.5,lambda=2", steps), Replicas(kRanks, end)) << steps;
  }
}

TEST(PublishedRule, EagerKeepsTheStepsSinceTheLastRoundWhenItFinishes) {
  for (const int steps : {3, 4, 6, 11}) {
    Replicas x = startEverywhere(), theta = x;
    Replicas u(kRanks, Vector(kElements, 0.0)), last = u;
    const auto apply = [&](const Replicas& delta) {
      for (std::size_t m = 0; m < kRanks; ++m) {
        for (std::size_t i = 0; i < kElements; ++i) {
          const double mixed = delta[m][i] / kRanks + meanOf(last, i) - last[m][i] / kRanks;
          u[m][i] = 0.5 * u[m][i] + mixed;
          theta[m][i] -= 0.5 * (mixed + 0.5 * u[m][i]);
        }
      }
    };
    for (int step = 0; step < steps; ++step) {
      localStep(x, step);
      if (step % 4 != 3) continue;
      Replicas delta = theta;
      for (std::size_t m = 0; m < kRanks; ++m)
        for (std::size_t i = 0; i < kElements; ++i)
          delta[m][i] -= x[m][i];
      apply(delta);
      last = delta;
      x = theta;
    }
    const Vector before = meanOf(theta);
    if (steps >= 4) apply(Replicas(kRanks, Vector(kElements, 0.0)));
    Vector end = meanOf(x);
    for (std::size_t i = 0; i < kElements; ++i)
      end[i] += meanOf(theta, i) - before[i];
    EXPECT_EQ(finished("eager:h=4,lr=0.5,momentum=0.5", steps), Replicas(kRanks, end)) << steps;
  }
}

TEST(PublishedRule, QsrLengthensPeriodsAsTheLearningRateFalls) {
  // (1 / 0.5)^2 = 4 and (1 / 0.25)^2 = 16, at least 3, warm-up of 3 steps: periods of 3, 4, 4 steps end at 3, 7 and 11;
  // the fourth has 16 steps but ends with the run at 18.
  expectSame(runLibrary("qsr:h=3,growth=1,warmup=3,total=18"), runReference([&](int step, Replicas& x) {
               if (step == 3 || step == 7 || step == 11 || step == 18) setAll(x, meanOf(x));
             }));
}

TEST(PublishedRule, QsrHasAPeriodOfItsOwnInTheWarmUp) {
  // Periods of 2 begin at 0 and 2, of (1 / 0.5)^2 = 4 at 4 and of at least 3 later: they end at 2, 4, 8, 12 and 18.
  expectSame(runLibrary("qsr:h=3,growth=1,warmup=3,init_h=2,total=18"), runReference([&](int step, Replicas& x) {
               if (step == 2 || step == 4 || step == 8 || step == 12 || step == 18) setAll(x, meanOf(x));
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

/// Compressed moments have noise, of which eps would make a giant step where the variance is 0.
TEST(PublishedRule, ElementsWithoutGradientsStayUnderCompressedAdam) {
  for (const std::string spec : {"1-bit-adam:warmup=2", "qadam:warmup=2", "0-1-adam:kappa=1,freeze=6,double_every=1"}) {
    runRanks(2, [&](goss_comm_t comm, int rank) {
      std::vector<float> x(8, 1.0F);
      std::vector<float> g(x.size());
      goss_sync_t sync = nullptr;
      ASSERT_OK(goss_sync_create(comm, spec.c_str(), &sync));
      goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
      tensor.name = "x";
      tensor.parameter = x.data();
      tensor.gradient = g.data();
      tensor.count = x.size();
      ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
      ASSERT_OK(goss_sync_start(sync));
      for (int step = 0; step < 12; ++step) {
        for (std::size_t i = 0; i < x.size(); ++i)
          g[i] = i == 3 ? 0 : static_cast<float>(gradientOf(rank, step, i)) + 0.25F;
        ASSERT_OK(goss_sync_gradients(sync));
        for (std::size_t i = 0; i < x.size(); ++i)
          x[i] -= 0.01F * g[i];
        ASSERT_OK(goss_sync_set_lr(sync, 0.01));
        ASSERT_OK(goss_sync_step(sync));
        EXPECT_EQ(x[3], 1) << spec << ", step " << step;
      }
      EXPECT_NE(x[0], 1) << spec;
      ASSERT_OK(goss_sync_destroy(sync));
    });
  }
}

} // namespace
} // namespace goss::test

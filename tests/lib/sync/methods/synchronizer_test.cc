// Properties of every synchronizer: state that survives a restart, buckets and counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

TEST(Synchronizer, GoesOnWithTheSameBitsAfterARestartAtAnyStep) {
  for (const std::string& spec : allSpecs()) {
    runRanks(kRanks, [&](goss_comm_t comm, int rank) {
      SyncRun whole(comm, spec);
      whole.start();
      std::vector<std::string> states;
      std::vector<std::vector<float>> parameters;
      for (int step = 0; step < kSteps; ++step) {
        states.push_back(exported(whole.sync()));
        parameters.push_back(whole.parameters());
        whole.step(step);
      }
      for (const int from : {2, 6, 7, 13}) {
        const auto at = static_cast<std::size_t>(from);
        SyncRun resumed(comm, spec);
        EXPECT_OK(goss_sync_import(resumed.sync(), states[at].data(), states[at].size()));
        resumed.parameters() = parameters[at];
        resumed.start();
        for (int step = from; step < kSteps; ++step) {
          resumed.step(step);
        }
        EXPECT_EQ(resumed.parameters(), whole.parameters()) << spec << " from step " << from << ", rank " << rank;
        EXPECT_EQ(exported(resumed.sync()), exported(whole.sync())) << spec;
      }
    });
  }
}

/// The number of bytes in which two states differ: one of the step's number and eight of the checksum at least.
std::size_t differences(const std::string& a, const std::string& b) {
  EXPECT_EQ(a.size(), b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    count += a[i] != b[i] ? 1 : 0;
  return count;
}

// A rule's state has the parameters that it has last seen.
TEST(Synchronizer, RulesSeeParametersOnlyInStepsInWhichTheyExchangeThem) {
  for (const char* spec : {"easgd:h=4", "papa:h=4", "fedavg:h=4", "noloco:h=4", "moshpit:h=4", "dpsgd:h=4"}) {
    runRanks(kRanks, [&](goss_comm_t comm, int rank) {
      SyncRun run(comm, spec);
      run.start();
      std::vector<std::string> states = {exported(run.sync())};
      for (int step = 0; step < 4; ++step) {
        run.step(step);
        states.push_back(exported(run.sync()));
      }
      for (std::size_t step = 1; step <= 3; ++step)
        EXPECT_LE(differences(states[step - 1], states[step]), 10u) << spec << " step " << step << ", rank " << rank;
      EXPECT_GT(differences(states[3], states[4]), 12u) << spec << ", rank " << rank;
    });
  }
}

TEST(Synchronizer, EveryMethodTakesStepsWithALearningRateOf0) {
  const Rates rates = [](int step) { return step == 0 || step % 4 == 3 ? 0.0 : 0.25; }; // so rounds of 4 end with it
  for (const std::string& spec : allSpecs()) {
    for (const std::vector<Vector>& ranks : runLibrary(spec, rates)) {
      for (const Vector& x : ranks)
        EXPECT_TRUE(std::ranges::all_of(x, [](double value) { return std::isfinite(value); })) << spec;
    }
  }
}

/// The tiny model with the same gradients on every rank of `ranks`, so that any number of ranks does the same.
class EqualRun {
 public:
  EqualRun(goss_comm_t comm, const std::string& spec, std::vector<std::size_t> tensors)
      : tensors_(std::move(tensors)), parameters_(kElements), gradients_(kElements) {
    const Vector initial = initialParameters();
    parameters_.assign(initial.begin(), initial.end());
    EXPECT_OK(goss_sync_create(comm, spec.c_str(), &sync_));
    for (const std::size_t i : tensors_) {
      goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
      const std::string name = "tensor" + std::to_string(i);
      tensor.name = name.c_str();
      tensor.parameter = parameters_.data() + firstOf(i);
      tensor.gradient = gradients_.data() + firstOf(i);
      tensor.count = kTensorSizes[i];
      tensor.layer = static_cast<std::int32_t>(i);
      EXPECT_OK(goss_sync_register(sync_, &tensor, nullptr));
    }
  }
  ~EqualRun() { goss_sync_destroy(sync_); }
  EqualRun(const EqualRun&) = delete;
  EqualRun& operator=(const EqualRun&) = delete;

  void run(int first, int last) {
    for (int step = first; step < last; ++step) {
      EXPECT_OK(goss_sync_set_lr(sync_, learningRate(step)));
      for (std::size_t i = 0; i < kElements; ++i) {
        gradients_[i] = static_cast<float>(gradient_factor * gradientOf(0, step, i));
      }
      EXPECT_OK(goss_sync_gradients(sync_));
      for (const std::size_t tensor : tensors_) {
        for (std::size_t i = firstOf(tensor); i < firstOf(tensor) + kTensorSizes[tensor]; ++i) {
          parameters_[i] -= static_cast<float>(learningRate(step)) * gradients_[i];
        }
      }
      EXPECT_OK(goss_sync_step(sync_));
    }
  }
  double gradient_factor = 1;
  [[nodiscard]] goss_sync_t sync() const { return sync_; }
  std::vector<float>& parameters() { return parameters_; }
  static std::size_t firstOf(std::size_t tensor) {
    return std::accumulate(kTensorSizes, kTensorSizes + tensor, std::size_t{0});
  }

 private:
  std::vector<std::size_t> tensors_;
  std::vector<float> parameters_, gradients_;
  goss_sync_t sync_ = nullptr;
};

/// Imports `states` into `run`; whether something was left behind.
template <typename Run>
bool importAll(const Run& run, std::span<const std::string> states) {
  std::vector<const void*> bytes;
  std::vector<std::size_t> counts;
  for (const std::string& state : states) {
    bytes.push_back(state.data());
    counts.push_back(state.size());
  }
  std::int32_t dropped = -1;
  EXPECT_OK(goss_sync_import_all(run.sync(), bytes.data(), counts.data(), states.size(), &dropped));
  return dropped == 1;
}

TEST(Resharding, AnyNumberOfRanksAndStagesGoesOnWithReferencesAndMomenta) {
  const std::vector<std::size_t> all = {0, 1, 2};
  for (const char* spec : {"local:h=3", "diloco:h=4", "slowmo:h=4", "co2:h=4", "delayed-nesterov:h=2,buffer=3",
                           "streaming:h=8,fragments=2,tau=3,alpha=0.5", "qsr:h=2,growth=1.2", "cocktail:codec=none",
                           "easgd:h=4", "sgp", "choco:topology=full", "demo:chunk=8,keep=3"}) {
    SCOPED_TRACE(spec);
    std::vector<float> whole, at_six;
    std::vector<std::string> states(4);
    runRanks(4, [&](goss_comm_t comm, int rank) {
      EqualRun run(comm, spec, all);
      EXPECT_OK(goss_sync_start(run.sync()));
      run.run(0, 6);
      states[static_cast<std::size_t>(rank)] = exported(run.sync());
      if (rank == 0) at_six = run.parameters();
      run.run(6, kSteps);
      if (rank == 0) whole = run.parameters();
    });
    runRanks(2, [&](goss_comm_t comm, int rank) {
      EqualRun run(comm, spec, all);
      EXPECT_FALSE(importAll(run, states));
      run.parameters() = at_six;
      EXPECT_OK(goss_sync_start(run.sync()));
      run.run(6, kSteps);
      EXPECT_EQ(run.parameters(), whole) << "two ranks, rank " << rank;
    });
    if (spec == std::string("demo:chunk=8,keep=3")) continue; // its chunks are of all tensors of a bucket
    // Two stages, each on one rank, and back: a stage's state has its own tensors only.
    std::vector<std::string> stages(2);
    std::vector<float> at_nine = at_six;
    for (const std::vector<std::size_t>& own : {std::vector<std::size_t>{0, 2}, std::vector<std::size_t>{1}}) {
      runRanks(1, [&](goss_comm_t comm, int) {
        EqualRun run(comm, spec, own);
        EXPECT_FALSE(importAll(run, states));
        run.parameters() = at_six;
        EXPECT_OK(goss_sync_start(run.sync()));
        run.run(6, 9);
        stages[own.size() - 1] = exported(run.sync());
        for (const std::size_t tensor : own) {
          const auto first = static_cast<std::ptrdiff_t>(EqualRun::firstOf(tensor));
          std::copy_n(run.parameters().begin() + first, kTensorSizes[tensor], at_nine.begin() + first);
        }
      });
    }
    runRanks(3, [&](goss_comm_t comm, int rank) {
      EqualRun run(comm, spec, all);
      EXPECT_FALSE(importAll(run, stages));
      run.parameters() = at_nine;
      EXPECT_OK(goss_sync_start(run.sync()));
      run.run(9, kSteps);
      for (std::size_t i = 0; i < kElements; ++i) { // a third rounds
        EXPECT_NEAR(run.parameters()[i], whole[i], 1e-3) << "rank " << rank << ", element " << i;
      }
    });
  }
}

TEST(Resharding, RanksThatDifferedGoOnFromTheirMean) {
  std::vector<std::string> states(4);
  std::vector<std::vector<float>> parameters(4);
  runRanks(4, [&](goss_comm_t comm, int rank) { // with eager every rank has its own reference and momentum
    SyncRun run(comm, "eager:h=4,codec=int8");
    run.start();
    for (int step = 0; step < 8; ++step) {
      run.step(step);
    }
    states[static_cast<std::size_t>(rank)] = exported(run.sync());
    parameters[static_cast<std::size_t>(rank)] = run.parameters();
  });
  runRanks(1, [&](goss_comm_t comm, int) {
    SyncRun run(comm, "eager:h=4");
    EXPECT_FALSE(importAll(run, states)) << "something was left behind";
    for (std::size_t i = 0; i < kElements; ++i) { // after an application parameters are the reference
      run.parameters()[i] = (parameters[0][i] + parameters[1][i] + parameters[2][i] + parameters[3][i]) / 4;
    }
    run.start();
    for (int step = 8; step < 12; ++step) {
      run.step(step);
    }
  });
}

TEST(Resharding, ErrorFeedbackGoesOnWithWhatTheRanksHadLostAndTellsWhenThereIsNoCodecForIt) {
  const std::vector<std::size_t> all = {0, 1, 2};
  std::vector<std::string> states(4);
  std::vector<float> at_eight, exact;
  runRanks(4, [&](goss_comm_t comm, int rank) {
    EqualRun run(comm, "diloco:h=4,codec=int4:block=32+ef", all), reference(comm, "diloco:h=4", all);
    EXPECT_OK(goss_sync_start(run.sync()));
    EXPECT_OK(goss_sync_start(reference.sync()));
    run.run(0, 8);
    reference.run(0, kSteps);
    states[static_cast<std::size_t>(rank)] = exported(run.sync());
    if (rank == 0) at_eight = run.parameters(), exact = reference.parameters();
  });
  runRanks(2, [&](goss_comm_t comm, int) {
    EqualRun run(comm, "diloco:h=4,codec=int4:block=32+ef", all);
    EXPECT_FALSE(importAll(run, states));
    run.parameters() = at_eight;
    EXPECT_OK(goss_sync_start(run.sync()));
    run.run(8, kSteps);
    // A step of 4 bits is a seventh of a block's largest difference, of which the outer optimizer takes less than
    // twice.
    float largest = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      largest = std::max(largest, std::abs(exact[i] - static_cast<float>(initialParameters()[i])));
    }
    for (std::size_t i = 0; i < kElements; ++i) {
      EXPECT_NEAR(run.parameters()[i], exact[i], largest * 2 / 7) << i;
    }
  });
  runRanks(2, [&](goss_comm_t comm, int) {
    EqualRun run(comm, "diloco:h=4", all);
    EXPECT_TRUE(importAll(run, states));
  });
}

// Without gradients the ranks exchange only what was lost before. Owners encode sums, but not their own part; two have
// none for so few elements, and one rank encodes nothing.
TEST(Resharding, LossesArriveWhoeverEncodesOnTheNewRanks) {
  const std::vector<std::size_t> all = {0, 1, 2};
  const auto drain = [](EqualRun& run) { // a step of 4 bits leaves a 14th of the largest loss
    run.gradient_factor = 0;
    run.run(0, 10);
  };
  std::vector<std::string> states(4);
  std::vector<float> at_eight, drained;
  runRanks(4, [&](goss_comm_t comm, int rank) {
    EqualRun run(comm, "ddp:codec=int4:block=32+ef", all);
    EXPECT_OK(goss_sync_start(run.sync()));
    run.run(0, 8);
    states[static_cast<std::size_t>(rank)] = exported(run.sync());
    if (rank == 0) at_eight = run.parameters();
    drain(run);
    if (rank == 0) drained = run.parameters();
  });
  EXPECT_NE(at_eight, drained) << "nothing was lost";
  for (const auto& grid : {std::pair(1, ""), {2, ""}, {2, "direct"}, {3, "direct"}, {8, "direct"}}) {
    const int ranks = grid.first;
    const std::string algorithm = grid.second;
    test::ScopedEnvironment environment;
    environment.set("GOSS_ALGORITHM", algorithm);
    runRanks(ranks, [&](goss_comm_t comm, int) {
      EqualRun run(comm, "ddp:codec=int4:block=32+ef", all), again(comm, "ddp:codec=int4:block=32+ef", all);
      EXPECT_FALSE(importAll(run, states));
      run.parameters() = again.parameters() = at_eight;
      EXPECT_OK(goss_sync_start(run.sync()));
      const std::string state = exported(run.sync());
      EXPECT_OK(goss_sync_import(again.sync(), state.data(), state.size()));
      EXPECT_OK(goss_sync_start(again.sync()));
      EXPECT_EQ(exported(again.sync()), state);
      drain(run);
      drain(again);
      EXPECT_EQ(again.parameters(), run.parameters());
      for (std::size_t i = 0; i < kElements; ++i)
        EXPECT_NEAR(run.parameters()[i], drained[i], 1e-5) << i << " on " << ranks << " " << algorithm;
    });
  }
}

TEST(Resharding, RefusesOtherMethodsAndTensors) {
  runRanks(1, [](goss_comm_t comm, int) {
    EqualRun run(comm, "diloco:h=4", {0, 1});
    EXPECT_OK(goss_sync_start(run.sync()));
    run.run(0, 4);
    const std::string state = exported(run.sync());
    const void* bytes[] = {state.data()};
    std::size_t count = state.size();
    const EqualRun other(comm, "slowmo:h=4", {0, 1}), more(comm, "diloco:h=4", {0, 1, 2});
    EXPECT_EQ(goss_sync_import_all(other.sync(), bytes, &count, 1, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("is of 'diloco:h=4"));
    EXPECT_EQ(goss_sync_import_all(more.sync(), bytes, &count, 1, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("lack a tensor"));
    EXPECT_EQ(goss_sync_import_all(more.sync(), bytes, &count, 0, nullptr), GOSS_ERR_INVALID_ARGUMENT);
    --count;
    EXPECT_EQ(goss_sync_import_all(other.sync(), bytes, &count, 1, nullptr), GOSS_ERR_PROTOCOL);
  });
}

TEST(Synchronizer, FinishLeavesTheSameParametersOnAllRanks) {
  for (const std::string& spec : allSpecs()) {
    std::vector<std::vector<float>> parameters(kRanks);
    runRanks(kRanks, [&](goss_comm_t comm, int rank) {
      SyncRun run(comm, spec);
      run.start();
      for (int step = 0; step < 7; ++step) {
        run.step(step);
      }
      EXPECT_OK(goss_sync_finish(run.sync()));
      parameters[static_cast<std::size_t>(rank)] = run.parameters();
      run.step(7); // training may go on
    });
    for (const std::vector<float>& of_rank : parameters) {
      EXPECT_EQ(of_rank, parameters.front()) << spec;
    }
  }
}

TEST(Synchronizer, CountsWhatItExchanges) {
  runRanks(kRanks, [](goss_comm_t comm, int) {
    SyncRun run(comm, "diloco:h=5");
    run.start();
    for (int step = 0; step < kSteps; ++step) {
      run.step(step);
    }
    goss_sync_counters counters{};
    counters.size = sizeof counters;
    EXPECT_OK(goss_sync_get_counters(run.sync(), &counters));
    EXPECT_EQ(counters.steps, kSteps);
    EXPECT_EQ(counters.exchanges, kSteps / 5);
    EXPECT_EQ(counters.exchanged_bytes, kSteps / 5 * kElements * sizeof(float));
    EXPECT_GT(counters.wire_bytes_sent, 0u);
    goss_sync_info info{};
    info.size = sizeof info;
    EXPECT_OK(goss_sync_get_info(run.sync(), &info));
    EXPECT_STREQ(info.spec, "diloco:h=5,lr=0.7,momentum=0.9,islands=0,codec=none");
    EXPECT_EQ(info.gradients, 0);
    EXPECT_EQ(info.local_steps, 1);
    EXPECT_EQ(info.gradient_size, 1);
  });
}

/// Tensors of 300 elements with buckets of 1 KiB: two a bucket. `gap` elements lie between tensors.
void checkBuckets(goss_comm_t comm, int rank, std::size_t gap) {
  constexpr std::size_t kCount = 300, kTensors = 5;
  std::vector<float> parameters(kTensors * (kCount + gap)), gradients(parameters.size());
  goss_sync_t sync = nullptr;
  ASSERT_EQ(goss_sync_create(comm, "ddp:bucket_kb=1", &sync), GOSS_SUCCESS) << goss_last_error();
  for (std::size_t i = 0; i < kTensors; ++i) {
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    const std::string name = std::to_string(i);
    tensor.name = name.c_str();
    tensor.parameter = parameters.data() + i * (kCount + gap);
    tensor.gradient = gradients.data() + i * (kCount + gap);
    tensor.count = kCount;
    EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
  }
  EXPECT_OK(goss_sync_start(sync));
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = static_cast<float>((rank + 1) * static_cast<int>(i + static_cast<std::size_t>(step)));
    }
    // Every rank tells of another tensor first, and of one of them not at all.
    for (int i = 0; i + 1 < static_cast<int>(kTensors); ++i) {
      EXPECT_OK(goss_sync_gradient_ready(sync, (i + rank) % static_cast<int>(kTensors)));
    }
    EXPECT_OK(goss_sync_gradients(sync));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const auto base = static_cast<double>(i + static_cast<std::size_t>(step));
      const bool is_gap = i % (kCount + gap) >= kCount;
      ASSERT_EQ(gradients[i], is_gap ? (rank + 1) * base : 2.5 * base) << "element " << i << " of step " << step;
    }
    EXPECT_OK(goss_sync_step(sync));
  }
  goss_sync_counters counters{};
  counters.size = sizeof counters;
  EXPECT_OK(goss_sync_get_counters(sync, &counters));
  EXPECT_EQ(counters.exchanges, 3u * 5u) << "a tensor of 1200 bytes fills a bucket of 1024";
  EXPECT_OK(goss_sync_gradient_ready(sync, 0));
  EXPECT_EQ(goss_sync_gradient_ready(sync, 0), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(goss_last_error(), HasSubstr("twice in a step"));
  EXPECT_OK(goss_sync_gradients(sync));
  EXPECT_OK(goss_sync_destroy(sync));
}

TEST(Buckets, AverageGradientsWhereverTheyLieAndInWhateverOrderTheyCome) {
  runRanks(kRanks, [](goss_comm_t comm, int rank) {
    checkBuckets(comm, rank, 0);
    checkBuckets(comm, rank, 3);
  });
}

TEST(DynamicSteps, ARankMeasuresItselfWhereNobodyTellsTheTime) {
  runRanks(2, [](goss_comm_t comm, int) {
    SyncRun run(comm, "local:h=8,steps=dynamic");
    run.start();
    int computed = 0;
    for (int step = 0; step < 16; ++step) {
      std::int32_t computes = 0;
      EXPECT_OK(goss_sync_computes(run.sync(), &computes));
      computed += computes;
      EXPECT_OK(goss_sync_step(run.sync()));
    }
    EXPECT_GE(computed, 9); // whatever the clock said: all of the first period, and at least one of the second
    EXPECT_LE(computed, 16);
  });
}

TEST(Abort, ReachesTheRanksThatWait) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    SyncRun run(comm, "diloco:h=1");
    run.start();
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr)); // the other rank's start is over too
    if (rank == 0) {
      EXPECT_OK(goss_sync_abort(run.sync(), "the disk is full"));
    } else {
      EXPECT_EQ(goss_sync_step(run.sync()), GOSS_ERR_ABORTED);
      EXPECT_THAT(goss_last_error(), HasSubstr("the disk is full"));
    }
  });
}

TEST(Methods, AreListedWithTheirPapers) {
  char* json = nullptr;
  EXPECT_OK(goss_sync_methods(&json));
  for (const char* text : {R"("name":"diloco")", "arXiv 2311.08105", R"({"key":"h","default":"50")"}) {
    EXPECT_THAT(std::string(json), HasSubstr(text));
  }
  goss_free(json);
}

// Rank 1 comes back with what it knew two steps before. The gradients stay as they are, so that what the ranks have
// sent of them becomes the gradients, and what all keep must become their mean: what a rank has missed would lack in it
// for ever.
TEST(Synchronizers, ThatSendDifferencesOfGradientsAgreeOnTheirMeanAgainAfterAStepIsLost) {
  constexpr std::size_t kCount = 16;
  runRanks(2, [](goss_comm_t comm, int rank) {
    std::vector<float> x(kCount), g(kCount);
    const auto gradient = [](int of, std::size_t i) {
      return static_cast<float>((1 + of) * (1 + static_cast<int>(i)));
    };
    goss_sync_t sync = nullptr;
    const auto begin = [&](const std::string& state) {
      goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
      tensor.name = "x";
      tensor.parameter = x.data();
      tensor.gradient = g.data();
      tensor.count = kCount;
      ASSERT_OK(goss_sync_create(comm, "ef21:codec=topk:ratio=0.25", &sync));
      ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
      if (!state.empty()) ASSERT_OK(goss_sync_import(sync, state.data(), state.size()));
      ASSERT_OK(goss_sync_start(sync));
    };
    const auto train = [&](int steps) {
      for (int step = 0; step < steps; ++step) {
        for (std::size_t i = 0; i < kCount; ++i)
          g[i] = gradient(rank, i);
        ASSERT_OK(goss_sync_gradients(sync));
        ASSERT_OK(goss_sync_step(sync));
      }
    };
    begin("");
    train(1);
    std::string state = exported(sync);
    train(2);
    if (rank == 0) state = exported(sync);
    ASSERT_OK(goss_sync_destroy(sync));
    begin(state);
    train(8);
    for (std::size_t i = 0; i < kCount; ++i)
      EXPECT_EQ(g[i], (gradient(0, i) + gradient(1, i)) / 2) << "element " << i << " of rank " << rank;
    ASSERT_OK(goss_sync_destroy(sync));
  });
}

} // namespace
} // namespace goss::test

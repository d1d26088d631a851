// auto: what it tries and chooses follows from its seed and the step times that it is told, and keeps to the budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "sync/autotune/tuner.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using nlohmann::json;

json trialsOf(goss_sync_t sync) {
  char* text = nullptr;
  EXPECT_OK(goss_sync_trials(sync, &text));
  json parsed = json::parse(text);
  goss_free(text);
  return parsed;
}

/// Seconds of a step of a rank: those of the slowest are what counts.
double toldSeconds(const std::string& spec, int rank) {
  const auto has = [&](const char* part) { return spec.find(part) != std::string::npos; };
  double seconds = 1;
  if (has("bucket_kb=4096")) seconds *= 0.8;
  if (has("levels=2")) seconds *= 1.5;
  if (has("bf16") || has("fp16")) seconds *= 0.9;
  if (has("int8")) seconds *= 0.5;
  if (has("int4")) seconds *= 0.1; // the fastest, but not within the budget
  if (has("dpsgd")) seconds *= 0.05;
  return rank == 2 ? seconds : seconds / 2;
}

constexpr int kRanksOfTuning = 6, kStepsOfTuning = 70;
constexpr std::size_t kCount = 4000;

struct Tuned {
  std::vector<json> trials; ///< By rank.
  std::vector<std::vector<float>> x;
  double worst = 0; ///< The largest relative error of a rank's gradient in any step.
};

float gradientAt(int rank, int step, std::size_t i) {
  return static_cast<float>(gradientOf(rank, step, i) + 0.25 * gradientOf(7, step, i));
}

/// Plain descent of a vector by gradients that do not depend on it. `from` >= 0: the synchronizer is exported, and
/// another goes on, in that step.
Tuned tune(const std::string& spec, int from = -1) {
  Tuned all;
  all.trials.resize(kRanksOfTuning);
  all.x.resize(kRanksOfTuning, std::vector<float>(kCount));
  std::vector<double> worst(kRanksOfTuning);
  runRanks(kRanksOfTuning, [&](goss_comm_t comm, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    std::vector<float>& x = all.x[at];
    std::vector<float> g(kCount);
    const auto make = [&](const std::string& state) {
      goss_sync_t sync = nullptr;
      EXPECT_OK(goss_sync_create(comm, spec.c_str(), &sync));
      goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
      tensor.name = "x";
      tensor.parameter = x.data();
      tensor.gradient = g.data();
      tensor.count = kCount;
      EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
      if (!state.empty()) EXPECT_OK(goss_sync_import(sync, state.data(), state.size()));
      EXPECT_OK(goss_sync_start(sync));
      return sync;
    };
    goss_sync_t sync = make("");
    for (int step = 0; step < kStepsOfTuning; ++step) {
      if (step == from) {
        const std::string state = exported(sync);
        EXPECT_OK(goss_sync_destroy(sync));
        sync = make(state);
      }
      const std::string runs = trialsOf(sync)["runs"];
      double distance = 0, length = 0;
      for (std::size_t i = 0; i < kCount; ++i)
        g[i] = gradientAt(rank, step, i);
      EXPECT_OK(goss_sync_gradients(sync));
      for (std::size_t i = 0; i < kCount; ++i) {
        double mean = 0;
        for (int other = 0; other < kRanksOfTuning; ++other)
          mean += gradientAt(other, step, i) / kRanksOfTuning;
        distance += std::pow(g[i] - mean, 2);
        length += mean * mean;
        x[i] -= 0.01F * g[i];
      }
      if (runs.substr(0, 3) == "ddp") worst[at] = std::max(worst[at], std::sqrt(distance / length));
      EXPECT_OK(goss_sync_step_time(sync, toldSeconds(runs, rank)));
      EXPECT_OK(goss_sync_step(sync));
    }
    all.trials[at] = trialsOf(sync);
    EXPECT_OK(goss_sync_destroy(sync));
  });
  all.worst = *std::max_element(worst.begin(), worst.end());
  return all;
}

/// Trials of four steps, and an error of at most 1 %.
sync::Tuning shortTrials() {
  sync::Tuning tuning;
  tuning.budget = 0.01;
  tuning.steps = 4;
  tuning.check = 5;
  tuning.seed = 1;
  return tuning;
}

TEST(Autotune, ChoosesTheFastestWithinTheBudgetByToldTimesAlikeOnAllRanks) {
  const std::string spec = "auto:budget=0.02,steps=4,gossip=0,seed=3";
  const Tuned tuned = tune(spec);
  const json& trials = tuned.trials[0];
  EXPECT_EQ(trials["runs"], "ddp:bucket_kb=4096,codec=int8:block=256") << trials.dump(1);
  EXPECT_EQ(trials["settled"], 1);
  EXPECT_EQ(trials["trials"].size(), 9u) << "1 start, 3 sizes of buckets, 1 of levels, 4 codecs; " << trials.dump(1);
  for (const json& one : tuned.trials)
    EXPECT_EQ(one, trials) << "all ranks decide alike";
  for (const json& trial : trials["trials"]) {
    const std::string name = trial["spec"];
    const bool is_over = name.find("int4") != std::string::npos;
    EXPECT_EQ(trial["error"].get<double>() > 0.02, is_over) << trial.dump();
    if (is_over) {
      EXPECT_TRUE(trial["seconds"].is_null()) << "an error above the budget ends a trial";
      EXPECT_EQ(trial["kept"], 0);
    } else {
      EXPECT_NEAR(trial["seconds"].get<double>(), toldSeconds(name, 2), 1e-9) << "of the slowest rank";
    }
  }
  EXPECT_LE(tuned.worst, 0.02) << "no step had a gradient of a larger error";
  EXPECT_GT(tuned.worst, 1e-4) << "or no codec was at work";
  const Tuned again = tune(spec);
  EXPECT_EQ(again.trials[0], trials);
  EXPECT_EQ(again.x, tuned.x) << "the same bits for the same times";
  const Tuned other = tune("auto:budget=0.02,steps=4,gossip=0,seed=4");
  EXPECT_NE(other.trials[0]["trials"], trials["trials"]) << "another seed, another order";
  EXPECT_EQ(other.trials[0]["runs"], trials["runs"]) << "but the same choice";
}

TEST(Autotune, GoesOnWithTheSameBitsBehindAnImportInTheMiddleOfATrial) {
  const std::string spec = "auto:budget=0.02,steps=4,seed=3";
  const Tuned whole = tune(spec);
  for (const int from : {1, 18, 60}) {
    const Tuned resumed = tune(spec, from);
    EXPECT_EQ(resumed.trials, whole.trials) << "from step " << from;
    EXPECT_EQ(resumed.x, whole.x) << "from step " << from;
  }
}

TEST(Autotune, TriesLevelsWhereTheRanksHaveThem) {
  sync::Tuner tuner(shortTrials());
  tuner.setLevels(true);
  for (int step = 0; step < 80; ++step) {
    const std::string runs = tuner.spec();
    if (tuner.measures()) tuner.noteError(runs.find("int8") != std::string::npos && step > 60 ? 0.02 : 0.001);
    if (tuner.noteStep(1)) tuner.decide(runs.find("levels=2") != std::string::npos ? 0.5 : toldSeconds(runs, 2));
    if (step == 60) EXPECT_EQ(runs, "ddp:bucket_kb=4096,levels=2,codec=none") << tuner.describe();
  }
}

// A run of two nodes goes on in one.
TEST(Autotune, GoesOnWithoutLevelsWhereTheRanksNoLongerHaveThem) {
  sync::Tuning tuning;
  tuning.steps = 4;
  sync::Tuner two(tuning);
  two.setLevels(true);
  for (int step = 0; step < 200 && two.spec().find("levels=2") == std::string::npos; ++step) {
    if (two.measures()) two.noteError(0);
    if (two.noteStep(1)) two.decide(1);
  }
  ASSERT_NE(two.spec().find("levels=2"), std::string::npos);
  base::WireWriter writer;
  two.save(writer);
  const std::string saved = writer.take();
  const auto load = [&](bool has_levels) {
    sync::Tuner one(tuning);
    base::WireReader reader(saved);
    EXPECT_TRUE(one.load(reader) && reader.complete());
    one.setLevels(has_levels);
    EXPECT_EQ(one.dropLevels(), !has_levels);
    EXPECT_FALSE(one.dropLevels());
    return one;
  };
  EXPECT_EQ(load(true).spec(), two.spec());
  sync::Tuner one = load(false);
  EXPECT_EQ(one.spec(), "ddp:bucket_kb=1024,codec=none");
  for (int step = 0; step < 200; ++step) {
    if (one.measures()) one.noteError(0);
    if (one.noteStep(1)) one.decide(1);
  }
  EXPECT_NE(one.describe().find("\"settled\":1"), std::string::npos) << one.describe();
}

/// `auto` over one vector.
class OneTuned {
 public:
  /// `all`: of the ranks of a run before.
  explicit OneTuned(goss_comm_t comm, const std::string& state = "", const std::vector<std::string>& all = {})
      : x_(8), g_(8, 1) {
    EXPECT_OK(goss_sync_create(comm, "auto:steps=4", &sync));
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x_.data();
    tensor.gradient = g_.data();
    tensor.count = x_.size();
    EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
    if (!state.empty()) EXPECT_OK(goss_sync_import(sync, state.data(), state.size()));
    std::vector<const void*> bytes;
    std::vector<std::size_t> counts;
    for (const std::string& one : all) {
      bytes.push_back(one.data());
      counts.push_back(one.size());
    }
    if (!all.empty()) EXPECT_OK(goss_sync_import_all(sync, bytes.data(), counts.data(), bytes.size(), nullptr));
  }
  ~OneTuned() { EXPECT_OK(goss_sync_destroy(sync)); }
  OneTuned(const OneTuned&) = delete;
  OneTuned& operator=(const OneTuned&) = delete;

  goss_sync_t sync = nullptr;

 private:
  std::vector<float> x_, g_;
};

TEST(Autotune, RefusesStatesOfDifferentSteps) {
  runRanks(3, [&](goss_comm_t comm, int rank) {
    std::string state;
    OneTuned first(comm);
    EXPECT_OK(goss_sync_start(first.sync));
    for (int step = 0; step < 3; ++step) {
      if (step != 2 || rank != 1) state = exported(first.sync);
      EXPECT_OK(goss_sync_gradients(first.sync));
      EXPECT_OK(goss_sync_step(first.sync));
    }
    OneTuned second(comm, state);
    EXPECT_EQ(goss_sync_start(second.sync), GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("states of one step"));
    EXPECT_OK(goss_barrier(comm, nullptr, nullptr));
  });
}

TEST(Autotune, GoesOnWithItsTrialsOnAnotherNumberOfRanks) {
  std::vector<std::string> states(2);
  json before;
  runRanks(2, [&](goss_comm_t comm, int rank) {
    OneTuned one(comm);
    EXPECT_OK(goss_sync_start(one.sync));
    for (int step = 0; step < 10; ++step) {
      EXPECT_OK(goss_sync_gradients(one.sync));
      EXPECT_OK(goss_sync_step(one.sync));
    }
    states[static_cast<std::size_t>(rank)] = exported(one.sync);
    if (rank == 0) before = trialsOf(one.sync);
  });
  ASSERT_EQ(before["trials"].size(), 2u);
  runRanks(3, [&](goss_comm_t comm, int) {
    OneTuned one(comm, "", states);
    EXPECT_OK(goss_sync_start(one.sync));
    EXPECT_EQ(trialsOf(one.sync), before);
    for (int step = 0; step < 90; ++step) {
      EXPECT_OK(goss_sync_gradients(one.sync));
      EXPECT_OK(goss_sync_step(one.sync));
    }
    EXPECT_EQ(trialsOf(one.sync)["settled"], 1);
  });
}

// What a change of trials sends is on the synchronizer's own communicators.
TEST(Autotune, ItsCollectivesNeverMixWithTheCallers) {
  runRanks(2, [&](goss_comm_t comm, int rank) {
    OneTuned one(comm);
    const auto startSum = [&](std::int64_t& sum) {
      goss_request_t request = nullptr;
      EXPECT_OK(goss_all_reduce(comm, &sum, &sum, 1, GOSS_INT64, GOSS_SUM, nullptr, &request));
      return request;
    };
    for (int step = -1; step < 20; ++step) {
      std::int64_t sum = rank + 1;
      goss_request_t request = rank == 0 ? startSum(sum) : nullptr;
      if (step < 0) {
        EXPECT_OK(goss_sync_start(one.sync));
      } else {
        EXPECT_OK(goss_sync_gradients(one.sync));
        EXPECT_OK(goss_sync_step(one.sync));
      }
      if (rank == 1) request = startSum(sum);
      EXPECT_OK(goss_wait(&request, nullptr));
      ASSERT_EQ(sum, 3) << "step " << step;
    }
  });
}

// Rank 1's other thread aborts at some moment: no call goes on as if nothing had happened. A rank that has a trial's
// new communicator while another was aborted before it had it waits for that one until the deadline.
TEST(Autotune, AnAbortDuringChangesOfTrialsIsNotLost) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    runRanks(over("shm", 2, 10000), [&](goss_comm_t comm, int rank) {
      OneTuned one(comm);
      EXPECT_OK(goss_sync_start(one.sync));
      std::thread aborter([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1 + 2 * attempt));
        if (rank == 1) EXPECT_OK(goss_sync_abort(one.sync, "as the test wants"));
      });
      goss_status status = GOSS_SUCCESS;
      while (status == GOSS_SUCCESS) {
        status = goss_sync_gradients(one.sync);
        if (status == GOSS_SUCCESS) status = goss_sync_step(one.sync);
      }
      EXPECT_TRUE(status == GOSS_ERR_ABORTED || status == GOSS_ERR_TIMEOUT) << goss_last_error();
      aborter.join();
      // One rank may have waited until the deadline of the synchronizer.
      const goss_options patient = withTimeout(60000);
      EXPECT_OK(goss_barrier(comm, &patient, nullptr));
    });
  }
}

TEST(Autotune, FallsBackWhenTheErrorGrowsAboveTheBudget) {
  sync::Tuner tuner(shortTrials());
  bool grows = false;
  const auto step = [&] {
    const std::string runs = tuner.spec();
    if (tuner.measures()) {
      const bool is_coarse = runs.find("int4") != std::string::npos;
      EXPECT_EQ(tuner.noteError(is_coarse || grows ? 0.02 : 0.001), !is_coarse && !grows);
    }
    if (tuner.noteStep(1)) tuner.decide(toldSeconds(runs, 2));
  };
  for (int i = 0; i < 60; ++i)
    step();
  EXPECT_EQ(tuner.spec(), "ddp:bucket_kb=4096,codec=int8:block=256") << tuner.describe();
  grows = true;
  for (int i = 0; i < 40; ++i)
    step();
  EXPECT_EQ(tuner.spec(), "ddp:bucket_kb=4096,codec=none") << "the fastest of what is exact; " << tuner.describe();
}

TEST(Autotune, WithoutABudgetStaysExact) {
  const Tuned tuned = tune("auto:budget=0,steps=4");
  EXPECT_LT(tuned.worst, 1e-6);
  EXPECT_EQ(tuned.trials[0]["runs"], "ddp:bucket_kb=4096,codec=none");
  for (const std::vector<float>& x : tuned.x)
    EXPECT_EQ(x, tuned.x[0]);
}

// The ranks' gradients differ so much that parameters mixed with one neighbour only are soon too far from their mean.
TEST(Autotune, GossipIsTakenOnlyWhileTheRanksStayTogether) {
  const Tuned strict = tune("auto:budget=0.02,steps=4,check=4");
  EXPECT_EQ(strict.trials[0]["runs"].get<std::string>().substr(0, 4), "ddp:") << strict.trials[0].dump(1);
  const Tuned loose = tune("auto:budget=1,steps=4,check=4");
  EXPECT_EQ(loose.trials[0]["runs"].get<std::string>().substr(0, 6), "dpsgd:") << loose.trials[0].dump(1);
}

} // namespace
} // namespace goss::test

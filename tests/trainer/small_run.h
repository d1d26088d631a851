/// A run small enough for tests: a tiny model on a made-up text.
#ifndef GOSS_TESTS_TRAINER_SMALL_RUN_H_
#define GOSS_TESTS_TRAINER_SMALL_RUN_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "trainer/base/random.h"
#include "trainer/compute/cpu_ops.h"
#include "trainer/data/corpus.h"
#include "trainer/data/dataset.h"
#include "trainer/loop/replica_engine.h"
#include "trainer/loop/training_loop.h"

namespace goss::trainer {

/// 10,944 parameters.
inline TrainOptions smallOptions(std::size_t steps) {
  TrainOptions options;
  options.model = {.layers = 2, .channels = 16, .heads = 2, .context = 16, .vocab = 256};
  options.steps = steps;
  options.batch = 8;
  options.lr = 1e-2;
  options.warmup = 3;
  options.val_every = 0;
  options.val_samples = 5;
  options.sample = 0;
  return options;
}

/// Sentences of random words from a short list.
inline std::string smallText() {
  constexpr std::string_view kWords[] = {"the", "lord", "said", "unto", "and", "king", "of", "house", "went", "people"};
  std::string text;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    text += kWords[randomBelow(randomBits(1, RandomStream::sampling, 7, i), std::size(kWords))];
    text.push_back(i % 9 == 8 ? '\n' : ' ');
  }
  return text;
}

inline const Dataset& smallData() {
  static const Dataset kData(bytesToTokens(smallText()), true);
  return kData;
}

struct RunResult {
  std::vector<double> losses;
  double validation = 0;
  TrainingState state;
};

/// Trains on `group` with a backend and reports nothing.
inline RunResult runWith(Ops& ops, Group& group, const TrainOptions& options, const Dataset& data = smallData()) {
  Report report(false, "");
  ReplicaEngine engine(options, data, group, ops, report);
  TrainingLoop loop(engine);
  loop.run();
  return {loop.lossHistory(), engine.validationLoss(), engine.state()};
}

template <typename Backend = CpuOps>
RunResult runOn(Group& group, const TrainOptions& options, const Dataset& data = smallData()) {
  Backend ops;
  return runWith(ops, group, options, data);
}

inline RunResult runAlone(const TrainOptions& options) {
  SoloGroup group;
  return runOn(group, options);
}

inline void expectSameState(const TrainingState& a, const TrainingState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_TRUE(a.parameters == b.parameters);
  EXPECT_TRUE(a.first_moments == b.first_moments);
  EXPECT_TRUE(a.second_moments == b.second_moments);
}

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_SMALL_RUN_H_

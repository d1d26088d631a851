// The path of a gradient between the backward pass and the optimiser: the tree of micro-batches, and the replicas.
#include <gtest/gtest.h>

#include <memory>

#include "tests/trainer/far_ops.h"
#include "tests/trainer/reference_gpt.h"
#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/compute/cpu_ops.h"
#include "trainer/model/gradient_tree.h"

namespace goss::trainer {
namespace {

/// Sums `terms` through a tree, finished in two ranges.
std::vector<float> treeSum(const std::vector<std::vector<float>>& terms) {
  CpuOps ops;
  const std::size_t count = terms.front().size();
  GradientTree tree(ops, count, terms.size());
  for (int round = 0; round < 2; ++round) { // the second round must not see the first
    tree.reset();
    for (std::size_t k = 0; k < terms.size(); ++k) {
      std::copy(terms[k].begin(), terms[k].end(), tree.target());
      if (k + 1 < terms.size()) tree.add();
    }
    tree.finish(count / 2, count);
    tree.finish(0, count / 2);
  }
  return {tree.target(), tree.target() + count};
}

std::vector<float> plus(std::vector<float> a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] += b[i];
  return a;
}

std::vector<std::vector<float>> randomTerms(std::size_t terms) {
  std::vector<std::vector<float>> all;
  for (std::size_t k = 0; k < terms; ++k)
    all.push_back(reference::randomValues(101, k + 1));
  return all;
}

TEST(GradientTree, AddsNeighboursFirst) {
  const std::vector<std::vector<float>> t = randomTerms(8);
  EXPECT_EQ(treeSum({t[0]}), t[0]);
  EXPECT_EQ(treeSum({t[0], t[1]}), plus(t[0], t[1]));
  EXPECT_EQ(treeSum({t[0], t[1], t[2], t[3]}), plus(plus(t[0], t[1]), plus(t[2], t[3])));
  EXPECT_EQ(treeSum({t[0], t[1], t[2]}), plus(t[2], plus(t[0], t[1])));
}

TEST(GradientTree, AlignedPartsAreSubtreesOfTheWhole) {
  const std::vector<std::vector<float>> t = randomTerms(16);
  const auto part = [&](std::size_t first, std::size_t last) {
    return treeSum({t.begin() + static_cast<std::ptrdiff_t>(first), t.begin() + static_cast<std::ptrdiff_t>(last)});
  };
  EXPECT_EQ(part(0, 16), plus(part(0, 8), part(8, 16)));
  EXPECT_EQ(part(0, 16), plus(plus(part(0, 4), part(4, 8)), plus(part(8, 12), part(12, 16))));
}

/// Wants local steps, and changes what it is lent: every gradient is doubled, every parameter is halved.
class ChangingReplicas : public SoloReplicas {
 public:
  ChangingReplicas() : SoloReplicas("changing") {}
  [[nodiscard]] bool hasLocalSteps() const override { return true; }
  std::string start(std::span<const ReplicaTensor> tensors, const SavedSync&) override {
    tensors_.assign(tensors.begin(), tensors.end());
    return "";
  }
  void gradientReady(std::size_t tensor) override { ready_.push_back(tensor); }
  void gradients() override {
    for (const std::size_t tensor : ready_)
      change(tensors_[tensor].gradient, tensors_[tensor].count, 2.0f);
    ready_.clear();
  }
  void step() override {
    for (const ReplicaTensor& tensor : tensors_)
      change(tensor.parameter, tensor.count, 0.5f);
  }

 private:
  static void change(float* values, std::size_t count, float factor) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] *= factor;
  }
  std::vector<ReplicaTensor> tensors_;
  std::vector<std::size_t> ready_;
};

class ChangingGroup : public SoloGroup {
 public:
  std::shared_ptr<Replicas> synchronize(const std::string&) override { return std::make_shared<ChangingReplicas>(); }
};

TEST(Replicas, MemoryOfADeviceIsStagedThroughTheHost) {
  std::vector<TrainingState> states;
  const auto run = [&](Ops& ops) {
    ChangingGroup group;
    Report report(false, "");
    ReplicaEngine engine(smallOptions(3), smallData(), group, ops, report);
    TrainingLoop(engine).run();
    states.push_back(engine.state());
  };
  CpuOps host;
  FarOps device;
  run(host);
  run(device);
  expectSameState(states[1], states[0]);
  EXPECT_FALSE(states[0].parameters == runAlone(smallOptions(3)).state.parameters) << "or nothing was changed";
}

TEST(Replicas, TheHostTouchesNoMemoryOfADeviceFromTheFirstStepToTheSample) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(4);
  options.micro_batch = 2;
  options.val_every = 2;
  options.sample = 3;
  const RunResult host = runAlone(options);
  SoloGroup group;
  expectSameState(runOn<FarOps>(group, options).state, host.state);
  options.checkpoint = directory / "run";
  options.resume = true;
  options.time_limit_s = 1e-9; // stops after a step
  runOn<FarOps>(group, options);
  options.time_limit_s = 0;
  const RunResult resumed = runOn<FarOps>(group, options);
  EXPECT_EQ(resumed.validation, host.validation);
  expectSameState(resumed.state, host.state);
}

} // namespace
} // namespace goss::trainer

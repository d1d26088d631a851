// The path of a gradient between the backward pass and the optimiser: the tree of micro-batches and the buckets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tests/trainer/reference_gpt.h"
#include "trainer/cpu_ops.h"
#include "trainer/gradient_buckets.h"
#include "trainer/gradient_tree.h"

namespace goss::trainer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

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

/// Remembers what was started and doubles it at the wait, as two equal ranks would.
class RecordingGroup : public SoloGroup {
 public:
  void startSum(float* values, std::size_t count) override { pending_.emplace_back(values, count); }
  void waitSums() override {
    for (const auto& [values, count] : pending_) {
      for (std::size_t i = 0; i < count; ++i)
        values[i] *= 2.0f;
    }
    pending_.clear();
    reported_ = 0;
  }
  /// What was started since the last call, as (offset from `base`, count).
  std::vector<std::pair<std::ptrdiff_t, std::size_t>> newlyStarted(const float* base) {
    std::vector<std::pair<std::ptrdiff_t, std::size_t>> started;
    for (; reported_ < pending_.size(); ++reported_)
      started.emplace_back(pending_[reported_].first - base, pending_[reported_].second);
    return started;
  }
  [[nodiscard]] const std::vector<std::pair<float*, std::size_t>>& pending() const { return pending_; }

 private:
  std::vector<std::pair<float*, std::size_t>> pending_;
  std::size_t reported_ = 0;
};

TEST(GradientBuckets, LeaveFromTheEndAsSoonAsTheyAreFinal) {
  CpuOps ops;
  std::vector<float> gradient(10, 1.0f);
  RecordingGroup group;
  GradientBuckets buckets(group, ops, 10, 4 * sizeof(float));
  EXPECT_EQ(buckets.bucketCount(), 3u);
  for (int step = 0; step < 2; ++step) {
    buckets.begin(gradient.data());
    buckets.ready(7);
    EXPECT_THAT(group.newlyStarted(gradient.data()), IsEmpty()); // 7..9 is final, but its bucket begins at 6
    buckets.ready(6);
    EXPECT_THAT(group.newlyStarted(gradient.data()), ElementsAre(Pair(6, 4)));
    buckets.ready(1);
    EXPECT_THAT(group.newlyStarted(gradient.data()), ElementsAre(Pair(2, 4)));
    buckets.ready(0);
    EXPECT_THAT(group.newlyStarted(gradient.data()), ElementsAre(Pair(0, 2)));
    buckets.wait();
  }
  EXPECT_THAT(gradient, testing::Each(4.0f)); // two steps, each doubled once
}

TEST(GradientBuckets, OneCallMayStartManyAndABucketHasAtLeastOneElement) {
  CpuOps ops;
  std::vector<float> gradient(3, 1.0f);
  RecordingGroup group;
  GradientBuckets buckets(group, ops, 3, 1);
  buckets.begin(gradient.data());
  buckets.ready(0);
  EXPECT_THAT(group.newlyStarted(gradient.data()), ElementsAre(Pair(2, 1), Pair(1, 1), Pair(0, 1)));
  buckets.wait();
}

/// A backend whose memory the host must not touch, as a GPU's: only copies go in and out.
class DeviceLikeOps : public CpuOps {
 public:
  [[nodiscard]] bool isHostMemory() const override { return false; }
};

TEST(GradientBuckets, MemoryOfADeviceIsStagedThroughTheHost) {
  DeviceLikeOps ops;
  std::vector<float> gradient = {1, 2, 3, 4, 5};
  RecordingGroup group;
  GradientBuckets buckets(group, ops, 5, 2 * sizeof(float));
  buckets.begin(gradient.data());
  buckets.ready(0);
  ASSERT_EQ(group.pending().size(), 3u);
  for (const auto& [values, count] : group.pending())
    EXPECT_TRUE(std::less<>()(values, gradient.data()) || !std::less<>()(values, gradient.data() + 5));
  buckets.wait();
  EXPECT_THAT(gradient, ElementsAre(2, 4, 6, 8, 10));
}

} // namespace
} // namespace goss::trainer

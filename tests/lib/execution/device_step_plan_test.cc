// Which steps run on the device, and that streams in which they were enqueued beforehand never wait in a circle.
#include "execution/device_step_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "builtins/builtins.h"
#include "schedule/compress.h"
#include "schedule/contract.h"
#include "schedule/sample_requests.h"

namespace goss {
namespace {

/// A rank whose stream does the phases one after the other, and whose host does steps when it can.
class StreamRank {
 public:
  StreamRank(const Schedule& schedule, const DeviceStepBuffers& buffers)
      : schedule_(schedule), done_(schedule.steps.size()) {
    if (!planDeviceSteps(schedule, buffers, plan_)) plan_.phase_of.assign(schedule.steps.size(), DeviceStepPlan::kHost);
  }

  /// Messages on their way, by sender and receiver.
  using Channels = std::map<std::pair<int, int>, int>;

  /// Whether anything could be done.
  bool advance(Channels& channels) {
    bool any = false;
    for (std::uint32_t i = 0; i < done_.size(); ++i)
      any = (!plan_.isOnDevice(i) && !done_[i] && isReady(i) && runOnHost(i, channels)) || any;
    while (phase_ < plan_.phases.size() && runPhase())
      any = true;
    return any;
  }

  [[nodiscard]] bool isDone() const { return left() == 0; }
  [[nodiscard]] std::size_t left() const {
    return static_cast<std::size_t>(std::count(done_.begin(), done_.end(), false));
  }
  [[nodiscard]] const DeviceStepPlan& plan() const { return plan_; }

 private:
  [[nodiscard]] bool isReady(std::uint32_t index) const {
    const auto needs = schedule_.dependenciesOf(schedule_.steps[index]);
    return std::all_of(needs.begin(), needs.end(), [&](std::uint32_t needed) { return done_[needed]; });
  }

  bool runOnHost(std::uint32_t index, Channels& channels) {
    const Step& step = schedule_.steps[index];
    if (step.kind == StepKind::send) {
      ++channels[{schedule_.rank, step.peer}];
    } else if (step.peer >= 0) {
      int& waiting = channels[{step.peer, schedule_.rank}];
      if (waiting == 0) return false;
      --waiting;
    }
    return done_[index] = true;
  }

  /// The host opens the gate of a phase when all that its steps wait for is done, in earlier phases or on the host.
  bool runPhase() {
    std::vector<bool> before = done_;
    for (const std::uint32_t index : plan_.phases[phase_]) {
      if (!isReady(index)) {
        done_ = before;
        return false;
      }
      done_[index] = true;
    }
    ++phase_;
    return true;
  }

  const Schedule& schedule_;
  DeviceStepPlan plan_;
  std::vector<bool> done_; ///< By step.
  std::size_t phase_ = 0;
};

/// "" or what is wrong.
std::string runInStreams(const std::vector<Schedule>& schedules, const DeviceStepBuffers& buffers) {
  std::vector<StreamRank> ranks;
  for (const Schedule& schedule : schedules)
    ranks.emplace_back(schedule, buffers);
  StreamRank::Channels channels;
  for (bool any = true; any;) {
    any = false;
    for (StreamRank& rank : ranks)
      any = rank.advance(channels) || any;
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].isDone())
      return "rank " + std::to_string(r) + " waits with " + std::to_string(ranks[r].left()) + " steps";
  }
  return "";
}

TEST(DeviceStepPlan, StreamsOfAllRanksComeToTheirEnds) {
  const Catalogue catalogue = makeCatalogue();
  int with_steps = 0;
  for (const CatalogueEntry& entry : catalogue.entries()) {
    if (!schedule::canCompress(entry.collective)) continue;
    for (const int size : {1, 2, 3, 4, 5, 6, 8}) {
      for (PlanRequest request : schedule::sampleRequests(*entry.algorithm, entry.collective, size)) {
        for (const auto sums : {schedule::Sums::decoded, schedule::Sums::payloads}) {
          std::vector<Schedule> schedules;
          for (request.rank = 0; request.rank < size; ++request.rank)
            schedules.push_back(schedule::compressed(entry.algorithm->plan(request), {}, sums).schedule);
          for (const DeviceStepBuffers buffers :
               {DeviceStepBuffers{true, true, false}, DeviceStepBuffers{true, true, true},
                DeviceStepBuffers{true, false, false}, DeviceStepBuffers{false, true, false}}) {
            DeviceStepPlan plan;
            with_steps += planDeviceSteps(schedules[0], buffers, plan) ? 1 : 0;
            ASSERT_EQ(runInStreams(schedules, buffers), "")
                << schedule::nameOf(entry.collective) << ' ' << entry.algorithm->name() << ", " << size << " ranks";
          }
        }
      }
    }
  }
  EXPECT_GT(with_steps, 500);
}

/// The two-shot all-reduce: only payloads cross.
TEST(DeviceStepPlan, DirectExchangeStagesNoNumbers) {
  const Catalogue catalogue = makeCatalogue();
  PlanRequest request;
  request.size = 4;
  request.rank = 1;
  const Schedule schedule =
      schedule::compressed(catalogue.find(Collective::allReduce, "direct")->plan(request)).schedule;
  DeviceStepPlan plan;
  ASSERT_TRUE(planDeviceSteps(schedule, {true, true, true}, plan));
  EXPECT_EQ(plan.input_stays, std::vector<bool>(4, true));
  EXPECT_EQ(plan.output_stays, std::vector<bool>(4, true));
  ASSERT_EQ(plan.phases.size(), 3u) << "encode, merge, decode";
  EXPECT_EQ(plan.phases[0].size(), 3u);
  EXPECT_EQ(plan.phases[1].size(), 1u);
  EXPECT_EQ(plan.phases[2].size(), 3u);
  EXPECT_TRUE(planDeviceSteps(schedule, {true, false, true}, plan));
  EXPECT_FALSE(plan.input_stays[1]) << "its sum is made on the host";
  EXPECT_TRUE(plan.input_stays[0]) << "encoded, and nothing else";
  EXPECT_FALSE(planDeviceSteps(schedule, {false, false, true}, plan));
}

} // namespace
} // namespace goss

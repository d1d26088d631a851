// Every rule of the checker, broken once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/lib/pipeline/generated.h"

namespace goss::pipeline {
namespace {

using testing::HasSubstr;
using Kind = ActionKind;
using Order = std::vector<Action>;

Order::iterator find(Schedule& s, int rank, Kind kind, int micro_batch) {
  Order& order = s.per_rank[static_cast<std::size_t>(rank)];
  const auto found = std::find_if(order.begin(), order.end(),
                                  [&](const Action& a) { return a.kind == kind && a.micro_batch == micro_batch; });
  if (found == order.end()) ADD_FAILURE() << "no " << kindText(kind) << micro_batch << " on rank " << rank;
  return found;
}

void erase(Schedule& s, int rank, Kind kind, int micro_batch) {
  s.per_rank[static_cast<std::size_t>(rank)].erase(find(s, rank, kind, micro_batch));
}

void swapActions(Schedule& s, int rank, std::pair<Kind, int> a, std::pair<Kind, int> b) {
  std::iter_swap(find(s, rank, a.first, a.second), find(s, rank, b.first, b.second));
}

void repeat(Schedule& s, int rank, Kind kind, int micro_batch) {
  const auto at = find(s, rank, kind, micro_batch);
  const Action action = *at;
  s.per_rank[static_cast<std::size_t>(rank)].insert(at + 1, action);
}

struct Case {
  const char* name;
  const char* schedule;
  std::function<void(Schedule&)> damage;
  const char* says;
  bool recompute = false;
  int batches = 1;
};

class Broken : public testing::TestWithParam<Case> {};

TEST_P(Broken, IsRefusedByName) {
  const Case& c = GetParam();
  Schedule schedule =
      generated({.name = c.schedule, .ranks = 3, .micro_batches = 6, .batches = c.batches, .recompute = c.recompute});
  ASSERT_TRUE(check(schedule).isOk()) << check(schedule).status().text();
  c.damage(schedule);
  const Result<CheckReport> report = check(schedule);
  ASSERT_FALSE(report.isOk());
  EXPECT_THAT(report.status().text(), HasSubstr(c.says));
}

const Case kCases[] = {
    {"Empty", "1f1b", [](Schedule& s) { s = {}; }, "is empty"},
    {"ListsOfOtherRanks", "1f1b", [](Schedule& s) { s.per_rank.pop_back(); }, "3 ranks, but 2 lists"},
    {"ChainOfAStrangeStage", "1f1b", [](Schedule& s) { s.chains[0].push_back(7); }, "a chain names stage 7"},
    {"StageInNoChain", "1f1b", [](Schedule& s) { s.chains[0].pop_back(); }, "stage 2 is in 0 chains"},
    {"StageOnAStrangeRank", "1f1b", [](Schedule& s) { s.stage_rank[1] = 3; }, "stage 1 is on rank 3"},
    {"StrangeStage", "1f1b", [](Schedule& s) { s.per_rank[0][0].stage = 9; }, "a stage that does not exist"},
    {"StrangeMicroBatch", "1f1b", [](Schedule& s) { s.per_rank[0][0].micro_batch = 6; },
     "a micro-batch that does not exist"},
    {"StageOfAnotherRank", "1f1b", [](Schedule& s) { s.per_rank[0][0].stage = 1; }, "about a stage of rank 1"},
    {"WrongChain", "1f1b", [](Schedule& s) { s.per_rank[0][0].chain = 1; }, "says chain 1"},
    {"ForwardTwice", "1f1b", [](Schedule& s) { repeat(s, 1, Kind::forward, 2); }, "1F2 is done twice"},
    {"BackwardTwice", "1f1b", [](Schedule& s) { repeat(s, 1, Kind::backward, 2); }, "second backward"},
    {"WeightTwice", "zb-h1", [](Schedule& s) { repeat(s, 1, Kind::backwardWeight, 2); }, "1W2 is done twice"},
    {"WholeAndHalfBackward", "zb-h1", [](Schedule& s) { find(s, 1, Kind::backwardWeight, 2)->kind = Kind::backward; },
     "second backward"},
    {"ForwardMissing", "1f1b", [](Schedule& s) { erase(s, 2, Kind::forward, 2); }, "2B2 comes before its forward"},
    {"BackwardMissing", "1f1b", [](Schedule& s) { erase(s, 0, Kind::backward, 2); },
     "before the gradient of micro-batch 2"},
    {"WeightMissing", "zb-h1", [](Schedule& s) { erase(s, 0, Kind::backwardWeight, 2); },
     "before the gradient of micro-batch 2"},
    {"WeightBeforeInput", "zb-h1",
     [](Schedule& s) {
       swapActions(s, 0, {Kind::backwardInput, 2}, {Kind::backwardWeight, 2});
     },
     "comes before the gradient of the input"},
    {"BackwardBeforeForward", "1f1b",
     [](Schedule& s) {
       swapActions(s, 2, {Kind::forward, 2}, {Kind::backward, 2});
     },
     "comes before its forward"},
    {"RecomputeBeforeForward", "1f1b",
     [](Schedule& s) {
       swapActions(s, 2, {Kind::forward, 2}, {Kind::recompute, 2});
     },
     "comes before its forward", true},
    {"RecomputeTwice", "1f1b", [](Schedule& s) { repeat(s, 2, Kind::recompute, 2); }, "is done twice", true},
    {"RecomputeTooLate", "1f1b",
     [](Schedule& s) {
       swapActions(s, 2, {Kind::recompute, 2}, {Kind::backward, 2});
     },
     "comes before its recomputation", true},
    {"InputNotReceived", "1f1b",
     [](Schedule& s) {
       swapActions(s, 1, {Kind::recvForward, 2}, {Kind::forward, 2});
     },
     "before its input is received"},
    {"GradientNotReceived", "1f1b",
     [](Schedule& s) {
       swapActions(s, 1, {Kind::recvBackward, 2}, {Kind::backward, 2});
     },
     "before the gradient of its output is received"},
    {"SentTooEarly", "1f1b",
     [](Schedule& s) {
       swapActions(s, 0, {Kind::sendForward, 2}, {Kind::forward, 2});
     },
     "0SEND_F2 comes before its forward"},
    {"GradientSentTooEarly", "1f1b",
     [](Schedule& s) {
       swapActions(s, 1, {Kind::sendBackward, 2}, {Kind::backward, 2});
     },
     "before its backward"},
    {"NotSent", "1f1b", [](Schedule& s) { erase(s, 0, Kind::sendForward, 5); }, "has no send of the output"},
    {"GradientNotSent", "1f1b", [](Schedule& s) { erase(s, 2, Kind::sendBackward, 5); }, "has no send of the input's"},
    {"SentTwice", "1f1b", [](Schedule& s) { repeat(s, 0, Kind::sendForward, 2); }, "is done twice"},
    {"SentOffTheEnd", "1f1b", [](Schedule& s) { find(s, 0, Kind::sendForward, 2)->kind = Kind::sendBackward; },
     "no other rank at its other end"},
    {"OtherOrderAtTheReceiver", "gpipe",
     [](Schedule& s) { // the sender delays one message beyond the next
       const auto at = find(s, 0, Kind::sendForward, 4);
       std::rotate(at, at + 1, find(s, 0, Kind::sendForward, 5) + 1);
     },
     "is not the one that is received there"},
    {"Deadlock", "1f1b",
     // Rank 0 asks for the gradient of micro-batch 0 before it sends that micro-batch's activations.
     [](Schedule& s) {
       Order& order = s.per_rank[0];
       const auto at = find(s, 0, Kind::recvBackward, 0);
       std::rotate(order.begin(), at, at + 1);
     },
     "deadlocks: rank 0"},
    {"OtherWeights", "pipedream", [](Schedule& s) { ++find(s, 0, Kind::backward, 3)->version; },
     "its forward used version"},
    {"WeightsOfTheFuture", "pipedream",
     [](Schedule& s) {
       find(s, 1, Kind::forward, 3)->version = 6;
       find(s, 1, Kind::backward, 3)->version = 6;
     },
     "is not made yet"},
    {"StepTooEarly", "1f1b",
     [](Schedule& s) {
       swapActions(s, 0, {Kind::backward, 5}, {Kind::step, 5});
     },
     "before the gradient of micro-batch 5"},
    {"StepOfAStrangeVersion", "1f1b", [](Schedule& s) { find(s, 0, Kind::step, 5)->version = 4; },
     "makes version 4 of the weights, but the next is 1"},
    {"StepOfOtherMicroBatches", "2bw", [](Schedule& s) { find(s, 0, Kind::step, 5)->micro_batch = 4; },
     "would also take the gradient of micro-batch 5", false, 2},
    {"ReduceTooEarly", "1f1b",
     [](Schedule& s) {
       swapActions(s, 0, {Kind::backward, 5}, {Kind::reduce, 5});
     },
     "before the gradient of micro-batch 5"},
    {"NoStep", "1f1b", [](Schedule& s) { erase(s, 0, Kind::step, 5); }, "no step of stage 0 takes the gradient"},
};

INSTANTIATE_TEST_SUITE_P(Rules, Broken, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& c) { return std::string(c.param.name); });

TEST(Limits, OfActivationsAndVersionsAreKept) {
  const Schedule s = generated("1f1b", 4, 8);
  EXPECT_TRUE(check(s, {.activations = 4}).isOk());
  EXPECT_THAT(check(s, {.activations = 3}).status().text(),
              HasSubstr("4 activations are held, more than the limit of 3"));
  const Schedule stashed = generated("pipedream", 4, 8);
  EXPECT_TRUE(check(stashed, {.versions = 4}).isOk());
  EXPECT_THAT(check(stashed, {.versions = 3}).status().text(), HasSubstr("4 versions of the weights"));
}

/// Two ranks, two replicas of the model that run in opposite directions, one micro-batch each.
Schedule bidirectional() {
  Schedule s;
  s.ranks = 2;
  s.micro_batches = 2;
  s.chains = {{0, 1}, {2, 3}};
  s.stage_rank = {0, 1, 1, 0};
  const auto a = [](Kind kind, int chain, int stage) {
    return Action{kind, static_cast<std::uint8_t>(chain), static_cast<std::uint16_t>(stage), chain, 0};
  };
  s.per_rank = {{a(Kind::forward, 0, 0), a(Kind::forward, 1, 3), a(Kind::backward, 1, 3), a(Kind::backward, 0, 0)},
                {a(Kind::forward, 1, 2), a(Kind::forward, 0, 1), a(Kind::backward, 0, 1), a(Kind::backward, 1, 2)}};
  EXPECT_TRUE(addMessages(s).isOk());
  for (int stage = 0; stage < 4; ++stage) {
    Order& order = s.per_rank[static_cast<std::size_t>(s.stage_rank[static_cast<std::size_t>(stage)])];
    Action step = a(Kind::step, stage / 2, stage);
    step.version = 1;
    order.push_back(step);
  }
  return s;
}

TEST(Chains, AMicroBatchRunsInOneOfThem) {
  Schedule s = bidirectional();
  EXPECT_TRUE(check(s).isOk()) << check(s).status().text();
  for (Action& action : s.per_rank[0]) {
    if (action.stage == 3) action.micro_batch = 0;
  }
  EXPECT_THAT(check(s).status().text(), HasSubstr("runs in chain 0 and in chain 1"));
}

TEST(Requests, ThatMakeNoSenseAreRefused) {
  const auto refusal = [](const Request& request) { return generate(request).status().text(); };
  EXPECT_THAT(refusal({.name = "zb-h3"}), HasSubstr("no pipeline schedule 'zb-h3'; there are: gpipe, 1f1b"));
  EXPECT_THAT(refusal({.name = "1f1b", .ranks = 0}), HasSubstr("not 0"));
  EXPECT_THAT(refusal({.name = "1f1b", .micro_batches = 0}), HasSubstr("micro-batches"));
  EXPECT_THAT(refusal({.name = "1f1b", .micro_batches = 1 << 20, .batches = 1 << 20}), HasSubstr("micro-batches"));
  EXPECT_THAT(refusal({.name = "interleaved", .ranks = 4, .micro_batches = 6}), HasSubstr("6 is no multiple of 4"));
  EXPECT_THAT(refusal({.name = "interleaved", .chunks = 0}), HasSubstr("0 stages a rank"));
  EXPECT_THAT(refusal({.name = "2bw", .ranks = 4, .micro_batches = 3}), HasSubstr("3 is less than 4"));
}

TEST(Generators, PassTheCheckerAtOddSizes) {
  for (const std::string& name : scheduleNames()) {
    for (const int ranks : {1, 2, 3, 11, 24}) {
      for (const int micro_batches : {1, 2, 5, 24, 33}) {
        const Request request{.name = name, .ranks = ranks, .micro_batches = micro_batches, .batches = 2};
        const Result<Schedule> schedule = generate(request);
        if (!schedule.isOk()) { // only for the two reasons that these names have
          EXPECT_TRUE(name == "interleaved" || name == "2bw") << schedule.status().text();
          continue;
        }
        const Result<CheckReport> report = check(schedule.value());
        EXPECT_TRUE(report.isOk()) << name << " " << ranks << " " << micro_batches << ": " << report.status().text();
      }
    }
  }
}

} // namespace
} // namespace goss::pipeline

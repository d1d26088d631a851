// CSV, pictures, and the parts of the simulator that the closed forms do not touch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/csv.h"
#include "pipeline/timeline.h"
#include "tests/lib/pipeline/generated.h"

namespace goss::pipeline {
namespace {

using testing::HasSubstr;

TEST(Csv, IsThatOfTorchDistributedPipelining) {
  const Schedule s = generated("1f1b", 2, 3);
  EXPECT_EQ(writeCsv(s, false).value(), "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(writeCsv(generated("zb-h1", 2, 2), false).value(), "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
  EXPECT_THAT(writeCsv(s, true).value(), HasSubstr("0F0,0SEND_F0,"));
  EXPECT_THAT(writeCsv(s, true).value(), HasSubstr("1REDUCE_GRAD2,1STEP2@1\n"));
}

TEST(Csv, ReadsWhatItWrote) {
  for (const std::string& name : scheduleNames()) {
    const Schedule s = generated({.name = name, .ranks = 4, .micro_batches = 8, .batches = 2, .recompute = true});
    const Result<Schedule> complete = readCsv(writeCsv(s, true).value());
    ASSERT_TRUE(complete.isOk()) << name << ": " << complete.status().text();
    EXPECT_EQ(complete.value().per_rank, s.per_rank) << name;
    EXPECT_EQ(complete.value().stage_rank, s.stage_rank) << name;
  }
}

TEST(Csv, ComputationsGetTheirMessagesAndSteps) {
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"}) {
    const Schedule s = generated(name, 4, 8);
    const Result<Schedule> read = readCsv(writeCsv(s, false).value());
    ASSERT_TRUE(read.isOk()) << name << ": " << read.status().text();
    EXPECT_EQ(read.value().per_rank, s.per_rank) << name;
  }
}

TEST(Csv, ToleratesEmptyCellsSpacesAndPlainReductions) {
  const Result<Schedule> read = readCsv("0F0, ,0B0,0REDUCE_GRAD\r\n\n,1F0,1B0\n");
  ASSERT_TRUE(read.isOk()) << read.status().text();
  EXPECT_EQ(writeCsv(read.value(), false).value(), "0F0,0B0\n1F0,1B0\n");
}

TEST(Csv, WhatIsNotAScheduleIsRefused) {
  const auto refusal = [](const char* text) { return readCsv(text).status().text(); };
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("0F0,hello\n"), HasSubstr("row 0, cell 1: 'hello'"));
  for (const char* cell :
       {"F0", "0F", "0Q1", "99999F0", "0F99999999", "0F0@", "0F0x", "-1F0", "0F-1", "(0F1;1B0)OVERLAP_F_B"})
    EXPECT_THAT(refusal(cell), HasSubstr("row 0, cell 0")) << cell;
  EXPECT_THAT(refusal("0F0,0B0\n2F0,2B0\n"), HasSubstr("stage 1 has no action"));
  EXPECT_THAT(refusal("0F0,0B0\n , \n"), HasSubstr("row 1 has no action"));
  EXPECT_THAT(refusal("0F0,0B0,1F0\n1B0\n"), HasSubstr("a stage of rank 0"));
  EXPECT_THAT(refusal("0B0,0F0\n"), HasSubstr("before its forward"));
  EXPECT_THAT(refusal("0B0,0F0\n1F0,1B0\n"), HasSubstr("wait for each other"));
  EXPECT_THAT(refusal("0F16777214,0B16777214\n"), HasSubstr("2 actions are too few for 16777215 micro-batches"))
      << "before tables of that size are made";
  Schedule two = generated("1f1b", 2, 2);
  two.chains.push_back({});
  EXPECT_THAT(writeCsv(two, true).status().text(), HasSubstr("one chain"));
}

PipelineCosts linkedCosts() {
  StageCost cost;
  cost.activation_bytes = 100;
  cost.boundary_bytes = 10;
  return {{cost}, {.latency_s = 0.5, .bandwidth_bytes_per_s = 20}};
}

TEST(Simulator, LinksDelayAndCount) {
  // F on both stages, B on both, two hops of 10 / 20 + 0.5 seconds.
  const Result<Simulation> simulation = simulate(generated("1f1b", 2, 1), linkedCosts());
  ASSERT_TRUE(simulation.isOk());
  EXPECT_DOUBLE_EQ(simulation.value().makespan_s, 1 + 1 + 1 + 2 + 1 + 2);
  EXPECT_DOUBLE_EQ(simulation.value().bubble_s, 1 + 1 + 2 + 1);
  EXPECT_DOUBLE_EQ((simulation.value().link_bytes.at({0, 1})), 10);
  EXPECT_DOUBLE_EQ((simulation.value().link_bytes.at({1, 0})), 10);
}

TEST(Simulator, MessagesOfALinkFollowOneAnother) {
  PipelineCosts costs = linkedCosts();
  costs.stages[0].forward_s = 0.25; // two messages are ready after 0.25 s and 0.5 s, each takes 0.5 s of the link
  const Result<Simulation> simulation = simulate(generated("gpipe", 2, 2), costs);
  ASSERT_TRUE(simulation.isOk());
  EXPECT_DOUBLE_EQ(simulation.value().events[1][0].start_s, 0.25 + 0.5 + 0.5);
  EXPECT_DOUBLE_EQ(simulation.value().events[1][1].start_s, 0.25 + 1.0 + 0.5);
}

TEST(Simulator, RecomputationHoldsInputsInsteadOfActivations) {
  const Request request{.name = "gpipe", .ranks = 2, .micro_batches = 4};
  Request lean = request;
  lean.recompute = true;
  EXPECT_DOUBLE_EQ(simulate(generated(request), linkedCosts()).value().peak_bytes[0], 4 * 100);
  EXPECT_DOUBLE_EQ(simulate(generated(lean), linkedCosts()).value().peak_bytes[0], 3 * 10 + 100);
  EXPECT_EQ(check(generated(lean)).value().peak_activations, (std::vector<int>{1, 1}));
}

TEST(Simulator, CostsThatMakeNoSenseAreRefused) {
  const Schedule s = generated("1f1b", 3, 3);
  EXPECT_THAT(simulate(s, {{StageCost{}, StageCost{}}, {}}).status().text(), HasSubstr("2 stage costs"));
  StageCost negative;
  negative.forward_s = -1;
  EXPECT_THAT(simulate(s, {{negative}, {}}).status().text(), HasSubstr("not negative"));
}

TEST(Timeline, ShowsTheSlowestPathOfATextbookPicture) {
  const Schedule s = generated("zb-h1", 2, 2);
  const Simulation simulation = simulate(s, {{StageCost{}}, {}}).take();
  EXPECT_EQ(renderText(s, simulation),
            "rank 0   F0 F1 .  I0 W0 I1 W1 \n"
            "rank 1   .  F0 I0 F1 I1 W0 W1 \n");
  const std::string svg = renderSvg(s, simulation);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr(">W1</text>"));
}

TEST(Timeline, MarksTheLaterStagesOfARankAndLongActions) {
  const Schedule s = generated({.name = "interleaved", .ranks = 1, .micro_batches = 1, .chunks = 2});
  const Simulation simulation = simulate(s, {{StageCost{}}, {}}).take();
  EXPECT_EQ(renderText(s, simulation), "rank 0   F0 f0 b0--- B0--- \n");
}

} // namespace
} // namespace goss::pipeline

// The record of a run, its reports and comparisons.
#include "trainer/run/run_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/run/chart.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RunCard someCard() {
  RunCard card;
  card.settings = R"({"steps":3})";
  card.sync = "diloco:h=2";
  card.ranks = 4;
  card.first_step = 5;
  card.tokens_per_step = 100;
  card.losses = {3, 2.5, 2.25};
  card.step_seconds = {1, 0.5, 0.5};
  card.validation = {{6, 3.5}, {8, 2.75}};
  card.exchanged_bytes = 3 << 20;
  card.wire_bytes = 3 << 19;
  card.setup_bytes = 1 << 19;
  card.checkpoint_bytes = 7;
  card.message_bytes = 9;
  card.checkpoint_bytes_received = 11;
  card.message_bytes_received = 13;
  card.waited_s = 0.5;
  return card;
}

TEST(RunCard, ComesBackFromItsFileAsItWas) {
  const TemporaryDirectory directory;
  const RunCard card = someCard();
  writeRun(directory / "run", card);
  const RunCard read = readRun(directory / "run");
  EXPECT_EQ(read.settings, card.settings);
  EXPECT_EQ(read.sync, card.sync);
  EXPECT_EQ(read.ranks, card.ranks);
  EXPECT_EQ(read.first_step, card.first_step);
  EXPECT_EQ(read.losses, card.losses);
  EXPECT_EQ(read.step_seconds, card.step_seconds);
  EXPECT_EQ(read.validation, card.validation);
  EXPECT_EQ(read.exchanged_bytes, card.exchanged_bytes);
  EXPECT_EQ(read.wire_bytes, card.wire_bytes);
  EXPECT_EQ(read.setup_bytes, card.setup_bytes);
  EXPECT_EQ(read.checkpoint_bytes, card.checkpoint_bytes);
  EXPECT_EQ(read.message_bytes, card.message_bytes);
  EXPECT_EQ(read.checkpoint_bytes_received, card.checkpoint_bytes_received);
  EXPECT_EQ(read.message_bytes_received, card.message_bytes_received);
  EXPECT_EQ(read.waited_s, card.waited_s);
  EXPECT_EQ(read.tokensPerSecond(), 150);
  EXPECT_EQ(read.utilisation(), 0.75);
}

TEST(RunCard, ReportAndTableShowWhatMatters) {
  const TemporaryDirectory directory;
  writeRun(directory / "run", someCard());
  EXPECT_THAT(readBytes(directory / "run/report.md"), AllOf(HasSubstr("loss.svg"), HasSubstr("\"steps\": 3")));
  EXPECT_THAT(compareTable({"mine"}, {someCard()}),
              HasSubstr("| mine | `diloco:h=2` | 4 | 3 | 2.2500 | 2.7500 | 150 | 3.00 | 1.00 | 0.50 | 75 % |"));
}

TEST(RunCard, DamagedFilesAreRefusedByName) {
  const TemporaryDirectory directory;
  writeRun(directory / "run", someCard());
  writeBytes(directory / "run/run.json", "{\"format\": 3}");
  EXPECT_THAT(errorOf([&] { readRun(directory / "run"); }),
              AllOf(HasSubstr(directory / "run/run.json"), HasSubstr("another format")));
  EXPECT_THAT(errorOf([&] { readRun(directory / "none"); }), HasSubstr("No such file"));
}

TEST(RunCard, ATrainedRunWritesOne) {
  const TemporaryDirectory directory;
  TrainOptions options = smallOptions(4);
  options.run = directory / "run";
  const RunResult result = runAlone(options);
  const RunCard card = readRun(options.run);
  EXPECT_EQ(card.losses, result.losses);
  EXPECT_EQ(card.tokens_per_step, options.batch * options.model.context);
  EXPECT_EQ(card.validation.back().second, result.validation);
}

TEST(Chart, DrawsEveryLineBetweenItsAxes) {
  const std::string svg = renderChart("a < b", "step", {{"one", {0, 1}, {2, 4}}, {"two", {0, 1}, {4, 2}}});
  EXPECT_THAT(svg, AllOf(HasSubstr("a &lt; b"), HasSubstr("points=\"60.0,350.0 700.0,40.0 \""),
                         HasSubstr("points=\"60.0,40.0 700.0,350.0 \"")));
  EXPECT_THAT(renderChart("empty", "step", {}), HasSubstr("</svg>"));
}

} // namespace
} // namespace goss::trainer

#include "trainer/run/run_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tools/commandline/command_line.h"
#include "trainer/base/error.h"
#include "trainer/files/file_io.h"
#include "trainer/run/chart.h"

namespace goss::trainer {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "gossamer-run";
constexpr int kVersion = 1;
constexpr double kMib = 1024.0 * 1024.0;

std::string lastValidation(const RunCard& card) {
  return card.validation.empty() ? "-" : fmt::format("{:.4f}", card.validation.back().second);
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / kMib; }

ChartLine lossLine(const RunCard& card, const std::string& name) {
  ChartLine line{name, {}, card.losses};
  for (std::size_t i = 0; i < card.losses.size(); ++i)
    line.x.push_back(static_cast<double>(card.first_step + i + 1));
  return line;
}

ChartLine speedLine(const RunCard& card, const std::string& name) {
  ChartLine line = lossLine(card, name);
  for (std::size_t i = 0; i < line.y.size(); ++i)
    line.y[i] = static_cast<double>(card.tokens_per_step) / card.step_seconds[i];
  return line;
}

std::string reportOf(const RunCard& card) {
  return fmt::format(
      "# Run\n\n{}\n\n![loss](loss.svg)\n\n![tokens/s](tokens_per_s.svg)\n\nSettings:\n\n```json\n{}\n```\n",
      compareTable({"this run"}, {card}), Json::parse(card.settings).dump(2));
}

std::string readAll(const std::string& path) {
  const InputFile file(path);
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

} // namespace

double RunCard::seconds() const { return std::accumulate(step_seconds.begin(), step_seconds.end(), 0.0); }

double RunCard::tokensPerSecond() const {
  const double time = seconds();
  return time > 0 ? static_cast<double>(losses.size() * tokens_per_step) / time : 0;
}

double RunCard::utilisation() const {
  const double time = seconds();
  return time > 0 ? std::max(0.0, 1 - waited_s / time) : 1;
}

std::string summarize(const RunCard& card) {
  return fmt::format(
      "run: {} steps on {} rank{} in {:.1f} s, {:.0f} tok/s; loss {}, validation {}\n"
      "sync: {}; {:.2f} MiB exchanged, {:.2f} MiB sent by rank 0 and {:.2f} MiB at the start and end; {:.0f} % of the "
      "time not waiting for others\n"
      "beside the synchronizer rank 0 sent {:.2f} MiB and received {:.2f} MiB for checkpoints, and sent {:.2f} MiB of "
      "losses and agreements",
      card.losses.size(), card.ranks, card.ranks == 1 ? "" : "s", card.seconds(), card.tokensPerSecond(),
      card.losses.empty() ? "-" : fmt::format("{:.4f}", card.losses.back()), lastValidation(card), card.sync,
      mib(card.exchanged_bytes), mib(card.wire_bytes - card.setup_bytes), mib(card.setup_bytes),
      100 * card.utilisation(), mib(card.checkpoint_bytes), mib(card.checkpoint_bytes_received),
      mib(card.message_bytes));
}

void writeRun(const std::string& directory, const RunCard& card) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail("cannot create the run directory {}: {}", directory, error.message());
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"settings", Json::parse(card.settings)},
                     {"sync", card.sync},
                     {"ranks", card.ranks},
                     {"first_step", card.first_step},
                     {"tokens_per_step", card.tokens_per_step},
                     {"losses", card.losses},
                     {"step_seconds", card.step_seconds},
                     {"validation", card.validation},
                     {"exchanged_bytes", card.exchanged_bytes},
                     {"wire_bytes", card.wire_bytes},
                     {"edge_bytes", card.setup_bytes}, // the key of records that exist
                     {"checkpoint_bytes", card.checkpoint_bytes},
                     {"message_bytes", card.message_bytes},
                     {"checkpoint_bytes_received", card.checkpoint_bytes_received},
                     {"message_bytes_received", card.message_bytes_received},
                     {"waited_s", card.waited_s},
                     {"tokens_per_s", card.tokensPerSecond()},
                     {"utilisation", card.utilisation()}};
  replaceFile(directory + "/run.json", json.dump(1) + "\n");
  replaceFile(directory + "/loss.svg", renderChart("loss, nats a token", "step", {lossLine(card, card.sync)}));
  replaceFile(directory + "/tokens_per_s.svg", renderChart("tokens/s", "step", {speedLine(card, card.sync)}));
  replaceFile(directory + "/report.md", reportOf(card));
}

RunCard readRun(const std::string& directory) {
  const std::string path = directory + "/run.json";
  RunCard card;
  try {
    const Json json = Json::parse(readAll(path));
    if (json.at("format") != kFormat || json.at("version") != kVersion) fail("it is of another format or version");
    card.settings = json.at("settings").dump();
    card.sync = json.at("sync");
    card.ranks = json.at("ranks");
    card.first_step = json.at("first_step");
    card.tokens_per_step = json.at("tokens_per_step");
    card.losses = json.at("losses").get<std::vector<double>>();
    card.step_seconds = json.at("step_seconds").get<std::vector<double>>();
    card.validation = json.at("validation").get<std::vector<std::pair<std::size_t, double>>>();
    card.exchanged_bytes = json.at("exchanged_bytes");
    card.wire_bytes = json.at("wire_bytes");
    card.setup_bytes = json.value("edge_bytes", std::uint64_t{0}); // records from before it lack a key: 0
    card.checkpoint_bytes = json.value("checkpoint_bytes", std::uint64_t{0});
    card.message_bytes = json.value("message_bytes", std::uint64_t{0});
    card.checkpoint_bytes_received = json.value("checkpoint_bytes_received", std::uint64_t{0});
    card.message_bytes_received = json.value("message_bytes_received", std::uint64_t{0});
    if (card.setup_bytes > card.wire_bytes) fail("edge_bytes is more than wire_bytes");
    card.waited_s = json.at("waited_s");
    if (card.losses.size() != card.step_seconds.size()) fail("losses and step_seconds have different lengths");
  } catch (const std::exception& error) { // Error, or the JSON library's exception
    fail("{} is no run of goss-train: {}", path, error.what());
  }
  return card;
}

std::string compareTable(const std::vector<std::string>& names, const std::vector<RunCard>& cards) {
  std::string table =
      "| run | sync | ranks | steps | loss | validation | tokens/s | exchanged MiB | sent MiB | start and end MiB | "
      "not "
      "waiting |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const RunCard& card = cards[i];
    table += fmt::format("| {} | `{}` | {} | {} | {} | {} | {:.0f} | {:.2f} | {:.2f} | {:.2f} | {:.0f} % |\n", names[i],
                         card.sync, card.ranks, card.losses.size(),
                         card.losses.empty() ? "-" : fmt::format("{:.4f}", card.losses.back()), lastValidation(card),
                         card.tokensPerSecond(), mib(card.exchanged_bytes), mib(card.wire_bytes - card.setup_bytes),
                         mib(card.setup_bytes), 100 * card.utilisation());
  }
  return table;
}

int runCompare(int argc, const char* const* argv) {
  constexpr int kUsageError = 2;
  std::vector<std::string> directories;
  std::string out;
  CommandLine line("Compares runs of goss-train: a table, and their losses in one picture.", "goss-train compare");
  line.option("RUN", directories, "directories that --run wrote").required();
  line.option("--out", out, "directory for compare.md and compare.svg; default: only the table is printed");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status == 0 ? 0 : kUsageError;
  std::vector<RunCard> cards;
  std::vector<ChartLine> lines;
  for (const std::string& directory : directories) {
    cards.push_back(readRun(directory));
    lines.push_back(lossLine(cards.back(), directory));
  }
  const std::string table = compareTable(directories, cards);
  fmt::print("{}", table);
  if (!out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(out, error);
    replaceFile(out + "/compare.svg", renderChart("loss, nats a token", "step", lines));
    replaceFile(out + "/compare.md", table + "\n![losses](compare.svg)\n");
  }
  return 0;
}

} // namespace goss::trainer

#include "pipeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace goss::pipeline {

namespace {

/// Longer timelines are drawn with cells that stand for more time.
constexpr double kMaxCells = 4000;

double shortest(const Simulation& simulation) {
  double least = simulation.makespan_s;
  for (const auto& events : simulation.events) {
    for (const Event& event : events) {
      const double length = event.end_s - event.start_s;
      if (length > 0) least = std::min(least, length);
    }
  }
  return std::max(least, simulation.makespan_s / kMaxCells);
}

bool isLaterStage(const Schedule& schedule, const Action& action) {
  const int rank = schedule.stage_rank[action.stage];
  const auto first = std::find(schedule.stage_rank.begin(), schedule.stage_rank.end(), rank);
  return first - schedule.stage_rank.begin() != action.stage;
}

std::string labelOf(const Schedule& schedule, const Action& action) {
  char letter = action.kind == ActionKind::reduce ? '+' : kindText(action.kind)[0];
  if (isLaterStage(schedule, action)) letter = static_cast<char>(std::tolower(letter));
  return fmt::format("{}{}", letter, action.micro_batch);
}

const char* colourOf(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return "#7aa6da";
    case ActionKind::backward:
      return "#6fbf8b";
    case ActionKind::backwardInput:
      return "#8fd3a7";
    case ActionKind::backwardWeight:
      return "#e2b96f";
    case ActionKind::recompute:
      return "#c7b7e0";
    default:
      return "#c9c9c9";
  }
}

} // namespace

std::string renderText(const Schedule& schedule, const Simulation& simulation) {
  const double cell_s = shortest(simulation);
  const std::size_t width = fmt::format("{}", std::max(schedule.micro_batches - 1, 0)).size() + 2;
  std::string text;
  for (std::size_t rank = 0; rank < simulation.events.size(); ++rank) {
    std::string row;
    for (const Event& event : simulation.events[rank]) {
      if (event.end_s <= event.start_s || cell_s <= 0) continue;
      const auto first = static_cast<std::size_t>(std::llround(event.start_s / cell_s));
      const auto last = std::max(first + 1, static_cast<std::size_t>(std::llround(event.end_s / cell_s)));
      while (row.size() < first * width)
        row += fmt::format("{:<{}}", ".", width);
      std::string label = labelOf(schedule, event.action);
      label.resize((last - first) * width - 1, '-');
      row.resize(first * width);
      row += label + ' ';
    }
    text += fmt::format("rank {:<3} {}\n", rank, row);
  }
  return text;
}

std::string renderSvg(const Schedule& schedule, const Simulation& simulation) {
  constexpr double kCellWidth = 26;
  constexpr int kRowHeight = 26;
  constexpr int kMargin = 60;
  const double cell_s = shortest(simulation);
  const double scale = cell_s > 0 ? kCellWidth / cell_s : 0;
  const int height = kRowHeight * (static_cast<int>(simulation.events.size()) + 1);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{}\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      kMargin + simulation.makespan_s * scale + 10, height);
  for (std::size_t rank = 0; rank < simulation.events.size(); ++rank) {
    const int y = kRowHeight / 2 + static_cast<int>(rank) * kRowHeight;
    svg += fmt::format("<text x=\"6\" y=\"{}\">rank {}</text>\n", y + 16, rank);
    for (const Event& event : simulation.events[rank]) {
      if (event.end_s <= event.start_s) continue;
      const double x = kMargin + event.start_s * scale;
      const double width = (event.end_s - event.start_s) * scale;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{}\" "
          "stroke=\"#ffffff\"/><text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
          x, y, width, kRowHeight - 4, colourOf(event.action.kind), isLaterStage(schedule, event.action) ? 0.6 : 1.0,
          x + width / 2, y + 15, labelOf(schedule, event.action));
    }
  }
  return svg + "</svg>\n";
}

} // namespace goss::pipeline

#include "bench/suite/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

namespace goss::bench {

namespace {

constexpr double kPanelWidth = 460;
constexpr double kPanelHeight = 300;
constexpr double kLeft = 62;
constexpr double kRight = 14;
constexpr double kTop = 34;
constexpr double kBottom = 40;
constexpr const char* kColors[] = {"#1f6fb2", "#d1495b", "#3d8f5f", "#8a5fbf", "#c77f1a",
                                   "#4a4a4a", "#1fa3a3", "#b8860b", "#e377c2", "#7f9f1f"};

/// One axis: which part of a logarithmic scale is shown, and where.
class Axis {
 public:
  /// Values from `low` to `high` lie between the places `first` and `last`; steps are powers of `base`.
  Axis(double low, double high, double base, double first, double last)
      : base_(base),
        first_(first),
        last_(last),
        low_(std::floor(exponent(low))),
        high_(std::max(std::ceil(exponent(high)), low_ + 1)) {}

  [[nodiscard]] double place(double value) const {
    return first_ + (last_ - first_) * (exponent(value) - low_) / (high_ - low_);
  }
  /// Powers of the base that are shown, at most 8.
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> values;
    const double step = std::max(1.0, std::ceil((high_ - low_) / 7));
    for (double at = low_; at <= high_; at += step)
      values.push_back(std::pow(base_, at));
    return values;
  }

 private:
  [[nodiscard]] double exponent(double value) const { return std::log(value) / std::log(base_); }

  double base_, first_, last_, low_, high_;
};

std::string sizeText(double bytes) {
  constexpr std::string_view kUnits = " KMGT";
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit)
    bytes /= 1024;
  return unit == 0 ? fmt::format("{:g}", bytes) : fmt::format("{:g}{}", bytes, kUnits[unit]);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

std::string label(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

std::string gridLine(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", x1, y1, x2,
                     y2);
}

std::string draw(const Line& line, const Axis& x, const Axis& y, const char* color) {
  std::string points;
  std::string dots;
  for (const auto& [bytes, figure] : line.points) {
    points += fmt::format("{:.1f},{:.1f} ", x.place(bytes), y.place(figure));
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x.place(bytes),
                        y.place(figure), color);
  }
  return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n{}", points, color,
                     dots);
}

std::string draw(const Panel& panel, double left, double top) {
  double low = std::numeric_limits<double>::infinity(), high = 0, small = low, large = 0;
  for (const Line& line : panel.lines) {
    for (const auto& [bytes, figure] : line.points) {
      small = std::min(small, bytes), large = std::max(large, bytes);
      low = std::min(low, figure), high = std::max(high, figure);
    }
  }
  const double right = left + kPanelWidth - kRight;
  const double bottom = top + kPanelHeight - kBottom;
  const Axis x(small, large, panel.x_base, left + kLeft, right);
  const Axis y(low, high, 10, bottom, top + kTop);
  std::string svg = label(left + kLeft, top + 16, "start", panel.title, " font-weight=\"bold\"");
  for (const double tick : x.ticks())
    svg += gridLine(x.place(tick), top + kTop, x.place(tick), bottom) +
           label(x.place(tick), bottom + 15, "middle",
                 panel.x_unit == "bytes" ? sizeText(tick) : fmt::format("{:g}", tick));
  for (const double tick : y.ticks())
    svg += gridLine(left + kLeft, y.place(tick), right, y.place(tick)) +
           label(left + kLeft - 6, y.place(tick) + 4, "end", fmt::format("{:g}", tick));
  svg += label((left + kLeft + right) / 2, bottom + 32, "middle", panel.x_unit);
  svg += label(left + kLeft, top + 30, "start", panel.unit, " fill=\"#555\"");
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const char* color = kColors[i % std::size(kColors)];
    svg += draw(panel.lines[i], x, y, color);
    svg += label(right, top + 16 + 14 * static_cast<double>(i), "end", panel.lines[i].name,
                 fmt::format(" fill=\"{}\"", color).c_str());
  }
  return svg;
}

/// Latency and bandwidth of one benchmark.
struct Row {
  std::string bench;
  Panel latency;
  Panel bandwidth;
};

/// Adds what `record` says of the library `name`; `prefix` is "" or "peer_".
void add(Row& row, const Record& record, const std::string& name, const std::string& prefix) {
  const double bytes = record.number("bytes").value_or(0);
  const auto us = record.number(prefix + "us");
  if (const auto rate = record.number(prefix + "mb_per_s")) {
    row.bandwidth.add(name, bytes, *rate / 1e3);
  } else if (us) {
    row.latency.add(name, bytes, *us);
    const double ours = record.number("algbw").value_or(0) * record.number("us").value_or(0);
    row.bandwidth.add(name, bytes, *us > 0 ? ours / *us : 0);
  }
}

} // namespace

void Panel::add(const std::string& name, double x, double figure) {
  if (x <= 0 || figure <= 0) return;
  auto line = std::ranges::find(lines, name, &Line::name);
  if (line == lines.end()) line = lines.insert(line, {name, {}});
  line->points.emplace_back(x, figure);
}

std::string draw(const std::vector<std::vector<Panel>>& rows) {
  std::string body;
  std::size_t columns = 1;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    columns = std::max(columns, rows[row].size());
    for (std::size_t column = 0; column < rows[row].size(); ++column) {
      if (rows[row][column].lines.empty()) continue;
      body +=
          draw(rows[row][column], kPanelWidth * static_cast<double>(column), kPanelHeight * static_cast<double>(row));
    }
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n{2}</svg>\n",
      kPanelWidth * static_cast<double>(columns), kPanelHeight * static_cast<double>(rows.size()), body);
}

std::string plot(const std::vector<Run>& runs) {
  std::vector<Row> rows;
  std::set<std::string> dtypes;
  for (const Run& run : runs) {
    for (const Record& record : run.records)
      dtypes.insert(record.text("dtype"));
  }
  for (const Run& run : runs) {
    for (const Record& record : run.records) {
      const std::string bench = record.text("bench");
      auto row = std::ranges::find(rows, bench, &Row::bench);
      if (row == rows.end())
        row = rows.insert(row, {bench, {bench + ": latency", "us", {}}, {bench + ": bandwidth", "GB/s", {}}});
      const auto named = [&](const std::string& library) {
        return fmt::format("{}{}{}{}{}", run.name, run.name.empty() || library.empty() ? "" : ": ", library,
                           dtypes.size() > 1 ? " " : "", dtypes.size() > 1 ? record.text("dtype") : "");
      };
      const std::string codec = record.text("codec");
      add(*row, record, named(!codec.empty() ? codec : run.name.empty() ? "Gossamer" : ""), "");
      if (const std::string peer = record.text("peer"); !peer.empty()) add(*row, record, named(peer), "peer_");
    }
  }
  std::erase_if(rows, [](const Row& row) { return row.latency.lines.empty() && row.bandwidth.lines.empty(); });
  std::vector<std::vector<Panel>> panels;
  for (const Row& row : rows)
    panels.push_back({row.latency, row.bandwidth});
  return draw(panels);
}

} // namespace goss::bench

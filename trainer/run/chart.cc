#include "trainer/run/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace goss::trainer {

namespace {

constexpr double kWidth = 720, kHeight = 400, kLeft = 60, kRight = 20, kTop = 40, kBottom = 50;
constexpr int kTicks = 5;
constexpr std::array kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"};

/// The values of one axis and their range in pixels.
struct Axis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double from = 0, to = 0; // pixels

  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] double span() const { return high > low ? high - low : 1; }
  [[nodiscard]] double at(double value) const { return from + (value - low) / span() * (to - from); }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string textAt(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

std::string ticks(const Axis& x, const Axis& y) {
  std::string svg;
  for (int i = 0; i <= kTicks; ++i) {
    const double part = static_cast<double>(i) / kTicks;
    const double at_x = x.low + part * x.span(), at_y = y.low + part * y.span();
    svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kLeft,
                       kWidth - kRight, y.at(at_y), y.at(at_y));
    svg += textAt(kLeft - 6, y.at(at_y) + 4, "end", fmt::format("{:.4g}", at_y));
    svg += textAt(x.at(at_x), kHeight - kBottom + 18, "middle", fmt::format("{:.4g}", at_x));
  }
  return svg;
}

} // namespace

std::string renderChart(const std::string& title, const std::string& x_label, const std::vector<ChartLine>& lines) {
  Axis x, y;
  for (const ChartLine& line : lines) {
    for (const double value : line.x)
      x.include(value);
    for (const double value : line.y)
      y.include(value);
  }
  for (Axis* axis : {&x, &y}) {
    if (axis->low > axis->high) axis->low = axis->high = 0; // the axis has no values
  }
  x.from = kLeft, x.to = kWidth - kRight;
  y.from = kHeight - kBottom, y.to = kTop;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += textAt(kLeft, kTop - 16, "start", title) + ticks(x, y);
  svg += textAt((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", x_label);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const char* color = kColors[i % kColors.size()];
    std::string points;
    for (std::size_t k = 0; k < lines[i].x.size(); ++k) {
      if (std::isfinite(lines[i].y[k]))
        points += fmt::format("{:.1f},{:.1f} ", x.at(lines[i].x[k]), y.at(lines[i].y[k]));
    }
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", color, points);
    const double at = kTop + 16 * static_cast<double>(i);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                       kWidth - kRight - 10, at, color);
    svg += textAt(kWidth - kRight - 16, at + 10, "end", lines[i].name);
  }
  return svg + "</svg>\n";
}

} // namespace goss::trainer

/// Pictures of measurements.
#ifndef GOSS_BENCH_SUITE_PLOT_H_
#define GOSS_BENCH_SUITE_PLOT_H_

#include <string>
#include <utility>
#include <vector>

#include "bench/suite/records.h"

namespace goss::bench {

/// A line of a panel, and of its legend.
struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points; ///< Both above 0.
};

/// A picture with two logarithmic axes.
struct Panel {
  std::string title;
  std::string unit; ///< The unit of all figures of the panel.
  std::vector<Line> lines = {};
  std::string x_unit = "bytes";
  double x_base = 2; ///< The ticks of x are powers of it.

  /// Adds a point to the line `name`; one that has no logarithm is left out.
  void add(const std::string& name, double x, double figure);
};

/// An SVG of rows of panels; one without lines leaves its place empty.
std::string draw(const std::vector<std::vector<Panel>>& rows);

/// The records of one line of a picture's legend. `name` empty: the libraries that the records name.
struct Run {
  std::string name;
  std::vector<Record> records;
};

/// An SVG with latency and bandwidth over the size, both axes logarithmic: a row for every benchmark, a line for every
/// library, element type and run. Rows without a size, such as barrier's, are left out.
std::string plot(const std::vector<Run>& runs);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_PLOT_H_

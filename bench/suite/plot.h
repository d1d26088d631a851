/// Pictures of measurements.
#ifndef GOSS_BENCH_SUITE_PLOT_H_
#define GOSS_BENCH_SUITE_PLOT_H_

#include <string>
#include <vector>

#include "bench/suite/records.h"

namespace goss::bench {

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

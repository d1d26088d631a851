/// Medians.
#ifndef GOSS_LIB_BASE_MEDIAN_H_
#define GOSS_LIB_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace goss::base {

/// Returns the median of `values`, which are not empty; of an even number the lesser of the two in the middle.
inline double lowerMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// As lowerMedian(), but of an even number the greater of the two.
inline double upperMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Whether each of `values`, which are not empty, is within this factor, at least 1, of their upper median.
inline bool areNearMedian(const std::vector<double>& values, double factor) {
  const double middle = upperMedian(values);
  return std::all_of(values.begin(), values.end(),
                     [&](double value) { return value * factor >= middle && value <= factor * middle; });
}

} // namespace goss::base

#endif // GOSS_LIB_BASE_MEDIAN_H_

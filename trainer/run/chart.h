/// Line charts as SVG, for run reports.
#ifndef GOSS_TRAINER_RUN_CHART_H_
#define GOSS_TRAINER_RUN_CHART_H_

#include <string>
#include <vector>

namespace goss::trainer {

struct ChartLine {
  std::string name;
  std::vector<double> x;
  std::vector<double> y; // as many as x; those that are not finite are left out
};

/// A picture of 720 x 400 with axes from the least to the largest value, and a legend.
std::string renderChart(const std::string& title, const std::string& x_label, const std::vector<ChartLine>& lines);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_CHART_H_

/// What goss-sim prints and draws.
#ifndef GOSS_BENCH_SIM_REPORT_H_
#define GOSS_BENCH_SIM_REPORT_H_

#include <string>

#include "bench/sim/training.h"

namespace goss::bench::sim {

[[nodiscard]] std::string asText(const TrainingOptions& options, int ranks, const TrainingResult& result);
[[nodiscard]] std::string asJson(const TrainingOptions& options, int ranks, const TrainingResult& result);
/// The first ranks' time as an SVG drawing: computing, waiting, recovering.
[[nodiscard]] std::string asSvg(const TrainingOptions& options, const TrainingResult& result);

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_REPORT_H_

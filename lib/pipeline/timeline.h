/// Draws a simulated pipeline schedule.
#ifndef GOSS_LIB_PIPELINE_TIMELINE_H_
#define GOSS_LIB_PIPELINE_TIMELINE_H_

#include <string>

#include "pipeline/simulator.h"

namespace goss::pipeline {

/// One row a rank, time to the right: F0 B0 I0 W0 R0 of the rank's first stage, small letters of its later ones, dots
/// where it waits. One cell is the shortest action.
std::string renderText(const Schedule& schedule, const Simulation& simulation);

/// The same timeline as a self-contained SVG picture.
std::string renderSvg(const Schedule& schedule, const Simulation& simulation);

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_TIMELINE_H_

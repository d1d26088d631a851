/// Runs the schedules of all ranks on one number a chunk, with nothing of the checker's: what it accepts must compute
/// the right numbers here, in any order that the dependencies allow.
#ifndef GOSS_TESTS_COLLECTIVES_CONCRETE_RUN_H_
#define GOSS_TESTS_COLLECTIVES_CONCRETE_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/schedule.h"

namespace goss::collectives {

struct ConcreteMode {
  bool in_place = false;   ///< Input c and output c are one place.
  bool rendezvous = false; ///< A send ends with its receive; else channels hold any number of messages.
  std::uint64_t seed = 1;  ///< Picks the order.
};

/// "" when every output is right and no input has changed, else what is wrong. The ranges, slots and peers of the
/// schedules must exist.
std::string runConcretely(const std::vector<Schedule>& ranks, const ConcreteMode& mode);

} // namespace goss::collectives

#endif // GOSS_TESTS_COLLECTIVES_CONCRETE_RUN_H_

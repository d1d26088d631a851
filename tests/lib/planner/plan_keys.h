/// Calls as the planner's tests ask about them.
#ifndef GOSS_TESTS_LIB_PLANNER_PLAN_KEYS_H_
#define GOSS_TESTS_LIB_PLANNER_PLAN_KEYS_H_

#include <cstdint>
#include <string_view>

#include "planner/planner.h"

namespace goss::test {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = kKiB * kKiB;

/// A call with a vector, or blocks, of so many bytes; every element is a byte.
inline PlanKey bytesOf(Collective collective, std::uint64_t bytes, std::string_view algorithm = {}) {
  PlanKey key;
  key.collective = collective;
  key.count = bytes;
  key.algorithm = algorithm;
  return key;
}

} // namespace goss::test

#endif // GOSS_TESTS_LIB_PLANNER_PLAN_KEYS_H_

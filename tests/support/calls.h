/// Calls of the C ABI as tests make them.
#ifndef GOSS_TESTS_SUPPORT_CALLS_H_
#define GOSS_TESTS_SUPPORT_CALLS_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "gossamer/gossamer.h"

/// The call must succeed; where it does not, the failure of the test says goss_last_error().
#define EXPECT_OK(call) EXPECT_EQ(call, GOSS_SUCCESS) << goss_last_error()
#define ASSERT_OK(call) ASSERT_EQ(call, GOSS_SUCCESS) << goss_last_error()

namespace goss::test {

inline goss_options withTimeout(std::int64_t timeout_ms) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  return options;
}

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_CALLS_H_

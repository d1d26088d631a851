/// The smaller form that heavy tests take under sanitizers.
#ifndef GOSS_TESTS_SUPPORT_QUICK_H_
#define GOSS_TESTS_SUPPORT_QUICK_H_

#include <cstdlib>

namespace goss::test {

/// `full`, or `less` under GOSS_TEST_QUICK (sanitizers), where each byte and message costs many times as much.
template <typename T>
T fullOr(T full, T less) {
  return std::getenv("GOSS_TEST_QUICK") != nullptr ? less : full;
}

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_QUICK_H_

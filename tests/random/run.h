/// Runs programs, and compares every buffer with what a sequential program would hold.
#ifndef GOSS_TESTS_RANDOM_RUN_H_
#define GOSS_TESTS_RANDOM_RUN_H_

#include <string>

#include "tests/random/program.h"

namespace goss::test {

/// With the ranks as threads over `transport`. "" when every result is right, else what the first failure was.
std::string run(const Program& program, const std::string& transport);

/// The same where one rank's calls are altered; all ranks then reduce until they fail. "" when a rank reports the
/// mismatch, all fail, and no call that succeeds gives a wrong result.
std::string runMismatch(const Program& program, const Alteration& alteration, const std::string& transport);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_RUN_H_

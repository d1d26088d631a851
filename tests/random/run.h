/// Runs programs, and compares every buffer with what a sequential program would hold.
#ifndef GOSS_TESTS_RANDOM_RUN_H_
#define GOSS_TESTS_RANDOM_RUN_H_

#include <string>

#include "tests/random/mismatch.h"
#include "tests/random/program.h"

namespace goss::test {

/// Runs a program with the ranks as threads over `transport`. Returns "" when every result is right, else the first
/// failure.
std::string run(const Program& program, const std::string& transport);

/// As run(), where one rank's calls are altered. "" when all ranks fail, their errors say that the calls do not match
/// and name the rank with the alteration, and no call that succeeds gives a wrong result.
std::string runMismatch(const Mismatch& mismatch, const std::string& transport);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_RUN_H_

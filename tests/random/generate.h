/// From seeds to programs. The same on every machine.
#ifndef GOSS_TESTS_RANDOM_GENERATE_H_
#define GOSS_TESTS_RANDOM_GENERATE_H_

#include <cstdint>
#include <utility>

#include "tests/random/program.h"

namespace goss::test {

/// A correct program of 1 to 8 ranks.
Program generate(std::uint64_t seed);

/// A program of one thread and an alteration that makes its calls disagree.
std::pair<Program, Alteration> generateMismatch(std::uint64_t seed);

/// The steps that `rank` calls.
Lane altered(const Lane& lane, const Alteration& alteration);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_GENERATE_H_

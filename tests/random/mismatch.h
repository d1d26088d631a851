/// Programs in which one rank calls something else than the others.
#ifndef GOSS_TESTS_RANDOM_MISMATCH_H_
#define GOSS_TESTS_RANDOM_MISMATCH_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/random/program.h"

namespace goss::test {

/// The call that one rank makes in place of a step.
struct Alteration {
  enum class What : std::uint8_t {
    collective,
    count,
    zero,
    blocks,
    dtype,
    op,
    root,
    algorithm,
    swapped,
    missing,
    twice
  };
  static constexpr int kWhats = 11;

  int rank = 0; ///< World rank.
  std::size_t step = 0;
  What what = What::count;
  std::uint64_t pick = 0; ///< Selects one of the other values.

  [[nodiscard]] std::string describe() const;
};

/// A program of one thread and an alteration that makes its calls disagree. The steps are those of one communicator,
/// which may be the world or be made of it, and end with reductions that match again, but that nobody may get through:
/// at first some that read nothing from most ranks.
struct Mismatch {
  Program program;
  std::size_t closing = 0; ///< How many reductions these are.
  Alteration alteration;
  int accused = 0; ///< Number of the rank with the alteration in that communicator.

  /// The steps that `rank` calls.
  [[nodiscard]] Lane laneOf(int rank) const;
};

/// Gives the same result on every machine.
Mismatch generateMismatch(std::uint64_t seed);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_MISMATCH_H_

/// Makes programs from seeds, the same ones on every machine.
#ifndef GOSS_TESTS_RANDOM_GENERATE_H_
#define GOSS_TESTS_RANDOM_GENERATE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

#include "tests/random/program.h"

namespace goss::test {

/// Draws the parts of programs, one after the other.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  bool oneIn(std::size_t n) { return below(n) == 0; }
  template <typename T>
  T oneOf(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  /// A collective of `ranks` ranks, with the way in which it is started.
  Step collective(int ranks);
  /// Steps of any kind, on communicators that they make.
  Lane lane(int ranks, std::size_t steps);
  void addSettings(Program& program);

 private:
  std::size_t count(int ranks);
  Case call(int ranks);
  void addStart(Step& step);
  Step exchange(int ranks);

  std::mt19937_64 random_;
};

/// A correct program of 1 to 8 ranks.
Program generate(std::uint64_t seed);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_GENERATE_H_

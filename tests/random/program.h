/// A random program of all ranks as a value that follows from one seed.
#ifndef GOSS_TESTS_RANDOM_PROGRAM_H_
#define GOSS_TESTS_RANDOM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/types.h"
#include "tests/matrix/expected.h"

namespace goss::test {

/// How a call is started and waited for.
enum class Start : std::uint8_t {
  blocking,
  later,      ///< With a request; each rank waits after some of the following steps, in an order of its own.
  persistent, ///< Started twice, with other steps between start and wait as for `later`.
  grouped,    ///< Without a request between goss_group_begin and goss_group_end; neighbours share a group.
};

/// What all ranks of a communicator do next. Numbers that depend on how many ranks it has are drawn for any number, and
/// made to fit by caseFor().
struct Step {
  enum class Kind : std::uint8_t { collective, exchange, split, dup, destroy };

  Kind kind = Kind::collective;
  int comm = 0; ///< Index into the lane's communicators; split and dup append one.
  Start start = Start::blocking;
  std::size_t wait_within = 0; ///< later, persistent: steps before the last wait.

  /// collective: the call, but for `algorithm` and `blocks`. exchange: dtype, count and salt of its messages.
  Case call;
  int algorithm = -1;  ///< The planner's choice, or which of those that there are.
  bool uneven = false; ///< The v-variant.

  int shift = 1;             ///< exchange: rank r sends to rank r + shift.
  int messages = 1;          ///< exchange: with tags of their own, received in the opposite order where possible.
  bool late_receive = false; ///< exchange, later: receives are posted when they are waited for.

  int colors = 1;        ///< split: rank r gets colour r % colors.
  bool reversed = false; ///< split: ranks in the opposite order.
  int left_out = -1;     ///< split: this rank joins none.

  [[nodiscard]] std::string describe() const;
};

/// Steps of one thread, on communicators of its own.
using Lane = std::vector<Step>;

struct Program {
  std::uint64_t seed = 0;
  int ranks = 2;
  std::vector<Lane> lanes;
  std::vector<std::pair<std::string, std::string>> environment; ///< Settings for all ranks.
  int connections = 1;

  [[nodiscard]] std::string describe() const;
};

/// The call that `step` is on a communicator of so many ranks.
Case caseFor(const Step& step, int ranks);

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_PROGRAM_H_

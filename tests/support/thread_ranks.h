/// Ranks as threads of the test program, each with a world of its own, over any transport.
#ifndef GOSS_TESTS_SUPPORT_THREAD_RANKS_H_
#define GOSS_TESTS_SUPPORT_THREAD_RANKS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "gossamer/gossamer.h"
#include "tests/support/quick.h"

namespace goss::test {

struct RanksSetup {
  int ranks = 2;
  std::string transport; ///< "" as a user gets it (loopback here).
  std::string algorithm; ///< "" the planner's choice.
  std::int64_t timeout_ms = fullOr<std::int64_t>(20000, 60000);
  int connections_per_peer = 1;
  bool leave_at_once = false; ///< Each communicator is destroyed as soon as its rank's body has returned.
};

/// Ranks over `transport`. Their operations have a minute: only a failing test takes so long.
RanksSetup over(const std::string& transport, int ranks = 2, std::int64_t timeout_ms = 60000);

/// Calls body(communicator, rank) on every rank and, unless asked otherwise, destroys the communicators when all bodies
/// have returned. A rank that cannot join fails the test.
void runRanks(const RanksSetup& setup, const std::function<void(goss_comm_t comm, int rank)>& body);

/// The usual setup.
void runRanks(int ranks, const std::function<void(goss_comm_t comm, int rank)>& body);

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_THREAD_RANKS_H_

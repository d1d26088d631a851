// What ranks pay for peers to which they do not talk.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <barrier>
#include <cstdio>

#include "tests/support/calls.h"
#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

/// Bytes that this process has allocated.
double allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

/// Bytes that are allocated while so many ranks have just met.
double bytesOf(int ranks) {
  const double before = allocated();
  std::atomic<double> taken = 0;
  std::barrier met(ranks);
  runRanks(over("", ranks), [&](goss_comm_t, int rank) {
    met.arrive_and_wait();
    if (rank == 0) taken = allocated() - before;
    met.arrive_and_wait();
  });
  return taken;
}

/// Of what n ranks take, the second difference over n shows what grows with the number of pairs.
TEST(IdlePeers, OfThreadsTakeLessThanFourKibibytes) {
  if (fullOr(false, true)) GTEST_SKIP() << "sanitizers have an allocator of their own";
  constexpr int kStep = 16;
  bytesOf(kStep); // What is allocated once.
  const double few = bytesOf(kStep);
  const double more = bytesOf(2 * kStep);
  const double many = bytesOf(3 * kStep);
  const double of_peer = (many - 2 * more + few) / (2 * kStep * kStep);
  std::printf("an idle peer: %.0f bytes\n", of_peer);
  EXPECT_LT(of_peer, 4096);
}

} // namespace
} // namespace goss::test

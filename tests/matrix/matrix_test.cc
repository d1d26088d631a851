// The C ABI over every transport x ranks x collective x dtype x op x count x in-place x algorithm, with exact results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/matrix/call.h"
#include "tests/support/quick.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

/// False when it failed: the caller gives up, as the ranks are out of step.
bool check(goss_comm_t comm, Case test, int rank, int ranks) {
  test.root = static_cast<int>(test.count + static_cast<std::size_t>(test.dtype)) % ranks;
  Buffers buffers(test, rank, ranks);
  const goss_status status = call(comm, test, buffers);
  EXPECT_EQ(status, GOSS_SUCCESS) << test.describe() << ": " << goss_last_error();
  const std::string difference = buffers.difference();
  EXPECT_EQ(difference, "") << test.describe() << " on rank " << rank << " of " << ranks;
  return status == GOSS_SUCCESS && difference.empty();
}

std::vector<std::size_t> awkwardCounts(int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> counts{0, 1, p - 1, p, p + 1, 127};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

class Matrix : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
#ifdef GOSS_TEST_TLS
  /// Secured ranks find their credentials where a user's find them.
  void SetUp() override {
    if (std::get<0>(GetParam()) != "tls") return;
    credentials_.emplace();
    ::setenv("GOSS_TLS", credentials_->sharedKey().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("GOSS_TLS"); }
#endif

  [[nodiscard]] RanksSetup setup() const {
    RanksSetup setup;
    setup.transport = std::get<0>(GetParam());
    setup.ranks = std::get<1>(GetParam());
    setup.timeout_ms = 60000;
    return setup;
  }

#ifdef GOSS_TEST_TLS
 private:
  std::optional<CredentialFiles> credentials_;
#endif
};

/// Picks every case, or under GOSS_TEST_QUICK (sanitizers) one in eleven: the same ones on all ranks. Eleven does
/// not divide the length of the inner loops (counts times two), so that the picks wander over all values. Started by
/// hand, without that variable, a sanitized build runs every case.
class Sample {
 public:
  bool takeNext() { return next_++ % stride_ == 0; }

 private:
  std::size_t next_ = 0;
  std::size_t stride_ = fullOr(1u, 11u);
};

TEST_P(Matrix, EveryDtypeOpAndCount) {
  const int ranks = setup().ranks;
  runRanks(setup(), [&](goss_comm_t comm, int rank) {
    Sample sample;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
        Case test;
        test.collective = static_cast<Collective>(collective);
        test.dtype = static_cast<DType>(dtype);
        for (const ReduceOp op : legalOps(test.collective, test.dtype)) {
          for (const std::size_t count : awkwardCounts(ranks)) {
            for (const bool in_place : {false, true}) {
              test.op = op;
              test.count = count;
              test.in_place = in_place;
              if (sample.takeNext() && !check(comm, test, rank, ranks)) return;
            }
          }
        }
      }
    }
  });
}

TEST_P(Matrix, EveryAlgorithm) {
  const int ranks = setup().ranks;
  std::vector<std::vector<std::string>> algorithms;
  for (int collective = 0; collective < kCollectiveCount; ++collective)
    algorithms.push_back(algorithmsFor(static_cast<Collective>(collective), ranks));
  runRanks(setup(), [&](goss_comm_t comm, int rank) {
    Sample sample;
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      EXPECT_FALSE(algorithms[i].empty()) << abiName(static_cast<Collective>(i));
      for (const std::string& algorithm : algorithms[i]) {
        Case test;
        test.collective = static_cast<Collective>(i);
        test.algorithm = algorithm;
        std::vector<std::size_t> counts = awkwardCounts(ranks);
        counts.push_back(100003); // Several fragments and blocks, none of them even.
        for (const std::size_t count : counts) {
          for (const bool in_place : {false, true}) {
            test.dtype = count % 2 == 0 ? GOSS_FLOAT64 : GOSS_BFLOAT16;
            test.op =
                test.collective == Collective::scan || test.collective == Collective::exscan ? GOSS_SUM : GOSS_AVG;
            test.count = count;
            test.in_place = in_place;
            if (sample.takeNext() && !check(comm, test, rank, ranks)) return;
          }
        }
      }
    }
  });
}

TEST_P(Matrix, UnevenBlocks) {
  const int ranks = setup().ranks;
  runRanks(setup(), [&](goss_comm_t comm, int rank) {
    for (const std::size_t base : {0U, 1U, 5U, 3001U}) {
      // Some blocks are empty; with a gap they lie in reverse order.
      Case test;
      test.dtype = GOSS_INT32;
      for (const std::size_t gap : {0U, 2U}) {
        test.gap = gap;
        test.blocks.clear();
        for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
          test.blocks.push_back(r % 3 * base);
        test.collective = Collective::reduceScatter;
        if (!check(comm, test, rank, ranks)) return;
        for (const bool in_place : {false, true}) {
          test.collective = Collective::allGather;
          test.in_place = in_place;
          if (!check(comm, test, rank, ranks)) return;
        }
        test.collective = Collective::allToAll;
        test.in_place = false;
        test.blocks.clear();
        for (std::size_t from = 0; from < static_cast<std::size_t>(ranks); ++from) {
          for (std::size_t to = 0; to < static_cast<std::size_t>(ranks); ++to)
            test.blocks.push_back((from + 2 * to) % 4 * base);
        }
        if (!check(comm, test, rank, ranks)) return;
      }
    }
  });
}

std::string nameOfCase(const ::testing::TestParamInfo<std::tuple<std::string, int>>& test) {
  return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param)) + "ranks";
}

#ifdef GOSS_MATRIX_MPI
// As below for UCX.
INSTANTIATE_TEST_SUITE_P(Mpi, Matrix, ::testing::Combine(::testing::Values("mpi"), ::testing::Values(3)), nameOfCase);
#else
INSTANTIATE_TEST_SUITE_P(All, Matrix,
                         ::testing::Combine(::testing::Values("loopback", "shm", "tcp", "sim"),
                                            ::testing::Values(1, 2, 3, 4, 7, 8)),
                         nameOfCase);
#endif

#ifdef GOSS_TEST_TLS
// Beneath the records the links are those of tcp, whose rows are above.
INSTANTIATE_TEST_SUITE_P(Tls, Matrix, ::testing::Combine(::testing::Values("tls"), ::testing::Values(3)), nameOfCase);
#endif

#ifdef GOSS_HAVE_UCX
// The transport has a conformance suite of its own; here is to be seen that the library finds and uses it.
INSTANTIATE_TEST_SUITE_P(Ucx, Matrix, ::testing::Combine(::testing::Values("ucx"), ::testing::Values(3)), nameOfCase);
#endif

} // namespace
} // namespace goss::test

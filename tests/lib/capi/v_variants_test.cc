// V-variants refuse wrong arguments before anything is sent, and report counts on which two ranks disagree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

using Counts = std::vector<std::size_t>;

struct Blocks {
  Counts counts;
  Counts displs = {}; ///< Empty: NULL.
};

const std::size_t* orNull(const Counts& list) { return list.empty() ? nullptr : list.data(); }

goss_status allToAllv(goss_comm_t comm, std::vector<double>& send, const Blocks& out, std::vector<double>& recv,
                      const Blocks& in) {
  return goss_all_to_allv(comm, send.data(), out.counts.data(), orNull(out.displs), recv.data(), in.counts.data(),
                          orNull(in.displs), GOSS_FLOAT64, nullptr, nullptr);
}

class VVariants : public ::testing::TestWithParam<const char*> {
 protected:
  static RanksSetup setup(int ranks) {
    RanksSetup setup;
    setup.ranks = ranks;
    setup.transport = GetParam();
    return setup;
  }
};

TEST_P(VVariants, RefuseCountsToAndFromOneselfThatDiffer) {
  runRanks(setup(2), [](goss_comm_t comm, int rank) {
    std::vector<double> send(4000, 1);
    std::vector<double> recv(4000, 7);
    const auto own = static_cast<std::size_t>(rank);
    Blocks out{{5, 5}};
    Blocks in{{5, 5}};
    out.counts[own] = 10;
    in.counts[own] = 1000;
    EXPECT_EQ(allToAllv(comm, send, out, recv, in), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("sends 10 elements to itself, but receives 1000"));
    std::swap(out.counts[own], in.counts[own]);
    EXPECT_EQ(allToAllv(comm, send, out, recv, in), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(recv, std::vector<double>(4000, 7)) << "nothing was received";
    in.counts[own] = out.counts[own] = 10;
    EXPECT_EQ(allToAllv(comm, send, out, recv, in), GOSS_SUCCESS) << "the communicator is as it was";
  });
}

TEST_P(VVariants, RefuseSizesThatOverflow) {
  runRanks(setup(2), [](goss_comm_t comm, int) {
    std::vector<double> send(8, 1);
    std::vector<double> recv(8, 7);
    const Blocks good{{2, 2}};
    for (const std::size_t huge :
         {(std::size_t{1} << 59) + 1, std::size_t{1} << 61, std::size_t{1} << 62, SIZE_MAX - 1}) {
      for (const Blocks& bad :
           {Blocks{{2, huge}}, Blocks{{huge, 2}}, Blocks{{2, 2}, {0, huge}}, Blocks{{2, 0}, {0, huge}}}) {
        EXPECT_EQ(allToAllv(comm, send, bad, recv, bad), GOSS_ERR_INVALID_ARGUMENT) << huge;
        EXPECT_EQ(allToAllv(comm, send, good, recv, {{2, 2}, {huge, 0}}), GOSS_ERR_INVALID_ARGUMENT) << huge;
        EXPECT_EQ(goss_all_gatherv(comm, send.data(), recv.data(), bad.counts.data(), orNull(bad.displs), GOSS_FLOAT64,
                                   nullptr, nullptr),
                  GOSS_ERR_INVALID_ARGUMENT)
            << huge;
        if (!bad.displs.empty()) continue;
        EXPECT_EQ(goss_reduce_scatterv(comm, send.data(), recv.data(), bad.counts.data(), GOSS_FLOAT64, GOSS_SUM,
                                       nullptr, nullptr),
                  GOSS_ERR_INVALID_ARGUMENT)
            << huge;
      }
    }
    EXPECT_EQ(recv, std::vector<double>(8, 7));
    EXPECT_EQ(allToAllv(comm, send, good, recv, good), GOSS_SUCCESS) << goss_last_error();
  });
}

TEST_P(VVariants, RefuseBlocksThatOverlapInRecv) {
  runRanks(setup(3), [](goss_comm_t comm, int rank) {
    std::vector<double> send(16, rank);
    std::vector<double> recv(16, 7);
    const Counts counts{3, 3, 3};
    for (const Counts& displs : {Counts{0, 2, 8}, Counts{8, 3, 1}, Counts{4, 4, 4}}) {
      EXPECT_EQ(goss_all_gatherv(comm, send.data(), recv.data(), counts.data(), displs.data(), GOSS_FLOAT64, nullptr,
                                 nullptr),
                GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(goss_last_error(), HasSubstr("overlap"));
      EXPECT_EQ(allToAllv(comm, send, {counts}, recv, {counts, displs}), GOSS_ERR_INVALID_ARGUMENT);
    }
    // Send blocks may overlap, and empty blocks may lie anywhere.
    EXPECT_EQ(allToAllv(comm, send, {counts, {0, 0, 1}}, recv, {counts, {6, 3, 0}}), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(recv[6], 0);
    EXPECT_EQ(recv[3], 1);
    EXPECT_EQ(recv[0], 2);
    const Counts some{3, 0, 3};
    const Counts touching{0, 1, 3};
    EXPECT_EQ(
        goss_all_gatherv(comm, send.data(), recv.data(), some.data(), touching.data(), GOSS_FLOAT64, nullptr, nullptr),
        GOSS_SUCCESS)
        << goss_last_error();
  });
}

/// Only a message tells.
TEST_P(VVariants, FailWhereRanksDisagreeOnCounts) {
  for (const std::size_t sent : {std::size_t{0}, std::size_t{10}, std::size_t{4000}}) {
    for (const std::size_t received : {std::size_t{0}, std::size_t{12}, std::size_t{3000}}) {
      if (sent == received) continue;
      runRanks(setup(2), [&](goss_comm_t comm, int rank) {
        std::vector<double> send(8000, 1);
        std::vector<double> recv(8000, 7);
        const Blocks out{rank == 0 ? Counts{5, sent} : Counts{5, 5}};
        const Blocks in{rank == 0 ? Counts{5, 5} : Counts{received, 5}};
        goss_status status = allToAllv(comm, send, out, recv, in);
        for (int i = 0; i < 3 && status == GOSS_SUCCESS; ++i) // A rank may end its part before it can know.
          status = goss_barrier(comm, nullptr, nullptr);
        EXPECT_THAT(status, AnyOf(GOSS_ERR_MISMATCH, GOSS_ERR_TRUNCATED)) << sent << " to " << received;
        const std::size_t room = rank == 0 ? 10 : received + 5;
        EXPECT_EQ(std::count(recv.begin() + static_cast<std::ptrdiff_t>(room), recv.end(), 7), recv.size() - room)
            << "foreign elements";
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Over, VVariants, ::testing::Values("loopback", "shm", "tcp"),
                         [](const auto& at) { return std::string(at.param); });

} // namespace
} // namespace goss::test

// Ranks that are the processes of one mpirun, in place of tests/support/thread_ranks.cc. Every test runs in all of
// them.
#include <gtest/gtest.h>
#include <mpi.h>

#include "gossamer/gossamer_mpi.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {

void runRanks(const RanksSetup& setup, const std::function<void(goss_comm_t, int)>& body) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ASSERT_EQ(ranks, setup.ranks);
  goss_config config;
  ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS) << goss_last_error();
  config.timeout_ms = setup.timeout_ms;
  config.bootstrap_timeout_ms = 30000;
  config.transport = setup.transport.c_str();
  goss_comm_t comm = nullptr;
  ASSERT_EQ(goss_comm_create_from_mpi(MPI_COMM_WORLD, &config, &comm), GOSS_SUCCESS) << goss_last_error();
  const char* used = nullptr;
  EXPECT_EQ(goss_comm_transport(comm, (rank + 1) % ranks, &used), GOSS_SUCCESS) << goss_last_error();
  EXPECT_EQ(used, setup.transport);
  body(comm, rank);
  EXPECT_EQ(goss_comm_destroy(comm), GOSS_SUCCESS);
}

} // namespace goss::test

int main(int argc, char** argv) {
  int level = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS || level < MPI_THREAD_MULTIPLE)
    return 2;
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}

#include "tests/support/thread_ranks.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace goss::test {

namespace {

void runRank(const RanksSetup& setup, const goss_unique_id& id, int rank, std::barrier<>& end,
             const std::function<void(goss_comm_t, int)>& body) {
  goss_config config;
  ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS) << goss_last_error();
  config.rank = rank;
  config.ranks = setup.ranks;
  config.unique_id = &id;
  config.timeout_ms = setup.timeout_ms;
  config.bootstrap_timeout_ms = 30000;
  config.connections_per_peer = setup.connections_per_peer;
  if (!setup.transport.empty()) config.transport = setup.transport.c_str();
  if (!setup.algorithm.empty()) config.algorithm = setup.algorithm.c_str();
  goss_comm_t comm = nullptr;
  EXPECT_EQ(goss_comm_create(&config, &comm), GOSS_SUCCESS) << "rank " << rank << ": " << goss_last_error();
  if (comm != nullptr) body(comm, rank);
  if (!setup.leave_at_once) end.arrive_and_wait();
  EXPECT_EQ(goss_comm_destroy(comm), GOSS_SUCCESS);
}

} // namespace

RanksSetup over(const std::string& transport, int ranks, std::int64_t timeout_ms) {
  RanksSetup setup;
  setup.transport = transport;
  setup.ranks = ranks;
  setup.timeout_ms = timeout_ms;
  return setup;
}

void runRanks(const RanksSetup& setup, const std::function<void(goss_comm_t, int)>& body) {
  goss_unique_id id;
  ASSERT_EQ(goss_unique_id_create(&id), GOSS_SUCCESS) << goss_last_error();
  std::barrier<> end(setup.ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < setup.ranks; ++rank) {
    threads.emplace_back([&, rank] { runRank(setup, id, rank, end, body); });
  }
  for (std::thread& thread : threads)
    thread.join();
}

void runRanks(int ranks, const std::function<void(goss_comm_t, int)>& body) {
  RanksSetup setup;
  setup.ranks = ranks;
  runRanks(setup, body);
}

} // namespace goss::test

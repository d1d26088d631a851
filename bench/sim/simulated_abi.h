/// Communicators for lib/sync: the functions of the C ABI that it calls, over a Cluster instead of a network.
#ifndef GOSS_BENCH_SIM_SIMULATED_ABI_H_
#define GOSS_BENCH_SIM_SIMULATED_ABI_H_

#include <memory>

#include "bench/sim/cluster.h"
#include "gossamer/gossamer.h"

namespace goss::bench::sim {

/// The handle of the group's rank; goss_comm_destroy frees it. The cluster must outlive it.
goss_comm_t makeCommunicator(Cluster& cluster, std::shared_ptr<Group> group, int rank);

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_SIMULATED_ABI_H_

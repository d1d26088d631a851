// Topologies of gossip for lib/sync: lib/topology behind the functions of the C ABI. All ranks of a simulation share
// what they make of the same spec.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/gossip.h"
#include "gossamer/status.h"
#include "topology/topology.h"

using goss::Result;
using goss::Status;
using goss::topology::Topology;

namespace goss::bench::sim {

namespace {

struct Neighbors {
  double self_weight = 1;
  std::vector<goss_neighbor> sources;
  std::vector<goss_neighbor> destinations;
};

/// A topology, and the neighbours that ranks have asked for.
struct Shared {
  Topology topology;
  std::map<std::pair<std::uint64_t, int>, Neighbors> neighbors = {};
  std::map<int, Status> properties = {}; ///< Whether it has those that ranks have required.
};

/// The topologies that this thread has made; a simulation runs in one thread.
std::map<std::pair<std::string, int>, std::weak_ptr<Shared>>& made() {
  static thread_local std::map<std::pair<std::string, int>, std::weak_ptr<Shared>> all;
  return all;
}

std::vector<goss_neighbor> toC(const std::vector<Neighbor>& neighbors) {
  std::vector<goss_neighbor> list;
  for (const auto& [rank, weight] : neighbors)
    list.push_back({rank, 0, weight});
  return list;
}

Result<std::string> readNothing(const std::string& path) {
  return Status::error(GOSS_ERR_UNSUPPORTED, "goss-sim reads no matrix such as '" + path + "'");
}

} // namespace

} // namespace goss::bench::sim

struct goss_topology {
  std::shared_ptr<goss::bench::sim::Shared> shared;
};

using namespace goss::bench::sim; // NOLINT(google-build-using-namespace): the C functions are not in a namespace

extern "C" {

goss_status goss_topology_create(const char* spec, int32_t ranks, goss_topology_t* topology) {
  std::weak_ptr<Shared>& known = made()[{spec, ranks}];
  std::shared_ptr<Shared> shared = known.lock();
  if (shared == nullptr) {
    auto fresh = Topology::make(spec, ranks, readNothing);
    if (!fresh.isOk()) return goss_set_last_error(fresh.status().kind(), fresh.status().cText());
    shared = std::make_shared<Shared>(Shared{fresh.take()});
    known = shared;
  }
  *topology = new goss_topology{std::move(shared)};
  return GOSS_SUCCESS;
}
goss_status goss_topology_destroy(goss_topology_t topology) {
  delete topology;
  return GOSS_SUCCESS;
}
goss_status goss_topology_period(goss_topology_t topology, uint64_t* period) {
  *period = topology->shared->topology.period();
  return GOSS_SUCCESS;
}
goss_status goss_topology_weight(goss_topology_t topology, uint64_t round, int32_t to, int32_t from, double* weight) {
  *weight = topology->shared->topology.mixing(round).at(to, from);
  return GOSS_SUCCESS;
}
goss_status goss_topology_neighbors(goss_topology_t topology, uint64_t round, int32_t rank,
                                    goss_neighborhood* neighborhood) {
  Shared& shared = *topology->shared;
  const auto [found, is_new] = shared.neighbors.try_emplace({round % shared.topology.period(), rank});
  Neighbors& neighbors = found->second;
  if (is_new) {
    const goss::Neighborhood fresh = shared.topology.neighborhood(round, rank);
    neighbors = {fresh.self_weight, toC(fresh.sources), toC(fresh.destinations)};
  }
  neighborhood->self_weight = neighbors.self_weight;
  neighborhood->sources = neighbors.sources.data();
  neighborhood->source_count = neighbors.sources.size();
  neighborhood->destinations = neighbors.destinations.data();
  neighborhood->destination_count = neighbors.destinations.size();
  return GOSS_SUCCESS;
}
goss_status goss_topology_require(goss_topology_t topology, int32_t property) {
  auto& known = topology->shared->properties;
  auto found = known.find(property);
  if (found == known.end()) {
    const auto wanted = static_cast<goss::topology::Property>(property);
    found = known.emplace(property, topology->shared->topology.require(wanted)).first;
  }
  const Status& status = found->second;
  return status.isOk() ? GOSS_SUCCESS : goss_set_last_error(status.kind(), status.cText());
}

} // extern "C"

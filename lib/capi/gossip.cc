// Topologies of the C ABI.
#include "gossamer/gossip.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "capi/handles.h"
#include "capi/structs.h"
#include "platform/file.h"
#include "topology/analysis.h"
#include "topology/topology.h"

struct goss_topology {
  /// A rank's neighbours in a round as C structs, which the caller's struct points to.
  struct Neighbors {
    double self_weight = 1;
    std::vector<goss_neighbor> sources;
    std::vector<goss_neighbor> destinations;
  };
  goss::topology::Topology topology;
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, int>, Neighbors> neighbors; ///< Guarded by mutex.
};

namespace goss::capi {

namespace {

constexpr std::size_t kMaxMatrixBytes = 64 << 20;

Result<std::string> readMatrix(const std::string& path) {
  Result<std::string> text = platform::readOrdinaryFile(path, kMaxMatrixBytes);
  if (text.isOk()) return text;
  return invalid(fmt::format("the matrix '{}': {}", path, text.status().text()));
}

std::vector<goss_neighbor> toC(const std::vector<Neighbor>& neighbors) {
  std::vector<goss_neighbor> result;
  for (const auto& [rank, weight] : neighbors)
    result.push_back({rank, 0, weight});
  return result;
}

/// Runs body(topology) for a call whose first precondition is the handle.
template <typename Body>
goss_status onTopology(const char* function, goss_topology_t topology, Body body) {
  return guarded(function, [&]() -> Status {
    if (topology == nullptr) return invalid(fmt::format("{}: the topology is NULL", function));
    return body(*topology);
  });
}

Status handOut(const char* function, std::string_view text, char** to) {
  if (to == nullptr) return invalid(fmt::format("{}: the place for the text is NULL", function));
  void* copy = copyForCaller(text);
  if (copy == nullptr) return Status::error(GOSS_ERR_RESOURCE, fmt::format("{}: out of memory", function));
  *to = static_cast<char*>(copy);
  return Status::ok();
}

Status checkRank(const char* function, const topology::Topology& topology, std::int32_t rank) {
  if (rank >= 0 && rank < topology.size()) return Status::ok();
  return invalid(fmt::format("{}: {} is none of the {} ranks", function, rank, topology.size()));
}

const goss_topology::Neighbors& neighborsOf(goss_topology& topology, std::uint64_t round, int rank) {
  const std::lock_guard lock(topology.mutex);
  const auto [found, is_new] = topology.neighbors.try_emplace({round % topology.topology.period(), rank});
  if (is_new) {
    const Neighborhood made = topology.topology.neighborhood(round, rank);
    found->second = {made.self_weight, toC(made.sources), toC(made.destinations)};
  }
  return found->second;
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Status;
using goss::topology::Property;
using goss::topology::Topology;

extern "C" {

goss_status goss_neighborhood_init(goss_neighborhood* neighborhood, size_t size) {
  return initStruct<goss_neighborhood>("goss_neighborhood_init", GOSS_NEIGHBORHOOD_INIT, neighborhood, size);
}

goss_status goss_topology_create(const char* spec, int32_t ranks, goss_topology_t* topology) {
  return guarded("goss_topology_create", [&]() -> Status {
    if (spec == nullptr || topology == nullptr)
      return invalid("goss_topology_create: the spec or the place for the topology is NULL");
    auto made = Topology::make(spec, ranks, readMatrix);
    if (!made.isOk()) return made.status();
    *topology = new goss_topology{made.take(), {}, {}};
    return Status::ok();
  });
}

goss_status goss_topology_destroy(goss_topology_t topology) {
  delete topology;
  return GOSS_SUCCESS;
}

goss_status goss_topology_period(goss_topology_t topology, uint64_t* period) {
  return onTopology("goss_topology_period", topology, [&](goss_topology& t) -> Status {
    if (period == nullptr) return invalid("goss_topology_period: the place for the period is NULL");
    *period = t.topology.period();
    return Status::ok();
  });
}

goss_status goss_topology_weight(goss_topology_t topology, uint64_t round, int32_t to, int32_t from, double* weight) {
  return onTopology("goss_topology_weight", topology, [&](goss_topology& t) -> Status {
    if (weight == nullptr) return invalid("goss_topology_weight: the place for the weight is NULL");
    for (const int32_t rank : {to, from}) {
      if (Status status = checkRank("goss_topology_weight", t.topology, rank); !status.isOk()) return status;
    }
    *weight = t.topology.mixing(round).at(to, from);
    return Status::ok();
  });
}

goss_status goss_topology_neighbors(goss_topology_t topology, uint64_t round, int32_t rank,
                                    goss_neighborhood* neighborhood) {
  return onTopology("goss_topology_neighbors", topology, [&](goss_topology& t) -> Status {
    if (Status status = checkRank("goss_topology_neighbors", t.topology, rank); !status.isOk()) return status;
    const auto& [self_weight, sources, destinations] = neighborsOf(t, round, rank);
    goss_neighborhood made = GOSS_NEIGHBORHOOD_INIT;
    made.self_weight = self_weight;
    made.sources = sources.data();
    made.source_count = sources.size();
    made.destinations = destinations.data();
    made.destination_count = destinations.size();
    return fillStruct("goss_topology_neighbors: the neighborhood", made, neighborhood);
  });
}

goss_status goss_topology_require(goss_topology_t topology, int32_t property) {
  return onTopology("goss_topology_require", topology, [&](goss_topology& t) -> Status {
    if (property < GOSS_TOPOLOGY_ROW_STOCHASTIC || property > GOSS_TOPOLOGY_CONSTANT)
      return invalid(fmt::format("goss_topology_require: {} is no goss_topology_property", property));
    return t.topology.require(static_cast<Property>(property));
  });
}

goss_status goss_topology_describe(goss_topology_t topology, char** json) {
  return onTopology("goss_topology_describe", topology, [&](goss_topology& t) -> Status {
    return handOut("goss_topology_describe", goss::topology::describe(t.topology), json);
  });
}

goss_status goss_topology_draw(goss_topology_t topology, int64_t round, char** svg) {
  return onTopology("goss_topology_draw", topology, [&](goss_topology& t) -> Status {
    if (round < -1) return invalid(fmt::format("goss_topology_draw: there is no round {}", round));
    return handOut("goss_topology_draw", goss::topology::draw(t.topology, round), svg);
  });
}

} // extern "C"

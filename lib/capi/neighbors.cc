// Collectives among neighbours of the C ABI.
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "capi/collectives.h"
#include "capi/structs.h"
#include "gossamer/gossip.h"

namespace goss::capi {

namespace {

Status readNeighbors(const Common& common, const char* list, const goss_neighbor* neighbors, std::size_t count,
                     std::vector<Neighbor>& to) {
  if (neighbors == nullptr && count > 0) return invalid(fmt::format("{}: {} is NULL", common.function, list));
  for (std::size_t i = 0; i < count; ++i) {
    if (neighbors[i].rank == common.comm->communicator->rank())
      return invalid(fmt::format("{}: rank {} is among its own {}", common.function, neighbors[i].rank, list));
    to.push_back({neighbors[i].rank, neighbors[i].weight});
  }
  return Status::ok();
}

/// Checks the handle and reads the neighbours.
Result<std::shared_ptr<const Neighborhood>> readNeighborhood(const Common& common, const goss_neighborhood* caller) {
  if (Status status = checkComm(common.function, common.comm); !status.isOk()) return status;
  const auto read = readStruct<goss_neighborhood>(fmt::format("{}: the neighborhood", common.function), caller,
                                                  GOSS_NEIGHBORHOOD_INIT);
  if (!read.isOk()) return read.status();
  const goss_neighborhood& given = read.value();
  auto made = std::make_shared<Neighborhood>();
  made->self_weight = given.self_weight;
  Status status = readNeighbors(common, "sources", given.sources, given.source_count, made->sources);
  if (status.isOk())
    status = readNeighbors(common, "destinations", given.destinations, given.destination_count, made->destinations);
  if (!status.isOk()) return status;
  return std::shared_ptr<const Neighborhood>(std::move(made));
}

/// One side of an exchange: a block for each neighbour, of `counts` (one for all, or one each).
struct Blocks {
  const std::size_t* counts = nullptr;
  const std::size_t* displs = nullptr;
  bool uniform = false; ///< counts has one entry.
};

Result<std::vector<schedule::Extent>> blocksOf(const Common& common, const char* side, const Blocks& blocks,
                                               const std::vector<Neighbor>& neighbors) {
  if (blocks.counts == nullptr && !neighbors.empty())
    return invalid(fmt::format("{}: {}_counts is NULL", common.function, side));
  const std::size_t entries = blocks.counts == nullptr ? 0 : blocks.uniform ? 1 : neighbors.size();
  for (const Neighbor& neighbor : neighbors) { // Their places are indexed by rank.
    if (neighbor.rank < 0 || neighbor.rank >= common.comm->communicator->size())
      return invalid(fmt::format("{}: {} is no rank of this communicator (0..{})", common.function, neighbor.rank,
                                 common.comm->communicator->size() - 1));
  }
  return neighborBlocks(common.comm->communicator->size(), neighbors, {blocks.counts, entries}, blocks.displs);
}

std::uint64_t elemsOf(const std::vector<schedule::Extent>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const schedule::Extent& block) { return sum + block.count_elems; });
}

/// A call with a shape whose input blocks are still to be filled in.
Status exchange(const Common& common, Call& call, const Blocks& received) {
  auto blocks = blocksOf(common, "recv", received, call.neighborhood->sources);
  if (!blocks.isOk()) return blocks.status();
  call.shape.output_blocks = blocks.take();
  call.shape.element_bytes = std::max<std::size_t>(1, dtypeBytes(call.dtype));
  Status status = checkBuffer(common, "send", call.input, elemsOf(call.shape.input_blocks), call.dtype);
  if (status.isOk()) status = checkBuffer(common, "recv", call.output, elemsOf(call.shape.output_blocks), call.dtype);
  return status.isOk() ? launch(common, call) : status;
}

Status gather(const Common& common, Call call, std::size_t send_count, const Blocks& received,
              const goss_neighborhood* neighborhood) {
  auto neighbors = readNeighborhood(common, neighborhood);
  if (!neighbors.isOk()) return neighbors.status();
  call.neighborhood = neighbors.take();
  call.uneven = !received.uniform;
  const Communicator& communicator = *common.comm->communicator;
  call.shape.input_blocks.resize(static_cast<std::size_t>(communicator.size()));
  const bool sends = !call.neighborhood->destinations.empty();
  call.shape.input_blocks[static_cast<std::size_t>(communicator.rank())] = {0, sends ? send_count : 0};
  return exchange(common, call, received);
}

Status exchangeBlocks(const Common& common, Call call, const Blocks& sent, const Blocks& received,
                      const goss_neighborhood* neighborhood) {
  auto neighbors = readNeighborhood(common, neighborhood);
  if (!neighbors.isOk()) return neighbors.status();
  call.neighborhood = neighbors.take();
  call.uneven = !received.uniform;
  auto blocks = blocksOf(common, "send", sent, call.neighborhood->destinations);
  if (!blocks.isOk()) return blocks.status();
  call.shape.input_blocks = blocks.take();
  return exchange(common, call, received);
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Collective;

extern "C" {

goss_status goss_neighbor_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_neighborhood* neighborhood, const goss_options* options,
                                     goss_request_t* request) {
  return guarded("goss_neighbor_all_reduce", [&]() -> goss::Status {
    const Common common{"goss_neighbor_all_reduce", comm, options, request};
    auto neighbors = readNeighborhood(common, neighborhood);
    if (!neighbors.isOk()) return neighbors.status();
    goss::Call call = describe(Collective::neighborAllReduce, {send, recv}, count, dtype);
    call.neighborhood = neighbors.take();
    if (goss::Status s = checkBuffer(common, "send", send, count, dtype); !s.isOk()) return s;
    if (goss::Status s = checkBuffer(common, "recv", recv, count, dtype); !s.isOk()) return s;
    goss::setUniformShape(call, comm->communicator->size());
    return launch(common, call);
  });
}

goss_status goss_neighbor_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_neighborhood* neighborhood, const goss_options* options,
                                     goss_request_t* request) {
  return guarded("goss_neighbor_all_gather", [&] {
    return gather({"goss_neighbor_all_gather", comm, options, request},
                  describe(Collective::neighborAllGather, {send, recv}, count, dtype), count, {&count, nullptr, true},
                  neighborhood);
  });
}

goss_status goss_neighbor_all_gatherv(goss_comm_t comm, const void* send, size_t send_count, void* recv,
                                      const size_t* recv_counts, const size_t* recv_displs, goss_dtype dtype,
                                      const goss_neighborhood* neighborhood, const goss_options* options,
                                      goss_request_t* request) {
  return guarded("goss_neighbor_all_gatherv", [&] {
    return gather({"goss_neighbor_all_gatherv", comm, options, request},
                  describe(Collective::neighborAllGather, {send, recv}, 0, dtype), send_count,
                  {recv_counts, recv_displs, false}, neighborhood);
  });
}

goss_status goss_neighbor_all_to_all(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_neighborhood* neighborhood, const goss_options* options,
                                     goss_request_t* request) {
  return guarded("goss_neighbor_all_to_all", [&] {
    const Blocks blocks{&count, nullptr, true};
    return exchangeBlocks({"goss_neighbor_all_to_all", comm, options, request},
                          describe(Collective::neighborAllToAll, {send, recv}, count, dtype), blocks, blocks,
                          neighborhood);
  });
}

goss_status goss_neighbor_all_to_allv(goss_comm_t comm, const void* send, const size_t* send_counts,
                                      const size_t* send_displs, void* recv, const size_t* recv_counts,
                                      const size_t* recv_displs, goss_dtype dtype,
                                      const goss_neighborhood* neighborhood, const goss_options* options,
                                      goss_request_t* request) {
  return guarded("goss_neighbor_all_to_allv", [&] {
    return exchangeBlocks({"goss_neighbor_all_to_allv", comm, options, request},
                          describe(Collective::neighborAllToAll, {send, recv}, 0, dtype),
                          {send_counts, send_displs, false}, {recv_counts, recv_displs, false}, neighborhood);
  });
}

} // extern "C"

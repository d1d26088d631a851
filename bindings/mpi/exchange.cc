#include "bindings/mpi/exchange.h"

#include "gossamer/gossip.h"

namespace goss::interposer {

namespace {

struct Side {
  std::vector<Block> blocks;
  std::vector<goss_neighbor> peers;
};

Side sideOf(const std::vector<Part>& parts) {
  Side side;
  for (const Part& each : parts) {
    if (each.peer == MPI_PROC_NULL) continue;
    side.blocks.push_back(each.block);
    side.peers.push_back({each.peer, 0, 1.0});
  }
  return side;
}

} // namespace

bool Vector::isValid(std::size_t size) const {
  if (size > 0 && (counts == nullptr || displs == nullptr || type == MPI_DATATYPE_NULL)) return false;
  for (std::size_t i = 0; i < size; ++i)
    if (counts[i] < 0) return false;
  return true;
}

Plan exchange(std::unique_ptr<Operation> made, const std::vector<Part>& sends, const std::vector<Part>& recvs) {
  const Side out = sideOf(sends);
  const Side in = sideOf(recvs);
  made->setPost([from = made->inputs(out.blocks), to = made->outputs(in.blocks), destinations = out.peers,
                 sources = in.peers](goss_comm_t comm, goss_request_t* request) {
    goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
    neighborhood.sources = sources.data();
    neighborhood.source_count = sources.size();
    neighborhood.destinations = destinations.data();
    neighborhood.destination_count = destinations.size();
    return goss_neighbor_all_to_allv(comm, from.base, from.counts.data(), from.displs.data(), to.base, to.counts.data(),
                                     to.displs.data(), GOSS_UINT8, &neighborhood, nullptr, request);
  });
  return {std::move(made), "", 0};
}

} // namespace goss::interposer

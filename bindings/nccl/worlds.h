/// How communicators are created: from unique ids, and from other communicators.
#ifndef GOSS_BINDINGS_NCCL_WORLDS_H_
#define GOSS_BINDINGS_NCCL_WORLDS_H_

#include <string>
#include <vector>

#include "bindings/nccl/communicator.h"
#include "bindings/nccl/nccl_api.h"

namespace goss::nccl {

/// Encrypts the communicators that are made from now on: the value of GOSS_TLS; "": what the environment says.
void setTls(const std::string& setting);

/// shrink() and grow() end `turn` after their last exchange on `parent`, even if they then still wait for other ranks.
Result<goss_comm_t> meet(const ncclUniqueId& id, int rank, int ranks);
Result<goss_comm_t> split(ncclComm& parent, int color, int key);
/// A communicator without `excluded`, which do not take part. `failed`: the parent cannot carry messages any more; then
/// the survivors agree on who is left, and the excluded must have ended.
Result<goss_comm_t> shrink(ncclComm& parent, const std::vector<int>& excluded, bool failed, Turn& turn);
/// Makes a communicator of the ranks of `parent`, which keep their numbers, and of ranks that call join(). One rank of
/// `parent` gives `id`, the others nullptr.
Result<goss_comm_t> grow(ncclComm& parent, int ranks, const ncclUniqueId* id, Turn& turn);
Result<goss_comm_t> join(const ncclUniqueId& id, int rank, int ranks);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_WORLDS_H_

/// Groups of the calling thread: calls between ncclGroupStart and ncclGroupEnd begin at ncclGroupEnd.
#ifndef GOSS_BINDINGS_NCCL_GROUP_H_
#define GOSS_BINDINGS_NCCL_GROUP_H_

#include <functional>
#include <memory>

#include "bindings/nccl/communicator.h"

namespace goss::nccl {

/// Puts `call` into its stream, or into the group.
ncclResult_t launch(const std::shared_ptr<ncclComm>& comm, std::shared_ptr<Call> call);

/// Makes a communicator from a parent. May end `turn` after its last exchange on the parent; otherwise `turn` ends when
/// the function returns.
using Starter = std::function<Result<goss_comm_t>(Turn& turn)>;
/// Starts `comm`, which is created from `parent` (null: from none), by `start`, in a thread of its own; in a group at
/// the group's end. Waits for the end of the start if `comm` blocks, and then returns its state, else ncclInProgress.
/// On failure `*out` becomes NULL.
ncclResult_t begin(const std::shared_ptr<ncclComm>& comm, const ncclComm* parent, ncclComm_t* out, Starter start);
/// The group of this thread fails with the result of a call that was refused in it.
ncclResult_t refusedInGroup(ncclResult_t result);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_GROUP_H_

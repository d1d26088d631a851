/// Waits for operations of any communicators.
#ifndef GOSS_LIB_COMMUNICATOR_WAIT_H_
#define GOSS_LIB_COMMUNICATOR_WAIT_H_

#include <cstddef>
#include <span>

#include "communicator/communicator.h"

namespace goss {

/// Requests::finish() for each; null ones are skipped. Afterwards all but the persistent ones are null. Returns the
/// first error in their order.
Status waitAll(std::span<Operation*> operations);
/// waitAll() for operations of one communicator, which another thread may have destroyed since they were started: then
/// all of them are null afterwards, and the error is aborted. `lifetime` is the communicator's; `operations` is not
/// empty, and none of them is null.
Status waitAllOfOne(Lifetime& lifetime, std::span<Operation*> operations);
/// Requests::finish() for the first completed operation, whose index is written: operations.size() when there is none
/// to wait for. It is null afterwards unless it is persistent. Blocks until there is one. Errors: as finish();
/// unsupported, when the operations belong to communicators of several worlds.
Status waitAny(std::span<Operation*> operations, std::size_t& index, goss_message* message);

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_WAIT_H_

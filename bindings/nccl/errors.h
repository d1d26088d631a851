/// NCCL's result codes, and the texts of ncclGetErrorString and ncclGetLastError.
#ifndef GOSS_BINDINGS_NCCL_ERRORS_H_
#define GOSS_BINDINGS_NCCL_ERRORS_H_

#include <string>

#include "bindings/nccl/nccl_api.h"
#include "gossamer/status.h"

namespace goss::nccl {

/// Keeps `text` as the process's last error, the reason of `result`.
void remember(ncclResult_t result, const std::string& text);
/// As remember(). Logs the text if NCCL_DEBUG asks for it, and returns `result`.
ncclResult_t refuse(ncclResult_t result, const std::string& text);
/// What `result` means, and its last reason: when PyTorch's watchdog finds a failure, it prints the text of
/// ncclGetErrorString alone, in which the rank to blame must stand. The text lives until the calling thread asks for
/// the same result and the reason has changed.
const char* describe(ncclResult_t result);
/// The last text of remember(), of any thread; it lives until the calling thread's next call of this function.
const char* lastError();

ncclResult_t resultOf(goss_status status);
/// ncclSuccess, or refuse() with the status's code and text.
ncclResult_t report(const Status& status);
/// GOSS_ERR_INVALID_ARGUMENT with this text.
Status invalid(std::string text);
/// The calling thread's last failure in the C ABI.
Status lastFailure(goss_status status);
/// goss_comm_abort() with the text of `failure`, unless `comm` is null, or has failed already.
void abortUnlessFailed(goss_comm_t comm, const Status& failure);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_ERRORS_H_

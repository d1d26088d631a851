/// NCCL's result codes, and the texts that ncclGetLastError returns.
#ifndef GOSS_BINDINGS_NCCL_ERRORS_H_
#define GOSS_BINDINGS_NCCL_ERRORS_H_

#include <string>

#include "bindings/nccl/nccl_api.h"
#include "gossamer/status.h"

namespace goss::nccl {

/// Keeps `text` as the process's last error, and returns `result`.
ncclResult_t refuse(ncclResult_t result, const std::string& text);
/// The last text of refuse(), of any thread; it lives until the calling thread's next call of this function.
const char* lastError();

ncclResult_t resultOf(goss_status status);
/// ncclSuccess, or refuse() with the status's code and text.
ncclResult_t report(const Status& status);
/// The calling thread's last failure in the C ABI.
Status lastFailure(goss_status status);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_ERRORS_H_

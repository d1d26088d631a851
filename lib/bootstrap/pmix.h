/// Meeting through PMIx, the launcher's own exchange under mpirun. The one seam where that optional library joins.
#ifndef GOSS_LIB_BOOTSTRAP_PMIX_H_
#define GOSS_LIB_BOOTSTRAP_PMIX_H_

#include <cstdint>
#include <functional>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss {

/// Collective over all processes of the job: rank 0 publishes what `make` returns, and every rank gets it. Works before
/// and after MPI_Init and MPI_Finalize, and any number of times until it fails. Errors: bootstrap saying what to do
/// instead, also when not all processes have come within `timeout_ms`, and when this build has no PMIx.
Result<goss_unique_id> exchangeThroughPmix(int rank, std::int64_t timeout_ms,
                                           const std::function<Result<goss_unique_id>()>& make);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_PMIX_H_

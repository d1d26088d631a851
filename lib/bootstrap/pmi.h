/// Meeting through PMI-1, which MPICH's and Intel's mpiexec (hydra) and srun --mpi=pmi2 speak on a descriptor.
#ifndef GOSS_LIB_BOOTSTRAP_PMI_H_
#define GOSS_LIB_BOOTSTRAP_PMI_H_

#include <cstdint>
#include <functional>

#include "gossamer/gossamer.h"
#include "gossamer/status.h"

namespace goss {

/// As exchangeThroughPmix(), over the launcher's descriptor `fd` (PMI_FD), which stays open. All processes of the job
/// take part. Must not run while another thread initialises or finalises MPI, which uses the same descriptor. Errors:
/// bootstrap saying what to do instead, also when not all processes have come within `timeout_ms`.
Result<goss_unique_id> exchangeThroughPmi(int fd, int rank, std::int64_t timeout_ms,
                                          const std::function<Result<goss_unique_id>()>& make);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_PMI_H_

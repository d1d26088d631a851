/// MPI requests for Gossamer's operations.
///
/// Each start of an operation makes a generalized request of MPI, which MPI's progress engine completes: so MPI itself
/// waits for it, together with requests of its own, in any thread. The handle of a persistent operation is a persistent
/// request of MPI that does nothing (a send to MPI_PROC_NULL); the functions in completions.cc replace it by the
/// generalized request of its last start.
#ifndef GOSS_BINDINGS_MPI_REQUESTS_H_
#define GOSS_BINDINGS_MPI_REQUESTS_H_

#include <mpi.h>

#include <memory>
#include <vector>

#include "bindings/mpi/communicator.h"
#include "bindings/mpi/operation.h"
#include "bindings/mpi/progress.h"
#include "bindings/mpi/report.h"

namespace goss::interposer {

/// An operation for which the program has a request.
struct Pending {
  const char* function = "";                  ///< MPI function that began the request.
  std::shared_ptr<Communicator> owner;        ///< Communicator whose error handler reports failures.
  std::shared_ptr<Communicator> communicator; ///< Communicator on which the operation runs.
  std::unique_ptr<Operation> operation;
  Clock::time_point started;

  goss_request_t request = nullptr;
  MPI_Request active = MPI_REQUEST_NULL;     ///< The generalized request, while started.
  MPI_Request persistent = MPI_REQUEST_NULL; ///< The program's handle of a persistent one.
  Outcome outcome;                           ///< Valid once `active` has completed.
};

/// Starts the operation, and makes the generalized request `active`. On failure there is no request.
Outcome start(const std::shared_ptr<Pending>& pending);

/// Makes the program's handle `persistent` of a persistent operation. Returns MPI's error.
int makePersistent(const std::shared_ptr<Pending>& pending);

/// Whether no request of the program is Gossamer's.
bool hasNoRequests();

/// The operation of Gossamer for which the program has this request; null: the request is MPI's own.
std::shared_ptr<Pending> pendingOf(MPI_Request request);

/// Undoes makePersistent(): the program frees the handle.
void removePersistent(const std::shared_ptr<Pending>& pending);

/// Between these two calls (at MPI_Init and MPI_Finalize) MPI's progress engine tests the started operations.
void startRequests();
void stopRequests();

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_REQUESTS_H_

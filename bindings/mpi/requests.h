/// Gossamer's operations as MPI requests.
///
/// A started operation is a generalized request of MPI, which MPI's progress engine completes: so MPI itself waits for
/// it among requests of its own, in any thread. A persistent operation's handle is a persistent request of MPI that
/// does nothing (a send to MPI_PROC_NULL); each start makes a generalized request that stands for it while the program
/// waits. completions.cc has the functions that wait.
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

struct Pending {
  const char* function = "";                  ///< MPI function that began the request.
  std::shared_ptr<Communicator> home;         ///< Communicator whose error handler reports failures.
  std::shared_ptr<Communicator> communicator; ///< Communicator on which the operation runs.
  std::unique_ptr<Operation> operation;
  Clock::time_point started;

  goss_request_t request = nullptr;
  MPI_Request active = MPI_REQUEST_NULL;     ///< The generalized request, while started.
  MPI_Request persistent = MPI_REQUEST_NULL; ///< The program's handle of a persistent one.
  Outcome outcome;                           ///< Valid once `active` has completed.
};

/// Starts it, and makes `active`. On failure there is no request.
Outcome start(const std::shared_ptr<Pending>& pending);

/// From now on the handle in `persistent`, which is made here, stands for it. Returns MPI's error.
int makePersistent(const std::shared_ptr<Pending>& pending);

/// Whether no request of the program is Gossamer's.
bool hasNoRequests();

/// Which of Gossamer's operations a handle stands for; null: none.
std::shared_ptr<Pending> pendingOf(MPI_Request request);

/// Takes back makePersistent.
void forget(const std::shared_ptr<Pending>& pending);

/// Between MPI_Init and MPI_Finalize MPI's progress engine tests what was started.
void startRequests();
void stopRequests();

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_REQUESTS_H_

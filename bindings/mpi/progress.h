/// Waiting for Gossamer and for MPI at a time.
///
/// MPI's messages need this process's help to arrive, also while it waits in a collective: another rank may wait for
/// such a message before it enters the collective. So whoever waits for Gossamer here runs MPI's progress engine
/// (opal_progress of Open MPI), and MPI's progress engine, in which programs wait for requests, tests Gossamer's
/// operations.
#ifndef GOSS_BINDINGS_MPI_PROGRESS_H_
#define GOSS_BINDINGS_MPI_PROGRESS_H_

#include <functional>
#include <string>

#include "gossamer/gossamer.h"

namespace goss::interposer {

/// How something of Gossamer's ended, with its text.
struct Outcome {
  goss_status status = GOSS_SUCCESS;
  std::string text;
};

/// With goss_last_error of this thread.
Outcome outcomeOf(goss_status status);

/// Waits for a request, and frees it.
Outcome waitFor(goss_request_t request);

/// Runs a blocking call of Gossamer in a thread of its own while this one helps MPI.
Outcome helpingMpi(const std::function<goss_status()>& call);

/// Has MPI's progress engine call `poll` from now on, in any thread. It returns the number of things that it completed.
void startPolling(int (*poll)());
void stopPolling(int (*poll)());

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_PROGRESS_H_

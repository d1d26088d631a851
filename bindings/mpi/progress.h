/// Lets MPI progress while the program waits for Gossamer, and Gossamer while it waits for MPI.
///
/// MPI's messages arrive only if this process helps, also while it waits in a collective of Gossamer: another rank may
/// wait for such a message before it enters the collective. So while a thread of the program is in a blocking call of
/// Gossamer, a thread of this library calls MPI's progress engine (opal_progress of Open MPI) now and then. That is
/// allowed without MPI_THREAD_MULTIPLE too: the blocked thread is then the only one of the program that may be in MPI,
/// and it does not return while the other thread is there. Conversely MPI's progress engine, in which programs wait for
/// requests, tests Gossamer's operations.
#ifndef GOSS_BINDINGS_MPI_PROGRESS_H_
#define GOSS_BINDINGS_MPI_PROGRESS_H_

#include <string>

#include "gossamer/gossamer.h"

namespace goss::interposer {

/// The result of a call or operation of Gossamer, with the text of its error.
struct Outcome {
  goss_status status = GOSS_SUCCESS;
  std::string text;
};

/// `status` with the text of goss_last_error() in this thread.
Outcome outcomeOf(goss_status status);

/// From now on, until stopProgress(), MPI progresses during blocking calls of Gossamer, and MPI's progress engine calls
/// `poll` in any thread. `poll` returns the number of operations that it completed.
void startProgress(int (*poll)());
void stopProgress(int (*poll)());

/// While such an object lives, its thread is in a blocking call of Gossamer.
class BlockedCallGuard {
 public:
  BlockedCallGuard();
  ~BlockedCallGuard();
  BlockedCallGuard(const BlockedCallGuard&) = delete;
  BlockedCallGuard& operator=(const BlockedCallGuard&) = delete;
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_PROGRESS_H_

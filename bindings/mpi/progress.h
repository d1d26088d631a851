/// Waiting for Gossamer and for MPI at a time.
///
/// MPI's messages need this process's help to arrive, also while it waits in a collective: another rank may wait for
/// such a message before it enters the collective. So while a thread is in a blocking call of Gossamer, a thread of
/// this library runs MPI's progress engine (opal_progress of Open MPI) now and then. MPI cannot tell: without
/// MPI_THREAD_MULTIPLE the blocked thread is the only one of the program's that may be in MPI, and it does not return
/// while the other one is there. And MPI's progress engine, in which programs wait for requests, tests Gossamer's
/// operations.
#ifndef GOSS_BINDINGS_MPI_PROGRESS_H_
#define GOSS_BINDINGS_MPI_PROGRESS_H_

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

/// From now on, until stopProgress, MPI's messages go on in blocking calls, and MPI's progress engine calls `poll`, in
/// any thread, which returns the number of things that it completed.
void startProgress(int (*poll)());
void stopProgress(int (*poll)());

/// This thread is in a blocking call of Gossamer while such an object lives.
class Blocked {
 public:
  Blocked();
  ~Blocked();
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_PROGRESS_H_

/// Turns Gossamer's errors into MPI's.
#ifndef GOSS_BINDINGS_MPI_ERRORS_H_
#define GOSS_BINDINGS_MPI_ERRORS_H_

#include <mpi.h>

#include <string>

#include "gossamer/gossamer.h"

namespace goss::interposer {

/// An error code of MPI for this status: of class MPI_ERR_OTHER or a more specific one. MPI_Error_string() returns the
/// beginning of the last text with that status.
int codeOf(goss_status status, const std::string& text);

/// Calls the error handler of `comm` and returns the code. Before MPI_ERRORS_ARE_FATAL ends the job the whole text is
/// written to standard error.
int raise(MPI_Comm comm, goss_status status, const std::string& text);
int raise(MPI_Comm comm, int code, const std::string& text);

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_ERRORS_H_

/// Checks of the test programs, which are ordinary programs of MPI: they know nothing of Gossamer.
#ifndef GOSS_TESTS_BINDINGS_MPI_SUPPORT_H_
#define GOSS_TESTS_BINDINGS_MPI_SUPPORT_H_

#include <mpi.h>

// It wants mpi.h before it.
#include <mpi-ext.h>

#include <cstdio>

/// Ends the job with the place and the expression if `holds` is false.
inline void check(bool holds, const char* expression, const char* file, int line) {
  if (holds) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", file, line, rank, expression);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define OK(call) check((call) == MPI_SUCCESS, #call, __FILE__, __LINE__)

inline int rankIn(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int sizeOf(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// The three forms of a collective.
enum class Form { blocking, nonBlocking, persistent };

/// Runs one, to its end; a persistent one as often as `rounds` says.
template <auto kBlocking, auto kNonBlocking, auto kPersistent, class... Arguments>
void run(Form form, int rounds, MPI_Comm comm, Arguments... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (form) {
    case Form::blocking:
      OK(kBlocking(arguments..., comm));
      break;
    case Form::nonBlocking:
      OK(kNonBlocking(arguments..., comm, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(request == MPI_REQUEST_NULL);
      break;
    case Form::persistent:
      OK(kPersistent(arguments..., comm, MPI_INFO_NULL, &request));
      for (int round = 0; round < rounds; ++round) {
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request != MPI_REQUEST_NULL);
      }
      OK(MPI_Request_free(&request));
      CHECK(request == MPI_REQUEST_NULL);
      break;
  }
}

#endif // GOSS_TESTS_BINDINGS_MPI_SUPPORT_H_

/* Starts MPI and runs its first all-reduces, for scripts/scale. An error ends the program (MPI_ERRORS_ARE_FATAL). */
#include <mpi.h>

#include "bench/scale/first_calls.h"

static double all_reduce_s(const float* in, float* out, size_t bytes) {
  const double start = now_s();
  MPI_Allreduce(in, out, (int)(bytes / sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return now_s() - start;
}

int main(int argc, char** argv) {
  struct times own;
  struct times most;
  int rank = 0;
  int ranks = 0;
  float* in = ones();
  float* out = ones();
  int i;
  const double start = now_s();
  if (in == NULL || out == NULL) return 1;
  MPI_Init(&argc, &argv);
  own.create = now_s() - start;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (i = 0; i < kSizes; ++i) {
    own.first[i] = all_reduce_s(in, out, kBytes[i]);
    expect_sum(out, kBytes[i], ranks);
  }
  own.later = 0;
  for (i = 0; i < kLaterCalls; ++i)
    own.later += all_reduce_s(in, out, kBytes[0]) / kLaterCalls;
  MPI_Allreduce(&own, &most, kTimes, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) print_times(&most);
  MPI_Finalize();
  free(in);
  free(out);
  return 0;
}

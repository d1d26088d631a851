/* An MPI program that swaps one call: MPI starts the ranks, Gossamer reduces. Start with: mpirun -np 4
 * build/dev/bin/example_mpi_swap */
#include <gossamer/gossamer_mpi.h>
#include <mpi.h>
#include <stdio.h>

enum { kCount = 50000 };

static double input[kCount], theirs[kCount], ours[kCount];

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, goss_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int main(int argc, char** argv) {
  goss_comm_t comm = NULL;
  double start, theirs_s, ours_s;
  int rank, i;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (goss_comm_create_from_mpi(MPI_COMM_WORLD, NULL, &comm) != GOSS_SUCCESS) return fail("create");
  for (i = 0; i < kCount; ++i)
    input[i] = (double)(i % 1000) * (rank + 1);

  /* Before. */
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  MPI_Allreduce(input, theirs, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  theirs_s = MPI_Wtime() - start;

  /* After. */
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  if (goss_all_reduce(comm, input, ours, kCount, GOSS_FLOAT64, GOSS_SUM, NULL, NULL) != GOSS_SUCCESS)
    return fail("all_reduce");
  ours_s = MPI_Wtime() - start;

  /* The sums are whole numbers below 2^53, so both must be exact. */
  for (i = 0; i < kCount; ++i) {
    if (ours[i] != theirs[i]) {
      fprintf(stderr, "element %d: MPI %g, Gossamer %g\n", i, theirs[i], ours[i]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) printf("same sums; first call: MPI %.0f us, Gossamer %.0f us\n", theirs_s * 1e6, ours_s * 1e6);
  goss_comm_destroy(comm);
  MPI_Finalize();
  return 0;
}

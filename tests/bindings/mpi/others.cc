// What Gossamer has not: the program gets MPI's results. For two ranks or more.
#include "tests/bindings/mpi/support.h"

#include <vector>

namespace {

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void operations() {
  const int rank = rankIn(MPI_COMM_WORLD);
  const int ranks = sizeOf(MPI_COMM_WORLD);
  struct {
    int value;
    int rank;
  } own{10 - rank, rank}, least{};
  OK(MPI_Allreduce(&own, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK(least.value == 11 - ranks && least.rank == ranks - 1);
  MPI_Op op = MPI_OP_NULL;
  int total = 0;
  OK(MPI_Op_create(add, 1, &op));
  OK(MPI_Allreduce(&rank, &total, 1, MPI_INT, op, MPI_COMM_WORLD));
  CHECK(total == ranks * (ranks - 1) / 2);
  OK(MPI_Op_free(&op));
  const short small = 3;
  short sum = 0;
  OK(MPI_Allreduce(&small, &sum, 1, MPI_SHORT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == 3 * ranks);
}

/// Rank 0 and the others are two groups.
void between() {
  const int rank = rankIn(MPI_COMM_WORLD);
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, 0, &group));
  OK(MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &both));
  const int mine = rank + 1;
  int sum = 0;
  int remote = 0;
  OK(MPI_Comm_remote_size(both, &remote));
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both));
  CHECK(rank == 0 ? sum == (remote + 1) * (remote + 2) / 2 - 1 : sum == 1);
  OK(MPI_Intercomm_merge(both, rank == 0 ? 0 : 1, &merged));
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, merged)); // Gossamer's
  CHECK(sum == sizeOf(merged) * (sizeOf(merged) + 1) / 2);
  for (MPI_Comm* each : {&group, &both, &merged})
    OK(MPI_Comm_free(each));
}

/// A grid of two in a circle: both neighbours are the same rank.
void twoInACircle() {
  const int rank = rankIn(MPI_COMM_WORLD);
  const int lengths[1] = {2};
  const int periods[1] = {1};
  MPI_Comm grid = MPI_COMM_NULL;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, lengths, periods, 0, &grid));
  if (grid == MPI_COMM_NULL) return;
  int both[2] = {-1, -1};
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, both, 1, MPI_INT, grid));
  CHECK(both[0] == 1 - rank && both[1] == 1 - rank);
  OK(MPI_Comm_free(&grid));
}

/// MPI judges wrong arguments, as ever.
void refusals() {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  int value = 0;
  int error_class = MPI_SUCCESS;
  OK(MPI_Error_class(MPI_Bcast(&value, 1, MPI_INT, 99, comm), &error_class));
  CHECK(error_class == MPI_ERR_ROOT);
  OK(MPI_Error_class(MPI_Allreduce(nullptr, &value, -1, MPI_INT, MPI_SUM, comm), &error_class));
  CHECK(error_class == MPI_ERR_COUNT);
  OK(MPI_Error_class(MPI_Allreduce(nullptr, &value, 1, MPI_FLOAT, MPI_BAND, comm), &error_class));
  CHECK(error_class == MPI_ERR_OP);
  OK(MPI_Comm_free(&comm));
}

} // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  operations();
  between();
  twoInACircle();
  refusals();
  OK(MPI_Finalize());
  return 0;
}

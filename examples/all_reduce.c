/* Every rank brings a vector; every rank gets the sum. Start with: mpirun -np 4 build/dev/bin/example_all_reduce */
#include <gossamer/gossamer.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 1000 };

/* Leaves with the library's own explanation when a call failed. */
static void check(goss_status status, const char* what) {
  if (status == GOSS_SUCCESS) return;
  fprintf(stderr, "%s: %s: %s\n", what, goss_status_string(status), goss_last_error());
  exit(1);
}

int main(void) {
  static float gradients[kCount];
  goss_comm_t comm = NULL;
  goss_counters counters = {sizeof(goss_counters), 0, 0, 0, 0, 0, 0, 0};
  int32_t rank = 0;
  int32_t ranks = 0;
  int i;

  check(goss_comm_create(NULL, &comm), "create");
  check(goss_comm_rank(comm, &rank), "rank");
  check(goss_comm_size(comm, &ranks), "size");

  for (i = 0; i < kCount; ++i)
    gradients[i] = (float)(i + rank);
  /* In place: the same address twice. GOSS_AVG would divide by the number of ranks. */
  check(goss_all_reduce(comm, gradients, gradients, kCount, GOSS_FLOAT32, GOSS_SUM, NULL, NULL), "all_reduce");

  for (i = 0; i < kCount; ++i) {
    const float expected = (float)(ranks * i + ranks * (ranks - 1) / 2);
    if (gradients[i] != expected) {
      fprintf(stderr, "rank %d: element %d is %g, not %g\n", rank, i, gradients[i], expected);
      return 1;
    }
  }
  check(goss_comm_counters(comm, &counters), "counters");
  printf("rank %d of %d: sum is right; sent %lu bytes\n", rank, ranks, (unsigned long)counters.wire_bytes_sent);
  check(goss_comm_destroy(comm), "destroy");
  return 0;
}

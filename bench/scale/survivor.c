/* survivor RANKS_LEFT: reduces until ranks die, shrinks until RANKS_LEFT are left, and says when, for scripts/scale. */
#include <gossamer/gossamer.h>

#include "bench/scale/check.h"
#include "bench/scale/first_calls.h"

static goss_status reduce(goss_comm_t comm, float* sum) {
  const float one = 1;
  return goss_all_reduce(comm, &one, sum, 1, GOSS_FLOAT32, GOSS_SUM, NULL, NULL);
}

/* The next smaller communicator. */
static goss_comm_t shrink(goss_comm_t comm) {
  goss_comm_t smaller = NULL;
  check(goss_comm_shrink(comm, NULL, &smaller), "shrink");
  check(goss_comm_destroy(comm), "destroy");
  return smaller;
}

int main(int argc, char** argv) {
  const int left = argc == 2 ? atoi(argv[1]) : 0;
  goss_comm_t comm = NULL;
  int32_t ranks = 0;
  float sum = 0;
  double failed_s = 0;
  double shrunk_s = 0;
  int i;
  check(goss_comm_create(NULL, &comm), "create");
  check(goss_comm_size(comm, &ranks), "size");
  for (i = 0; ranks > left; ++i) {
    if (i == 10 && failed_s == 0) printf("ready\n");
    fflush(stdout);
    if (reduce(comm, &sum) == GOSS_SUCCESS) continue;
    if (failed_s == 0) {
      failed_s = now_s();
      printf("failed: %s\n", goss_last_error());
    }
    comm = shrink(comm);
    shrunk_s = now_s();
    check(goss_comm_size(comm, &ranks), "size");
  }
  check(reduce(comm, &sum), "the survivors' all_reduce");
  if (sum != (float)left) return 1;
  printf("{\"failed_s\": %.6f, \"shrunk_s\": %.6f}\n", failed_s, shrunk_s);
  check(goss_comm_destroy(comm), "destroy");
  return 0;
}

/* Makes a communicator and runs its first all-reduces, for scripts/scale. */
#include <gossamer/gossamer.h>

#include "bench/scale/check.h"
#include "bench/scale/first_calls.h"

static double all_reduce_s(goss_comm_t comm, const float* in, float* out, size_t bytes) {
  const double start = now_s();
  check(goss_all_reduce(comm, in, out, bytes / sizeof(float), GOSS_FLOAT32, GOSS_SUM, NULL, NULL), "all_reduce");
  return now_s() - start;
}

int main(void) {
  struct times own;
  struct times most;
  goss_comm_t comm = NULL;
  int32_t rank = 0;
  int32_t ranks = 0;
  float* in = ones();
  float* out = ones();
  int i;
  const double start = now_s();
  if (in == NULL || out == NULL) return 1;
  check(goss_comm_create(NULL, &comm), "create");
  own.create = now_s() - start;
  check(goss_comm_rank(comm, &rank), "rank");
  check(goss_comm_size(comm, &ranks), "size");
  for (i = 0; i < kSizes; ++i) {
    own.first[i] = all_reduce_s(comm, in, out, kBytes[i]);
    expect_sum(out, kBytes[i], ranks);
  }
  own.later = 0;
  for (i = 0; i < kLaterCalls; ++i)
    own.later += all_reduce_s(comm, in, out, kBytes[0]) / kLaterCalls;
  check(goss_all_reduce(comm, &own, &most, kTimes, GOSS_FLOAT64, GOSS_MAX, NULL, NULL), "maxima");
  if (rank == 0) print_times(&most);
  check(goss_comm_destroy(comm), "destroy");
  free(in);
  free(out);
  return 0;
}

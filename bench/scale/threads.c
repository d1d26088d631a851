/* Makes a communicator of threads of one process, and runs its first all-reduces of 8 bytes, for scripts/scale. */
#include <gossamer/gossamer.h>
#include <pthread.h>
#include <sys/resource.h>

#include "bench/scale/check.h"
#include "bench/scale/first_calls.h"

static int ranks;
static goss_unique_id meeting;
static struct times most; /* Of rank 0, which has the maxima of all. */

static double all_reduce_s(goss_comm_t comm) {
  const float ones[2] = {1, 1};
  float sums[2] = {0, 0};
  const double start = now_s();
  check(goss_all_reduce(comm, ones, sums, 2, GOSS_FLOAT32, GOSS_SUM, NULL, NULL), "all_reduce");
  expect_sum(sums, sizeof sums, ranks);
  return now_s() - start;
}

static void* run_rank(void* rank) {
  goss_config config;
  goss_comm_t comm = NULL;
  struct times own = {0, {0, 0, 0}, 0};
  struct times maxima;
  int i;
  const double start = now_s();
  check(goss_config_init(&config), "config");
  config.rank = *(const int*)rank;
  config.ranks = ranks;
  config.unique_id = &meeting;
  check(goss_comm_create(&config, &comm), "create");
  own.create = now_s() - start;
  own.first[0] = all_reduce_s(comm);
  for (i = 0; i < kLaterCalls; ++i)
    own.later += all_reduce_s(comm) / kLaterCalls;
  check(goss_all_reduce(comm, &own, &maxima, kTimes, GOSS_FLOAT64, GOSS_MAX, NULL, NULL), "maxima");
  if (config.rank == 0) most = maxima;
  check(goss_comm_destroy(comm), "destroy");
  return NULL;
}

int main(int argc, char** argv) {
  struct rusage use;
  pthread_t* threads;
  int* numbers;
  int i;
  ranks = argc == 2 ? atoi(argv[1]) : 0;
  if (ranks < 1) return 2;
  threads = (pthread_t*)calloc((size_t)ranks, sizeof *threads);
  numbers = (int*)calloc((size_t)ranks, sizeof *numbers);
  if (threads == NULL || numbers == NULL) return 1;
  check(goss_unique_id_create(&meeting), "unique id");
  for (i = 0; i < ranks; ++i) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, run_rank, &numbers[i]) != 0) return 1;
  }
  for (i = 0; i < ranks; ++i)
    pthread_join(threads[i], NULL);
  getrusage(RUSAGE_SELF, &use);
  printf("{\"create_s\": %.6f, \"first_8_s\": %.6f, \"later_8_us\": %.2f, \"memory_mb\": %.0f}\n", most.create,
         most.first[0], most.later * 1e6, (double)use.ru_maxrss / 1024);
  free(threads);
  free(numbers);
  return 0;
}

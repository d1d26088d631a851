/* Ranks that are told by torchrun's variables who they are. Start one process for each rank with
 *   RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 build/dev/bin/example_torchrun_style
 * or let examples/torchrun_style.sh start them all: examples/torchrun_style.sh 4 build/dev/bin/example_torchrun_style
 */
#include <gossamer/gossamer.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, goss_last_error());
  return 1;
}

int main(void) {
  const char* world_size = getenv("WORLD_SIZE");
  goss_comm_t comm = NULL;
  const char* transport = NULL;
  int64_t token;
  int32_t rank, ranks;

  if (goss_comm_create(NULL, &comm) != GOSS_SUCCESS) return fail("create");
  if (goss_comm_rank(comm, &rank) != GOSS_SUCCESS || goss_comm_size(comm, &ranks) != GOSS_SUCCESS) return fail("rank");
  if (world_size == NULL || ranks != atoi(world_size)) {
    fprintf(stderr, "there are %d ranks; WORLD_SIZE is '%s'\n", ranks, world_size == NULL ? "" : world_size);
    return 1;
  }

  /* Rank 0 sends its weights to all... */
  token = rank == 0 ? 42 : 0;
  if (goss_broadcast(comm, &token, &token, 1, GOSS_INT64, 0, NULL, NULL) != GOSS_SUCCESS) return fail("broadcast");
  /* ...and all of them add up what they got. */
  if (goss_all_reduce(comm, &token, &token, 1, GOSS_INT64, GOSS_SUM, NULL, NULL) != GOSS_SUCCESS)
    return fail("all_reduce");
  if (token != 42 * ranks) return fail("the sum is wrong");

  if (goss_comm_transport(comm, (rank + 1) % ranks, &transport) != GOSS_SUCCESS) return fail("transport");
  printf("rank %d of %d reaches the next one by %s\n", rank, ranks, transport);
  if (goss_comm_destroy(comm) != GOSS_SUCCESS) return fail("destroy");
  return 0;
}

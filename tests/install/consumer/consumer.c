/* A program outside the project: one rank of one adds up its own values. */
#include <gossamer/gossamer.h>
#include <stdio.h>

int main(void) {
  float values[3] = {1.0f, 2.0f, 3.0f};
  float sums[3] = {0.0f, 0.0f, 0.0f};
  goss_comm_t comm = NULL;
  const int expected = GOSS_VERSION_MAJOR * 10000 + GOSS_VERSION_MINOR * 100 + GOSS_VERSION_PATCH;
  if (goss_version() != expected) {
    fprintf(stderr, "header is version %d, library %d\n", expected, goss_version());
    return 1;
  }
  if (goss_comm_create(NULL, &comm) != GOSS_SUCCESS ||
      goss_all_reduce(comm, values, sums, 3, GOSS_FLOAT32, GOSS_SUM, NULL, NULL) != GOSS_SUCCESS) {
    fprintf(stderr, "%s\n", goss_last_error());
    return 1;
  }
  goss_comm_destroy(comm);
  return sums[0] == 1.0f && sums[1] == 2.0f && sums[2] == 3.0f ? 0 : 1;
}

/* goss_comm_create_from_mpi: when one rank cannot begin, every rank has its error's text, and nothing stays open. */
#include <dirent.h>
#include <gossamer/gossamer_mpi.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int rank, int holds, const char* what) {
  if (holds) return;
  printf("rank %d: %s does not hold; last error: %s\n", rank, what, goss_last_error());
  ++failures;
}
#define CHECK(condition) check(rank, (condition), #condition)

static int openDescriptors(void) {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == NULL) return -1;
  while (readdir(directory) != NULL)
    ++count;
  closedir(directory);
  return count;
}

/* Rank `culprit` gives a setting that is not acceptable (`early`: already as a value, else as a file that is not
 * there).
 */
static void fail(int rank, int culprit, int early) {
  const char* text = early ? "config.relay is" : "/no/such/file";
  char expected[64];
  int before = 0;
  goss_status status = GOSS_SUCCESS;
  goss_comm_t comm = NULL;
  goss_config config;
  CHECK(goss_config_init(&config) == GOSS_SUCCESS);
  config.bootstrap_timeout_ms = 3000;
  if (rank == culprit && early) config.relay = "sometimes";
  if (rank == culprit && !early) config.links_file = "/no/such/file";
  snprintf(expected, sizeof expected, "rank %d failed (invalid argument)", culprit);
  before = openDescriptors();
  status = goss_comm_create_from_mpi(MPI_COMM_WORLD, &config, &comm);
  CHECK(status == (rank == culprit ? GOSS_ERR_INVALID_ARGUMENT : GOSS_ERR_BOOTSTRAP));
  CHECK(strstr(goss_last_error(), text) != NULL);
  CHECK(rank == culprit || strstr(goss_last_error(), expected) != NULL);
  CHECK(comm == NULL);
  CHECK(openDescriptors() == before);
}

int main(int argc, char** argv) {
  int rank = 0;
  int all = 0;
  int32_t one = 1;
  goss_comm_t comm = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* What is opened once for all is opened here. */
  CHECK(goss_comm_create_from_mpi(MPI_COMM_WORLD, NULL, &comm) == GOSS_SUCCESS);
  CHECK(goss_all_reduce(comm, &one, &one, 1, GOSS_INT32, GOSS_SUM, NULL, NULL) == GOSS_SUCCESS && one == 3);
  CHECK(goss_comm_destroy(comm) == GOSS_SUCCESS);
  fail(rank, 0, 1);
  fail(rank, 2, 1);
  fail(rank, 0, 0);
  fail(rank, 1, 0);
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("every rank has the error's text\n");
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

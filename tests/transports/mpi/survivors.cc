// A rank that dies or is stopped over MPI: the others go on without it, and their processes end.
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gossamer/gossamer.h"

namespace {

bool check(goss_status status, const char* what) {
  if (status == GOSS_SUCCESS) return true;
  std::fprintf(stderr, "error: %s: %s\n", what, goss_last_error());
  return false;
}

/// The sum over all ranks of 1.
bool sum(goss_comm_t comm, int expected) {
  int32_t total = 1;
  if (goss_all_reduce(comm, &total, &total, 1, GOSS_INT32, GOSS_SUM, nullptr, nullptr) != GOSS_SUCCESS) return false;
  return total == expected;
}

/// Waits in a process of its own until all of `others` have ended, and then ends the one that is about to be stopped,
/// so that mpirun need not wait for it.
void watch(const std::vector<int32_t>& others, pid_t stopped) {
  if (::fork() != 0) return;
  for (const int32_t process : others)
    while (process != stopped && (::kill(process, 0) == 0 || errno != ESRCH))
      ::usleep(1000);
  std::printf("all survivors have ended\n");
  std::fflush(nullptr);
  ::kill(stopped, SIGKILL);
  ::_exit(0);
}

} // namespace

/// Arguments: the rank that ends, "killed" or "stopped", and perhaps "careless".
int main(int argc, char** argv) {
  const int victim = argc > 1 ? std::atoi(argv[1]) : 1;
  const bool stopped = argc > 2 && std::strcmp(argv[2], "stopped") == 0;
  const bool careless = argc > 3; // Survivors end at once, and destroy nothing.
  goss_comm_t comm = nullptr;
  int32_t rank = 0;
  int32_t size = 0;
  if (!check(goss_comm_create(nullptr, &comm), "create") || !check(goss_comm_rank(comm, &rank), "rank") ||
      !check(goss_comm_size(comm, &size), "size") || !sum(comm, size))
    return 1;
  const int32_t own = ::getpid();
  std::vector<int32_t> all(static_cast<std::size_t>(size));
  if (!check(goss_all_gather(comm, &own, all.data(), 1, GOSS_INT32, nullptr, nullptr), "all-gather")) return 1;
  (void)sum(comm, size); // The others have received everything from the victim, or have lost it already.
  if (rank == victim) {
    watch(all, own);
    ::raise(stopped ? SIGSTOP : SIGKILL);
  }
  if (sum(comm, size)) return 2;
  if (careless) return 0;
  goss_comm_t smaller = nullptr;
  if (!check(goss_comm_shrink(comm, nullptr, &smaller), "shrink") || !check(goss_comm_destroy(comm), "destroy"))
    return 1;
  if (!sum(smaller, size - 1)) return 1;
  return check(goss_comm_destroy(smaller), "destroy") ? 0 : 1;
}

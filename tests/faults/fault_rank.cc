// One rank for the fault tests: reduces over and over until something fails, and says what.
//
// Lines on standard output: "ready" once the communicator works, then "failed STATUS TEXT".
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gossamer/gossamer.h"

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const long longest = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 1000000000;
  goss_comm_t comm = nullptr;
  if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS) {
    std::printf("failed create %s\n", goss_last_error());
    return 2;
  }
  std::vector<float> send(count, 1.0F);
  std::vector<float> recv(count);
  for (long i = 0; i < longest; ++i) {
    const goss_status status =
        goss_all_reduce(comm, send.data(), recv.data(), count, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    if (status != GOSS_SUCCESS) {
      std::printf("failed %d %s\n", status, goss_last_error());
      std::fflush(stdout);
      goss_comm_destroy(comm);
      return 0;
    }
    if (i == 3) {
      std::printf("ready\n");
      std::fflush(stdout);
    }
  }
  goss_comm_destroy(comm);
  std::printf("done\n");
  return 0;
}

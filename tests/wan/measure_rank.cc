// One rank that measures the links: rank 0 writes the link file, with a comment that says how long it took. Then all
// ranks plan a reduction by the file.
#include <chrono>
#include <cstdio>
#include <vector>

#include "gossamer/gossamer.h"
#include "gossamer/links.h"

namespace {

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, goss_last_error());
  return 1;
}

} // namespace

int main() {
  goss_comm_t comm = nullptr;
  int32_t rank = 0;
  int32_t ranks = 0;
  if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS) return failed("joining");
  if (goss_comm_rank(comm, &rank) != GOSS_SUCCESS || goss_comm_size(comm, &ranks) != GOSS_SUCCESS) return 1;
  if (goss_barrier(comm, nullptr, nullptr) != GOSS_SUCCESS) return failed("meeting");
  const auto begun = std::chrono::steady_clock::now();
  char* links = nullptr;
  if (goss_comm_measure_links(comm, nullptr, &links) != GOSS_SUCCESS) return failed("measuring");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  if (rank == 0) std::printf("%s# took %.2f s\n", links, took.count());
  goss_free(links);
  std::vector<float> values(100000, 1);
  if (goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr) !=
      GOSS_SUCCESS)
    return failed("reducing");
  for (const float value : values)
    if (value != static_cast<float>(ranks)) return 1;
  goss_comm_destroy(comm);
  return 0;
}

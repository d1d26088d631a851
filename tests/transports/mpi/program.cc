// Programs that use GOSS_TRANSPORT=mpi in each way that MPI allows: who initialises it, and for which threads.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/gossamer_mpi.h"

namespace {

int fail(const char* what) {
  std::fprintf(stderr, "error: %s: %s\n", what, goss_last_error());
  return 1;
}

/// Blocking and non-blocking calls, with calls of MPI in between; `comm` is destroyed.
int reduce(goss_comm_t comm, int rank, int ranks) {
  std::vector<float> values(100'000);
  for (int round = 0; round < 20; ++round) {
    values.assign(values.size(), static_cast<float>(rank + round));
    goss_request_t request = nullptr;
    goss_request_t* later = round % 2 == 0 ? nullptr : &request;
    if (goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, later) != 0)
      return fail("all-reduce");
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) return fail("MPI is not there");
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != ranks) return fail("sum over MPI");
    if (request != nullptr && goss_wait(&request, nullptr) != GOSS_SUCCESS) return fail("wait");
    const auto expected = static_cast<float>(ranks * round + ranks * (ranks - 1) / 2);
    for (const float value : values)
      if (value != expected) return fail("result");
  }
  if (goss_comm_destroy(comm) != GOSS_SUCCESS) return fail("destroy");
  if (rank == 0) std::printf("all rounds are right\n");
  return 0;
}

int useFunneled() {
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return 2;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  goss_comm_t comm = nullptr;
  if (goss_comm_create_from_mpi(MPI_COMM_WORLD, nullptr, &comm) != GOSS_SUCCESS) return fail("create");
  const int result = reduce(comm, rank, ranks);
  MPI_Finalize();
  return result;
}

/// Only the library initialises MPI.
int useAlone() {
  goss_comm_t comm = nullptr;
  if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS) return fail("create");
  int rank = 0;
  int ranks = 0;
  if (goss_comm_rank(comm, &rank) != GOSS_SUCCESS || goss_comm_size(comm, &ranks) != GOSS_SUCCESS) return fail("rank");
  return reduce(comm, rank, ranks);
}

/// Whether a communicator is refused with `wanted` in the text.
int expectRefusal(const char* wanted) {
  goss_comm_t comm = nullptr;
  const goss_status status = goss_comm_create(nullptr, &comm);
  if (status != GOSS_ERR_UNSUPPORTED || std::strstr(goss_last_error(), wanted) == nullptr) return fail(wanted);
  return 0;
}

int beRefused() {
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level) != MPI_SUCCESS || level != MPI_THREAD_SINGLE)
    return 2;
  int result = expectRefusal("MPI_THREAD_SINGLE");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (result == 0) result = expectRefusal("MPI is finalized");
  if (result == 0 && rank == 0) std::printf("all refusals are right\n");
  return result;
}

int beRefusedInThreads() {
  int level = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return 2;
  if (level != MPI_THREAD_FUNNELED) return 2;
  int result = 0;
  std::thread([&] { result = expectRefusal("MPI_THREAD_FUNNELED"); }).join();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  if (result == 0 && rank == 0) std::printf("all refusals are right\n");
  return result;
}

/// Two ranks in one process.
int shareProcess() {
  goss_unique_id id;
  if (goss_unique_id_create(&id) != GOSS_SUCCESS) return fail("id");
  int results[2] = {1, 1};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      goss_config config;
      goss_config_init(&config);
      config.rank = rank;
      config.ranks = 2;
      config.unique_id = &id;
      goss_comm_t comm = nullptr;
      const goss_status status = goss_comm_create(&config, &comm);
      const bool right = status != GOSS_SUCCESS && std::strstr(goss_last_error(), "one process of one MPI job");
      results[rank] = right ? 0 : fail("two ranks in one process");
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  if (results[0] == 0 && results[1] == 0) std::printf("all refusals are right\n");
  return results[0] + results[1];
}

} // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "funneled") return useFunneled();
  if (way == "alone") return useAlone();
  if (way == "refused") return beRefused();
  if (way == "thread") return beRefusedInThreads();
  if (way == "shared") return shareProcess();
  std::fprintf(stderr, "error: %s\n", "funneled, alone, refused, thread or shared");
  return 2;
}

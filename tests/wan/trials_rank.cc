// One rank of a job whose plans are compared while it runs: large all-reduces of two sizes, blocking on some ranks and
// not on others, one after the other, several at once and on two communicators in different orders, with messages
// between them. Rank r writes what was compared to $TRIALS.r. With an argument, rank 1 ends without a word in the
// middle, and the others must be told so.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/gossamer.h"
#include "gossamer/links.h"

namespace {

constexpr int kCalls = 16;
constexpr int kAtOnce = 4;

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, goss_last_error());
  return 1;
}

struct Job {
  goss_comm_t comm = nullptr;
  int32_t rank = 0;
  int32_t size = 0;
};

/// Starts an all-reduce of ones; even ranks block in it where `alone`.
bool begin(const Job& job, std::vector<float>& values, bool alone, goss_request_t* request) {
  values.assign(values.size(), 1.0f);
  const bool blocks = alone && job.rank % 2 == 0;
  return goss_all_reduce(job.comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr,
                         blocks ? nullptr : request) == GOSS_SUCCESS;
}

bool isRight(const Job& job, const std::vector<float>& values) {
  for (const float value : values)
    if (value != static_cast<float>(job.size)) return false;
  return true;
}

/// One all-reduce on each of two communicators at once, which odd ranks start and wait for in the other order.
bool crossed(const Job& job, goss_comm_t twin, std::vector<std::vector<float>>& vectors) {
  const Job jobs[] = {job, {twin, job.rank, job.size}};
  goss_request_t requests[2] = {};
  for (const std::size_t turn : {0, 1}) {
    const std::size_t which = (turn + static_cast<std::size_t>(job.rank)) % 2;
    if (!begin(jobs[which], vectors[which], false, &requests[which])) return false;
  }
  for (const std::size_t turn : {0, 1}) {
    const std::size_t which = (turn + static_cast<std::size_t>(job.rank)) % 2;
    if (goss_wait(&requests[which], nullptr) != GOSS_SUCCESS || !isRight(job, vectors[which])) return false;
  }
  return true;
}

/// The next rank waits for a byte before it goes on, which deadlocks if starting a call ever blocks.
bool passOn(const Job& job) {
  char token = 0;
  if (job.rank > 0 && goss_recv(job.comm, &token, 1, GOSS_UINT8, job.rank - 1, 7, nullptr, nullptr) != GOSS_SUCCESS)
    return false;
  return job.rank + 1 == job.size ||
         goss_send(job.comm, &token, 1, GOSS_UINT8, job.rank + 1, 7, nullptr, nullptr) == GOSS_SUCCESS;
}

/// Writes what goss_comm_trials says, when rank 0's last decision has arrived, to $TRIALS.RANK, where that is set.
bool writeTrials(const Job& job) {
  const char* path = std::getenv("TRIALS");
  if (path == nullptr) return true;
  char* json = nullptr;
  if (goss_barrier(job.comm, nullptr, nullptr) != GOSS_SUCCESS) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (goss_comm_trials(job.comm, &json) != GOSS_SUCCESS) return false;
  std::ofstream file(std::string(path) + "." + std::to_string(job.rank));
  file << json << '\n';
  goss_free(json);
  return file.good();
}

} // namespace

int main(int argc, char**) {
  Job job;
  if (goss_comm_create(nullptr, &job.comm) != GOSS_SUCCESS) return failed("joining");
  if (goss_comm_rank(job.comm, &job.rank) != GOSS_SUCCESS || goss_comm_size(job.comm, &job.size) != GOSS_SUCCESS)
    return 1;
  std::vector<std::vector<float>> vectors(kAtOnce, std::vector<float>(1 << 18));
  vectors.back().resize(400'000);
  goss_comm_t twin = nullptr;
  for (int call = 0; call < kCalls; ++call) {
    if (argc > 1 && call == kCalls / 2 && job.rank == 1) std::_Exit(0);
    if (call == 2 && goss_comm_dup(job.comm, &twin) != GOSS_SUCCESS) return failed("duplicating"); // In the middle.
    if (call >= 2 && !crossed(job, twin, vectors)) return failed("calls on two communicators");
    const int count = call % 4 == 3 ? kAtOnce : 1;
    if (count > 1 && job.rank > 0 && !passOn(job)) return failed("receiving");
    std::vector<goss_request_t> requests(kAtOnce);
    for (int i = 0; i < count; ++i) {
      auto& values = vectors[static_cast<std::size_t>(count > 1 ? i : call % kAtOnce)];
      if (!begin(job, values, count == 1, &requests[static_cast<std::size_t>(i)])) return failed("starting");
    }
    if (count > 1 && job.rank == 0 && !passOn(job)) return failed("sending");
    for (goss_request_t& request : requests)
      if (request != nullptr && goss_wait(&request, nullptr) != GOSS_SUCCESS) return failed("waiting");
    for (int i = 0; i < count; ++i) {
      if (isRight(job, vectors[static_cast<std::size_t>(count > 1 ? i : call % kAtOnce)])) continue;
      std::fprintf(stderr, "call %d: rank %d has a wrong sum\n", call, job.rank);
      return 2;
    }
  }
  if (!writeTrials(job)) return failed("saying what was tried");
  goss_comm_destroy(twin);
  goss_comm_destroy(job.comm);
  if (job.rank == 0) std::printf("done\n");
  return 0;
}

// One rank of a job of which a link changes in the middle: large all-reduces, one after the other. In call CALLS, rank
// 0 makes the link of hosts 0 and 1 slow, and CALLS later as fast as before; CALLS later the job ends. Or the last rank
// ends without a word, and the others go on in a communicator of those that are left. Rank 0 prints the seconds of each
// call, and at the end what plans were compared.
//   follow_rank CALLS SLOW_MBIT USUAL_MBIT
//   follow_rank left
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "gossamer/links.h"

namespace {

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, goss_last_error());
  return 1;
}

/// Gives the link of hosts 0 and 1 this rate.
bool setRate(const std::string& mbit) {
  const std::string command = "\"$WANEM\" ctl --prefix \"$WANEM_PREFIX\" set 0 1 bw=" + mbit + " >/dev/null";
  return std::system(command.c_str()) == 0;
}

struct Job {
  goss_comm_t comm = nullptr;
  int32_t rank = 0;
  int32_t size = 0;
  std::vector<float> values = std::vector<float>(1 << 20);
};

bool know(Job& job) {
  return goss_comm_rank(job.comm, &job.rank) == GOSS_SUCCESS && goss_comm_size(job.comm, &job.size) == GOSS_SUCCESS;
}

/// All-reduces numbers that depend on `call`. 0: all sums are right.
int reduce(Job& job, int call) {
  const auto valueAt = [call](std::size_t i) { return static_cast<float>((i + static_cast<std::size_t>(call)) % 256); };
  for (std::size_t i = 0; i < job.values.size(); ++i)
    job.values[i] = valueAt(i);
  float* values = job.values.data();
  const auto begun = std::chrono::steady_clock::now();
  if (goss_all_reduce(job.comm, values, values, job.values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr) !=
      GOSS_SUCCESS)
    return failed("reducing");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  if (job.rank == 0) std::printf("call %d %.4f\n", call, took.count());
  for (std::size_t i = 0; i < job.values.size(); ++i) {
    if (job.values[i] == static_cast<float>(job.size) * valueAt(i)) continue;
    std::fprintf(stderr, "call %d: rank %d has a wrong sum\n", call, job.rank);
    return 3;
  }
  return 0;
}

int changeLink(Job& job, int calls, const char* slow, const char* usual) {
  for (int call = 0; call < 3 * calls; ++call) {
    if (job.rank == 0 && call == calls && !setRate(slow)) return failed("making a link slow");
    if (job.rank == 0 && call == 2 * calls && !setRate(usual)) return failed("making a link fast");
    if (const int status = reduce(job, call); status != 0) return status;
  }
  return 0;
}

int loseTheLast(Job& job) {
  if (const int status = reduce(job, 0); status != 0) return status;
  goss_comm_t whole = job.comm;
  const goss_status together = goss_barrier(whole, nullptr, nullptr); // The last rank ends when all have their sums.
  if (job.rank == job.size - 1) std::_Exit(together == GOSS_SUCCESS ? 0 : 1);
  if (goss_barrier(whole, nullptr, nullptr) == GOSS_SUCCESS) return failed("noticing that a rank is lost");
  if (goss_comm_shrink(whole, nullptr, &job.comm) != GOSS_SUCCESS) return failed("going on");
  goss_comm_destroy(whole);
  if (!know(job)) return 1;
  for (int call = 1; call < 4; ++call)
    if (const int status = reduce(job, call); status != 0) return status;
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const bool left = argc == 2 && std::string(argv[1]) == "left";
  if (!left && argc != 4) return 2;
  Job job;
  if (goss_comm_create(nullptr, &job.comm) != GOSS_SUCCESS || !know(job)) return failed("joining");
  const int status = left ? loseTheLast(job) : changeLink(job, std::atoi(argv[1]), argv[2], argv[3]);
  if (status != 0) return status;
  char* json = nullptr;
  if (job.rank == 0 && goss_comm_trials(job.comm, &json) == GOSS_SUCCESS) std::printf("%s\n", json);
  goss_free(json);
  goss_comm_destroy(job.comm);
  return 0;
}

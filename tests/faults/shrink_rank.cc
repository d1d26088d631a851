// One rank for the tests of goss_comm_shrink: reduces until something fails, shrinks, reduces, and so on.
//
//   shrink_rank COUNT SHRINKS [delay MS | suicide | absent | two | codec SPEC | until SIZE]
//
// A thread that is sent SIGUSR1 does nothing for three seconds, as one that gets no processor. The process
// ends after SHRINKS successful shrinks. `delay`: sleeps before each shrink; `suicide`: dies instead of the first
// one; `absent`: does not call it for a long time; `two`: two threads shrink two communicators at the same time;
// `until`: shrinks as often as it takes until SIZE ranks are left; `codec`: reduces compressed, and says "kept" when it
// could save the state of a codec that has failed. Lines on standard output: "ready", then for each failure "failed
// STATUS TEXT", "shrunk SIZE RANK" and "reduced" or "wrong" after a reduction over the new communicator; "refused
// STATUS TEXT, blames RANK" when the shrink fails; "done".
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/compression.h"
#include "gossamer/gossamer.h"

namespace {

struct Rank {
  std::size_t count = 1;
  std::string manner;
  long delay_ms = 0;
  long until = 0;
  const char* codec = nullptr;
  std::vector<float> send;
  std::vector<float> recv;
};

goss_status reduce(Rank& rank, goss_comm_t comm) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.codec = rank.codec;
  options.tensor = rank.codec != nullptr ? 1 : 0;
  return goss_all_reduce(comm, rank.send.data(), rank.recv.data(), rank.count, GOSS_FLOAT32, GOSS_SUM, &options,
                         nullptr);
}

bool reducesRight(Rank& rank, goss_comm_t comm) {
  int32_t size = 0;
  goss_comm_size(comm, &size);
  if (reduce(rank, comm) != GOSS_SUCCESS) return false;
  const auto expected = static_cast<float>(size);
  const float allowed = rank.codec != nullptr ? 0.02F * expected : 0;
  return std::all_of(rank.recv.begin(), rank.recv.end(),
                     [&](float value) { return std::abs(value - expected) <= allowed; });
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void prepareToShrink(const Rank& rank) {
  if (rank.manner == "suicide") ::raise(SIGKILL);
  if (rank.manner == "absent") std::this_thread::sleep_for(std::chrono::seconds(60));
  std::this_thread::sleep_for(std::chrono::milliseconds(rank.delay_ms));
}

/// Replaces `comm`. False: it could not be shrunk, as was said.
bool shrink(goss_comm_t& comm) {
  goss_comm_t smaller = nullptr;
  if (const goss_status status = goss_comm_shrink(comm, nullptr, &smaller); status != GOSS_SUCCESS) {
    const std::string text = goss_last_error();
    int32_t blamed = -1;
    goss_last_error_rank(comm, &blamed);
    say("refused " + std::to_string(status) + " " + text + ", blames " + std::to_string(blamed));
    std::this_thread::sleep_for(std::chrono::seconds(1)); // The others are to be refused for the same reason.
    return false;
  }
  goss_comm_destroy(comm);
  comm = smaller;
  return true;
}

/// Two communicators in two threads at once, in the opposite order on odd ranks.
bool shrinkBoth(goss_comm_t& first, goss_comm_t& second) {
  bool other = false;
  std::thread thread([&] { other = shrink(second); });
  const bool one = shrink(first);
  thread.join();
  return one && other;
}

/// Returns the number of ranks that are left.
int32_t report(Rank& rank, goss_comm_t comm) {
  int32_t size = 0;
  int32_t self = 0;
  goss_comm_size(comm, &size);
  goss_comm_rank(comm, &self);
  say("shrunk " + std::to_string(size) + " " + std::to_string(self));
  say(reducesRight(rank, comm) ? "reduced" : std::string("wrong ") + goss_last_error());
  return size;
}

/// The state that a failed operation has left half changed must not reach a checkpoint.
bool savesState(goss_comm_t comm) {
  void* bytes = nullptr;
  std::size_t size = 0;
  if (goss_codec_state_export(comm, &bytes, &size) != GOSS_SUCCESS) return false;
  goss_free(bytes);
  return true;
}

int run(Rank& rank, int shrinks, goss_comm_t comm, goss_comm_t second) {
  for (long i = 0;; ++i) {
    if (i == 3) say("ready");
    if (reduce(rank, comm) == GOSS_SUCCESS) continue;
    say(std::string("failed ") + goss_last_error());
    if (rank.codec != nullptr && savesState(comm)) say("kept");
    prepareToShrink(rank);
    if (!(second != nullptr ? shrinkBoth(comm, second) : shrink(comm))) return 0;
    const int32_t left = report(rank, comm);
    if (second != nullptr) report(rank, second);
    if (rank.until > 0 ? left <= rank.until : --shrinks == 0) break;
    i = 0;
  }
  goss_comm_destroy(comm);
  goss_comm_destroy(second);
  say("done");
  return 0;
}

void doNothing(int) {
  const timespec span{3, 0};
  ::nanosleep(&span, nullptr);
}

} // namespace

int main(int argc, char** argv) {
  struct sigaction doze {};
  doze.sa_handler = doNothing;
  doze.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &doze, nullptr);
  if (argc < 3 || (argc == 4 && std::string(argv[3]) == "codec")) return 2;
  Rank rank;
  rank.count = std::strtoull(argv[1], nullptr, 10);
  if (argc > 3) rank.manner = argv[3];
  if (rank.manner == "codec") rank.codec = argv[4];
  if (argc > 4) (rank.manner == "until" ? rank.until : rank.delay_ms) = std::strtol(argv[4], nullptr, 10);
  rank.send.assign(rank.count, 1.0F);
  rank.recv.resize(rank.count);
  goss_comm_t comm = nullptr;
  goss_comm_t second = nullptr;
  if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS ||
      (rank.manner == "two" && goss_comm_dup(comm, &second) != GOSS_SUCCESS)) {
    say(std::string("failed create ") + goss_last_error());
    return 2;
  }
  return run(rank, std::atoi(argv[2]), comm, second);
}

// One rank for the fault tests: reduces over and over until an error comes, and prints the error.
//
// Lines on standard output: "ready" once the communicator works, then "failed STATUS TEXT". Arguments: elements, calls
// at most, and "lent" for buffers of goss_mem_alloc. These are written anew after the failure, and a second later the
// last line is "kept", or "overwritten" if anybody has touched them since. With "messages" two ranks send each other
// windows of such messages, not to their end: each says "ready" when it has begun to wait for ones that never come.
// With "window" each adds to the memory of all others, averages with them, and waits for that; with "window-of-last" to
// the memory of the last rank alone.
// With "adpsgd" it makes steps of that synchronizer, says "alive" from time to time, and after the failure goes on with
// those that are left: the last line is "went on".
// With "receive-alone" all ranks but the first and the seventh leave; the seventh receives from any rank when it is
// sent SIGUSR1. With "many" each rank has 12 communicators, and the first sends messages to the second, which stops
// when it has received one; the last line of the first comes when all communicators have failed. With "abort-and-leave"
// the second rank stops itself, and the first aborts two communicators and leaves when it is sent SIGUSR1. With
// "last-barrier" the second rank begins a barrier and stops itself; the first enters it when it is sent SIGUSR1, and
// exits without destroying its communicator. With "idle" all ranks but the first wait to be killed, and that makes no
// call but goss_comm_error. With "reversed-killed" and "reversed-leaves" the ranks reduce in a communicator where the
// last one is rank 0, which waits to be killed, or leaves when it is sent SIGUSR1. With "destroyed" rank 0 of three
// destroys its communicator while another thread of it receives, and the other two reduce. With
// "checked" (scripts/faults) it looks at every result, says "wrong" when one is, and "alive" from time to time; a
// fourth word is what the last rank does after a while, having said "fault": "mismatch", "abort", or "leave", which
// destroys the communicator and waits to be killed.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/sync.h"
#include "gossamer/window.h"

namespace {

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

const char* keptOrNot(float* results, std::size_t count) {
  std::fill(results, results + count, -1.0F);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return std::all_of(results, results + count, [](float value) { return value == -1.0F; }) ? "kept" : "overwritten";
}

/// Exchanges windows of messages, and then waits for a window that is never sent.
goss_status exchange(goss_comm_t comm, std::size_t count) {
  constexpr std::size_t kWindow = 32;
  std::int32_t rank = 0;
  (void)goss_comm_rank(comm, &rank);
  std::vector<float> in(count * kWindow);
  std::vector<float> out(count, 1.0F);
  for (int round = 0; round < 20; ++round) {
    std::vector<goss_request_t> requests(2 * kWindow);
    for (std::size_t i = 0; i < kWindow; ++i) {
      const goss_status status =
          goss_recv(comm, &in[i * count], count, GOSS_FLOAT32, 1 - rank, 0, nullptr, &requests[i]);
      if (status != GOSS_SUCCESS) return status;
    }
    if (round == 19) {
      std::printf("ready\n");
      std::fflush(stdout);
    }
    for (std::size_t i = 0; i < kWindow && round < 19; ++i) {
      const goss_status status =
          goss_send(comm, out.data(), count, GOSS_FLOAT32, 1 - rank, 0, nullptr, &requests[kWindow + i]);
      if (status != GOSS_SUCCESS) return status;
    }
    if (const goss_status status = goss_wait_all(requests.data(), requests.size()); status != GOSS_SUCCESS)
      return status;
  }
  return GOSS_SUCCESS;
}

/// Uses a window of all other ranks in turn, or of the last rank alone, until something fails.
goss_status accessWindow(goss_comm_t comm, std::size_t count, bool of_last) {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  (void)goss_comm_rank(comm, &rank);
  (void)goss_comm_size(comm, &ranks);
  static std::vector<float> memory; // The window has it until the communicator is gone.
  memory.resize(count);
  const std::vector<float> ones(count, 1.0F);
  goss_window_t window = nullptr;
  goss_status status = goss_window_create(comm, memory.data(), count, GOSS_FLOAT32, nullptr, &window);
  for (long i = 0; status == GOSS_SUCCESS; ++i) {
    const auto other = static_cast<std::int32_t>((rank + 1 + i % (ranks - 1)) % ranks);
    const std::int32_t target = of_last && rank != ranks - 1 ? ranks - 1 : other;
    status = goss_window_accumulate(window, ones.data(), count, GOSS_SUM, target, 0, nullptr, nullptr);
    if (status == GOSS_SUCCESS) status = goss_pair_average(window, target, count, 0, nullptr, nullptr, nullptr);
    if (status == GOSS_SUCCESS) status = goss_window_flush(window, target, nullptr);
    if (i == 4) {
      std::printf("ready\n");
      std::fflush(stdout);
    }
  }
  return status;
}

/// The rank that is left with rank 0 when all others have left.
constexpr std::int32_t kLeft = 6;

/// Blocks SIGUSR1 for this thread, and says "ready".
sigset_t beReadyToBegin() {
  sigset_t begin;
  ::sigemptyset(&begin);
  ::sigaddset(&begin, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &begin, nullptr);
  say("ready");
  return begin;
}

/// Rank 0 waits to be killed. kLeft receives from any rank when it gets SIGUSR1, and returns how that ended. The other
/// ranks return success at once, so that they leave.
goss_status receiveAlone(goss_comm_t comm, std::int32_t rank) {
  const sigset_t begin = beReadyToBegin();
  if (rank == 0) ::pause();
  if (rank != kLeft) return GOSS_SUCCESS;
  int number = 0;
  ::sigwait(&begin, &number);
  float value = 0;
  return goss_recv(comm, &value, 1, GOSS_FLOAT32, GOSS_ANY_SOURCE, 0, nullptr, nullptr);
}

/// Rank 0 aborts this communicator and another one when it gets SIGUSR1, and leaves. Rank 1 stops, and returns how a
/// reduction ends when it is continued.
goss_status abortAndLeave(goss_comm_t comm, std::int32_t rank) {
  goss_comm_t other = nullptr;
  goss_status status = goss_comm_dup(comm, &other);
  if (status != GOSS_SUCCESS) return status;
  if (rank == 0) {
    const sigset_t begin = beReadyToBegin();
    int number = 0;
    ::sigwait(&begin, &number);
    goss_comm_abort(other, "the other one first");
    goss_comm_abort(comm, "as was asked");
  } else {
    say("ready");
    ::raise(SIGSTOP);
    float value = 0;
    status = goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    say("failed " + std::to_string(status) + " " + goss_last_error());
  }
  goss_comm_destroy(other);
  return GOSS_SUCCESS;
}

/// Rank 1 begins a barrier, stops, and returns how the barrier ends when it is continued. Rank 0 enters it when it gets
/// SIGUSR1, and exits.
goss_status meetInLastBarrier(goss_comm_t comm, std::int32_t rank) {
  if (rank == 0) {
    const sigset_t begin = beReadyToBegin();
    int number = 0;
    ::sigwait(&begin, &number);
    const goss_status status = goss_barrier(comm, nullptr, nullptr);
    ::_exit(status == GOSS_SUCCESS ? 0 : 1);
  }
  goss_request_t request = nullptr;
  goss_status status = goss_barrier(comm, nullptr, &request);
  if (status != GOSS_SUCCESS) return status;
  say("ready");
  ::raise(SIGSTOP);
  status = goss_wait(&request, nullptr);
  if (status == GOSS_SUCCESS) say("passed");
  return status;
}

/// Rank 0 returns the error that its communicator comes to have. The other ranks wait to be killed.
goss_status lookAtErrors(goss_comm_t comm, std::int32_t rank) {
  say("ready");
  if (rank != 0) ::pause();
  goss_status error = GOSS_SUCCESS;
  const char* text = "";
  for (int i = 0; i < 20000 && error == GOSS_SUCCESS; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    (void)goss_comm_error(comm, &error, &text);
  }
  say("failed " + std::to_string(error) + " " + text);
  return GOSS_SUCCESS;
}

/// All ranks but the last of the world, which is rank 0 of `reversed`, return how a reduction ends.
goss_status reduceReversed(goss_comm_t comm, std::int32_t rank, bool leaves) {
  std::int32_t ranks = 0;
  (void)goss_comm_size(comm, &ranks);
  goss_comm_t reversed = nullptr;
  float value = 0;
  goss_status status = goss_comm_split(comm, 0, -rank, &reversed);
  if (status == GOSS_SUCCESS)
    status = goss_all_reduce(reversed, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
  if (status != GOSS_SUCCESS) return status;
  const sigset_t begin = beReadyToBegin();
  int number = 0;
  if (rank == ranks - 1 && leaves) {
    ::sigwait(&begin, &number);
  } else if (rank == ranks - 1) {
    ::pause();
  } else {
    status = goss_all_reduce(reversed, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    say("failed " + std::to_string(status) + " " + goss_last_error());
    // If it left at once, the other survivor might notice that first.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  goss_comm_destroy(reversed);
  return GOSS_SUCCESS;
}

/// Rank 0 has reduced to rank 1, and destroys its communicator when it is continued, while a thread of it receives.
/// Rank 2 reduces a second later.
goss_status destroyBesideACall(goss_comm_t comm, std::int32_t rank) {
  float value = 1;
  float sum = 0;
  if (rank == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
  const goss_status status = goss_reduce(comm, &value, &sum, 1, GOSS_FLOAT32, GOSS_SUM, 1, nullptr, nullptr);
  if (status != GOSS_SUCCESS || rank != 0) {
    if (status == GOSS_SUCCESS) say("reduced");
    return status;
  }
  std::atomic<bool> receives{false};
  std::thread receiver([comm, &receives] {
    float never = 0;
    receives = true;
    (void)goss_recv(comm, &never, 1, GOSS_FLOAT32, 2, 9, nullptr, nullptr);
  });
  while (!receives)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  say("stops");
  ::raise(SIGSTOP);
  goss_comm_destroy(comm);
  receiver.join();
  ::_exit(0);
}

constexpr std::size_t kMany = 32; ///< Messages from rank 0 to rank 1.

/// Receives a few of the messages that rank 0 has begun to send, and stops.
goss_status receiveSomeAndStop(goss_comm_t comm, std::size_t count) {
  std::vector<float> vectors(kMany * count);
  std::vector<goss_request_t> requests(kMany);
  float begun = 0;
  goss_status status = goss_recv(comm, &begun, 1, GOSS_FLOAT32, 0, 1, nullptr, nullptr);
  for (std::size_t i = 0; i < kMany && status == GOSS_SUCCESS; ++i)
    status = goss_recv(comm, &vectors[i * count], count, GOSS_FLOAT32, 0, 0, nullptr, &requests[i]);
  if (status == GOSS_SUCCESS) status = goss_wait_all(requests.data(), kMany / 4);
  if (status != GOSS_SUCCESS) return status;
  say("ready");
  ::raise(SIGSTOP);
  return goss_wait_all(&requests[kMany / 4], kMany - kMany / 4);
}

/// Rank 0 sends kMany messages to rank 1, which receives some and stops. Returns on rank 0 when all communicators have
/// failed, and on rank 1 when it is continued.
goss_status sendWithManyCommunicators(goss_comm_t comm, std::int32_t rank, std::size_t count) {
  goss_comm_t more[11];
  for (goss_comm_t& one : more)
    if (const goss_status status = goss_comm_dup(comm, &one); status != GOSS_SUCCESS) return status;
  if (rank == 1) return receiveSomeAndStop(comm, count);
  if (rank == 2) {
    say("ready");
    ::pause();
  }
  const std::vector<float> vector(count);
  std::vector<goss_request_t> requests(kMany);
  goss_status status = GOSS_SUCCESS;
  for (std::size_t i = 0; i < kMany && status == GOSS_SUCCESS; ++i)
    status = goss_send(comm, vector.data(), count, GOSS_FLOAT32, 1, 0, nullptr, &requests[i]);
  if (status == GOSS_SUCCESS) status = goss_send(comm, vector.data(), 1, GOSS_FLOAT32, 1, 1, nullptr, nullptr);
  if (status != GOSS_SUCCESS) return status;
  say("ready");
  status = goss_wait_all(requests.data(), kMany);
  for (goss_comm_t one : more) {
    if (float value = 0; goss_recv(one, &value, 1, GOSS_FLOAT32, 1, 0, nullptr, nullptr) == GOSS_SUCCESS)
      say("a communicator has not failed");
  }
  return status;
}

/// A synchronizer of pair averages over one vector.
goss_sync_t inPairs(goss_comm_t comm, std::vector<float>& x) {
  goss_sync_t sync = nullptr;
  goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
  tensor.name = "x";
  tensor.parameter = x.data();
  tensor.count = x.size();
  const bool made = goss_sync_create(comm, "adpsgd", &sync) == GOSS_SUCCESS &&
                    goss_sync_register(sync, &tensor, nullptr) == GOSS_SUCCESS && goss_sync_start(sync) == GOSS_SUCCESS;
  if (!made) say(std::string("no synchronizer: ") + goss_last_error());
  return sync;
}

/// Steps until one fails, and 10 of 1/8 each with the ranks that are left, from their mean on.
void trainInPairs(goss_comm_t comm, std::size_t count) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> x(count);
  goss_sync_t sync = inPairs(comm, x);
  Clock::time_point said = Clock::now();
  for (long i = 0; goss_sync_step(sync) == GOSS_SUCCESS; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (i == 3) say("ready");
    if (i < 3 || Clock::now() - said < std::chrono::milliseconds(20)) continue;
    said = Clock::now();
    say("alive");
  }
  say(std::string("failed ") + goss_last_error());
  goss_sync_destroy(sync);
  goss_comm_t rest = nullptr;
  if (goss_comm_shrink(comm, nullptr, &rest) != GOSS_SUCCESS) return say(goss_last_error());
  std::int32_t rank = 0;
  (void)goss_comm_rank(rest, &rank);
  std::fill(x.begin(), x.end(), static_cast<float>(rank));
  (void)goss_all_reduce(rest, x.data(), x.data(), count, GOSS_FLOAT32, GOSS_AVG, nullptr, nullptr);
  const float mean = x[0];
  sync = inPairs(rest, x);
  for (int step = 0; step < 10; ++step) {
    for (float& value : x)
      value += 0.125F;
    (void)goss_sync_step(sync);
  }
  const goss_status status = goss_sync_finish(sync);
  const bool right = status == GOSS_SUCCESS && std::abs(x[0] - mean - 1.25F) < 1e-4F;
  say(right ? "went on" : std::string("wrong: ") + goss_last_error());
  goss_sync_destroy(sync);
  goss_comm_destroy(rest);
}

/// The last rank's fault. Only a mismatch has a status.
goss_status misbehave(goss_comm_t comm, const std::string& fault, std::vector<float>& vector) {
  say("fault");
  if (fault == "mismatch") {
    return goss_all_reduce(comm, vector.data(), vector.data(), vector.size(), GOSS_FLOAT32, GOSS_MAX, nullptr, nullptr);
  }
  if (fault == "abort") goss_comm_abort(comm, "as was asked");
  if (fault == "leave") goss_comm_destroy(comm);
  for (;;)
    ::pause();
}

/// Reduces until something fails, and looks at all results.
goss_status reduceChecked(goss_comm_t comm, std::size_t count, const std::string& fault) {
  using Clock = std::chrono::steady_clock;
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  (void)goss_comm_rank(comm, &rank);
  (void)goss_comm_size(comm, &ranks);
  std::vector<float> in(count, 1.0F);
  std::vector<float> out(count);
  const Clock::time_point begin = Clock::now();
  Clock::time_point said = begin;
  for (long i = 0;; ++i) {
    if (!fault.empty() && rank == ranks - 1 && i > 4 && Clock::now() - begin > std::chrono::milliseconds(300))
      return misbehave(comm, fault, in);
    const goss_status status =
        goss_all_reduce(comm, in.data(), out.data(), count, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    if (status != GOSS_SUCCESS) return status;
    const bool right = std::all_of(out.begin(), out.end(), [&](float x) { return x == static_cast<float>(ranks); });
    if (!right) say("wrong");
    if (i == 3) say("ready");
    if (Clock::now() - said < std::chrono::milliseconds(20)) continue;
    said = Clock::now();
    say("alive");
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const long longest = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 1000000000;
  goss_comm_t comm = nullptr;
  if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS) {
    std::printf("failed create %s\n", goss_last_error());
    return 2;
  }
  const std::string manner = argc > 3 ? argv[3] : "";
  std::int32_t rank = 0;
  (void)goss_comm_rank(comm, &rank);
  const std::map<std::string, std::function<goss_status()>> manners = {
      {"receive-alone", [&] { return receiveAlone(comm, rank); }},
      {"many", [&] { return sendWithManyCommunicators(comm, rank, count); }},
      {"abort-and-leave", [&] { return abortAndLeave(comm, rank); }},
      {"last-barrier", [&] { return meetInLastBarrier(comm, rank); }},
      {"idle", [&] { return lookAtErrors(comm, rank); }},
      {"reversed-killed", [&] { return reduceReversed(comm, rank, false); }},
      {"reversed-leaves", [&] { return reduceReversed(comm, rank, true); }},
      {"destroyed", [&] { return destroyBesideACall(comm, rank); }},
  };
  if (const auto found = manners.find(manner); found != manners.end()) {
    const goss_status status = found->second();
    if (status != GOSS_SUCCESS) say("failed " + std::to_string(status) + " " + goss_last_error());
    goss_comm_destroy(comm);
    return 0;
  }
  const bool of_last = manner == "window-of-last";
  if (manner == "messages" || manner == "window" || of_last) {
    const goss_status status = manner == "messages" ? exchange(comm, count) : accessWindow(comm, count, of_last);
    std::printf("failed %d %s\n", status, goss_last_error());
    goss_comm_destroy(comm);
    return 0;
  }
  if (manner == "adpsgd") {
    trainInPairs(comm, count);
    goss_comm_destroy(comm);
    return 0;
  }
  if (manner == "checked") {
    const goss_status status = reduceChecked(comm, count, argc > 4 ? argv[4] : "");
    say("failed " + std::to_string(status) + " " + goss_last_error());
    // If it left at once, the others would notice its departure first.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    goss_comm_destroy(comm);
    return 0;
  }
  const bool lent = manner == "lent";
  std::vector<float> ordinary[2];
  float* buffers[2];
  for (int i = 0; i < 2; ++i) {
    void* memory = nullptr;
    if (lent && goss_mem_alloc(comm, count * sizeof(float), &memory) != GOSS_SUCCESS) return 3;
    if (!lent) ordinary[i].resize(count);
    buffers[i] = lent ? static_cast<float*>(memory) : ordinary[i].data();
  }
  std::fill(buffers[0], buffers[0] + count, 1.0F);
  for (long i = 0; i < longest; ++i) {
    const goss_status status =
        goss_all_reduce(comm, buffers[0], buffers[1], count, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    if (status != GOSS_SUCCESS) {
      std::printf("failed %d %s\n", status, goss_last_error());
      std::fflush(stdout);
      if (lent) std::printf("%s\n", keptOrNot(buffers[1], count));
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

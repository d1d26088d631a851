#include "bindings/mpi/progress.h"

#include <atomic>
#include <chrono>
#include <thread>

extern "C" {
// Open MPI's progress engine, from libopen-pal, which libmpi brings.
void opal_progress(void);
int opal_progress_register(int (*callback)(void));
int opal_progress_unregister(int (*callback)(void));
}

namespace goss::interposer {

Outcome outcomeOf(goss_status status) {
  if (status == GOSS_SUCCESS) return {};
  return {status, goss_last_error()};
}

Outcome waitFor(goss_request_t request) {
  constexpr int kPatience = 16;
  int done = 0;
  for (int turn = 0;; ++turn) {
    // Short collectives mostly end in the first tests.
    for (int test = 0; test < 8; ++test) {
      const goss_status status = goss_test(&request, &done, nullptr);
      if (done != 0) return outcomeOf(status);
    }
    opal_progress();
    // Another thread, or another rank that shares the processor, may be what this one waits for.
    if (turn > kPatience) std::this_thread::yield();
  }
}

Outcome helpingMpi(const std::function<goss_status()>& call) {
  Outcome outcome;
  std::atomic<bool> done{false};
  std::thread thread([&] {
    outcome = outcomeOf(call());
    done = true;
  });
  while (!done) {
    opal_progress();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  thread.join();
  return outcome;
}

void startPolling(int (*poll)()) { opal_progress_register(poll); }
void stopPolling(int (*poll)()) { opal_progress_unregister(poll); }

} // namespace goss::interposer

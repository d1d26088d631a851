// One rank that trains in steps of a given length, as goss-sim simulates it: rank 0 prints the seconds of a step.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/gossamer.h"
#include "gossamer/sync.h"

namespace {

using Clock = std::chrono::steady_clock;

int failed(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, goss_last_error());
  return 1;
}

} // namespace

/// Usage: step_rank SYNC TENSORS ELEMENTS_OF_EACH STEP_SECONDS STEPS SKIPPED. The first SKIPPED steps are not timed.
int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const auto tensors = static_cast<std::size_t>(std::atol(argv[2]));
  const auto elems = static_cast<std::size_t>(std::atol(argv[3]));
  const std::chrono::duration<double> step(std::atof(argv[4]));
  const int steps = std::atoi(argv[5]);
  const int skipped = std::atoi(argv[6]);
  goss_comm_t comm = nullptr;
  goss_sync_t sync = nullptr;
  std::int32_t rank = 0;
  if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS) return failed("joining");
  if (goss_comm_rank(comm, &rank) != GOSS_SUCCESS) return failed("asking for the rank");
  if (goss_sync_create(comm, argv[1], &sync) != GOSS_SUCCESS) return failed("making the synchronizer");
  std::vector<std::vector<float>> parameters(tensors, std::vector<float>(elems, 1.0f));
  std::vector<std::vector<float>> gradients(tensors, std::vector<float>(elems, 1e-3f));
  for (std::size_t i = 0; i < tensors; ++i) {
    const std::string name = std::to_string(i);
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = name.c_str();
    tensor.parameter = parameters[i].data();
    tensor.gradient = gradients[i].data();
    tensor.count = elems;
    tensor.layer = static_cast<std::int32_t>(i);
    if (goss_sync_register(sync, &tensor, nullptr) != GOSS_SUCCESS) return failed("registering");
  }
  if (goss_sync_start(sync) != GOSS_SUCCESS) return failed("starting");
  Clock::time_point begun = Clock::now();
  for (int done = 0; done < steps; ++done) {
    if (done == skipped) begun = Clock::now();
    const Clock::time_point from = Clock::now();
    for (std::size_t i = tensors; i-- > 0;) { // a third forward, the rest backward
      const double part = 1.0 / 3 + 2.0 / 3 * static_cast<double>(tensors - i) / static_cast<double>(tensors);
      std::this_thread::sleep_until(from + std::chrono::duration_cast<Clock::duration>(part * step));
      if (goss_sync_gradient_ready(sync, static_cast<std::int32_t>(i)) != GOSS_SUCCESS) return failed("a gradient");
    }
    if (goss_sync_gradients(sync) != GOSS_SUCCESS) return failed("gradients");
    if (goss_sync_step(sync) != GOSS_SUCCESS) return failed("a step");
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  if (rank == 0) std::printf("%.6f\n", took.count() / (steps - skipped));
  goss_sync_destroy(sync);
  goss_comm_destroy(comm);
  return 0;
}

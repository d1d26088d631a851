#include "tests/cuda/standin/settings.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>

namespace standin {

namespace {

std::uint64_t number(const char* variable, std::uint64_t standard) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? standard : std::strtoull(text, nullptr, 10);
}

Settings read() {
  Settings read;
  read.devices = static_cast<int>(number("CUDA_STANDIN_DEVICES", 1));
  read.delay_us = static_cast<int>(number("CUDA_STANDIN_DELAY_US", 0));
  read.one_queue = number("CUDA_STANDIN_ONE_QUEUE", 0) != 0;
  read.memops = static_cast<int>(number("CUDA_STANDIN_MEMOPS", 1));
  read.kernels = static_cast<int>(number("CUDA_STANDIN_KERNELS", 1));
  read.launch_blocking = number("CUDA_STANDIN_LAUNCH_BLOCKING", 0) != 0;
  read.lazy = number("CUDA_STANDIN_LAZY", 0) != 0;
  read.lock = number("CUDA_STANDIN_LOCK", 0) != 0;
  read.fail_at = number("CUDA_STANDIN_FAIL_AT", 0);
  read.fail_code = static_cast<int>(number("CUDA_STANDIN_FAIL_CODE", 719));
  read.memory_bytes = number("CUDA_STANDIN_MEMORY_BYTES", read.memory_bytes);
  read.ipc = static_cast<int>(number("CUDA_STANDIN_IPC", 1));
  read.reuse = number("CUDA_STANDIN_REUSE", 0) != 0;
  read.pinned_fail_at = number("CUDA_STANDIN_PINNED_FAIL_AT", 0);
  read.report = number("CUDA_STANDIN_REPORT", 0) != 0;
  return read;
}

std::atomic<std::uint64_t> to_host{0};
std::atomic<std::uint64_t> to_device{0};
std::atomic<std::uint64_t> within{0};
std::atomic<std::uint64_t> classified{0};
std::atomic<std::uint64_t> pinned{0};
std::atomic<std::uint64_t> found{0};
std::atomic<std::uint64_t> opened{0};
std::atomic<bool> copies_synchronize{false};

/// What cudaStandinConfigure() replaces. It outlives the threads of queues, which nobody joins at the end of a process.
struct State {
  std::mutex mutex;
  std::list<Settings> all{read()}; ///< Earlier ones stay, for threads that read them.
  std::atomic<const Settings*> settings{&all.back()};
  std::map<int, std::shared_ptr<Health>> healths; ///< By device.
};

State& state() {
  static State& only = *new State;
  return only;
}

/// Writes the counts when the process ends.
struct Report {
  ~Report() {
    if (!settings().report) return;
    std::uint64_t calls = 0;
    for (const auto& [device, health] : state().healths)
      calls += health->calls;
    std::fprintf(stderr, "cuda stand-in %d: %lu calls, %lu complaints\n", ::getpid(), calls, found.load());
  }
} report;

} // namespace

const Settings& settings() { return *state().settings.load(std::memory_order_acquire); }

int Health::countCall() {
  if (calls.fetch_add(1) + 1 == fail_at) lose(settings().fail_code);
  return error.load(std::memory_order_acquire);
}

std::shared_ptr<Health> healthOf(int device) {
  const std::lock_guard lock(state().mutex);
  std::shared_ptr<Health>& health = state().healths[device];
  if (health == nullptr) health = std::make_shared<Health>();
  return health;
}

void countCopy(bool from_device, bool on_device, std::size_t bytes) {
  if (from_device || on_device) (from_device && on_device ? within : on_device ? to_device : to_host) += bytes;
}

void countClassified() { ++classified; }

void countOpened() { ++opened; }

bool copiesSynchronize() { return copies_synchronize; }
void setCopiesSynchronize(bool set) { copies_synchronize = set; }

bool pinnedFails() {
  const std::uint64_t first = settings().pinned_fail_at;
  return ++pinned >= first && first != 0;
}

void complain(const char* what) {
  found.fetch_add(1);
  std::fprintf(stderr, "cuda stand-in %d: %s\n", ::getpid(), what);
}

Counts counts() { return {to_host, to_device, within, classified, found, opened}; }

} // namespace standin

void cudaStandinConfigure(const standin::Settings& settings) {
  standin::setCopiesSynchronize(false);
  standin::State& state = standin::state();
  const std::lock_guard lock(state.mutex);
  state.all.push_back(settings);
  state.settings.store(&state.all.back(), std::memory_order_release);
  state.healths.clear();
  standin::pinned = 0;
}

void cudaStandinFail(int device, std::uint64_t calls) {
  const std::shared_ptr<standin::Health> health = standin::healthOf(device);
  health->fail_at = health->calls + calls;
}

bool cudaStandinRunsKernels() { return standin::settings().kernels != 0; }

void cudaStandinCounts(standin::Counts* counts) { *counts = standin::counts(); }

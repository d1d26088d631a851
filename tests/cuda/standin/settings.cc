#include "tests/cuda/standin/settings.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

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
  read.memops = number("CUDA_STANDIN_MEMOPS", 1) != 0;
  read.fail_at = number("CUDA_STANDIN_FAIL_AT", 0);
  read.fail_code = static_cast<int>(number("CUDA_STANDIN_FAIL_CODE", 719));
  read.memory_bytes = number("CUDA_STANDIN_MEMORY_BYTES", read.memory_bytes);
  read.pinned_fail_at = number("CUDA_STANDIN_PINNED_FAIL_AT", 0);
  read.report = number("CUDA_STANDIN_REPORT", 0) != 0;
  return read;
}

std::atomic<int> sticky{0};
std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> found{0};

/// Writes the counts when the process ends.
struct Report {
  ~Report() {
    if (settings().report)
      std::fprintf(stderr, "cuda stand-in %d: %lu calls, %lu complaints\n", ::getpid(), calls.load(), found.load());
  }
} report;

} // namespace

const Settings& settings() {
  static const Settings once = read();
  return once;
}

int stickyError() { return sticky.load(std::memory_order_acquire); }

void setStickyError(int code) {
  int none = 0;
  sticky.compare_exchange_strong(none, code);
}

int countCall() {
  const std::uint64_t index = calls.fetch_add(1) + 1;
  if (index == settings().fail_at) setStickyError(settings().fail_code);
  return stickyError();
}

void complain(const char* what) {
  found.fetch_add(1);
  std::fprintf(stderr, "cuda stand-in %d: %s\n", ::getpid(), what);
}

std::uint64_t complaints() { return found.load(); }

} // namespace standin

/// What tests ask of libgossamer_threads.so.
#ifndef GOSS_TESTS_DEVICES_THREADS_BEHAVIOUR_H_
#define GOSS_TESTS_DEVICES_THREADS_BEHAVIOUR_H_

#include <cstdint>

namespace goss::test {

/// How devices behave.
struct Behaviour {
  int latency_us = 0;     ///< Each job takes so long.
  bool one_queue = false; ///< All streams of a device share one worker.
  long fail_at = 0;       ///< The k-th job of a device fails, and all that follow; 0: none does.
};

/// Each thread of tests that plays a rank has devices of its own: all providers that it makes share them. This gives
/// the calling thread new ones, for providers that it makes later. Without it they behave as THREADS_LATENCY_US,
/// THREADS_ONE_QUEUE and THREADS_FAIL_AT in the environment say.
[[gnu::visibility("default")]] void useNewDevices(const Behaviour& behaviour);

/// The first of the calling thread's devices fails now.
[[gnu::visibility("default")]] void failFirstDevice();

/// Bytes that the queues of this process have copied.
struct Copied {
  std::uint64_t to_host = 0;
  std::uint64_t to_device = 0;
  std::uint64_t within = 0; ///< Device to device.
};
[[gnu::visibility("default")]] Copied copiedByThreads();
/// Addresses that providers of this process were asked about.
[[gnu::visibility("default")]] std::uint64_t classifiedByThreads();

/// Whether `stream` is being captured from now on, and takes no jobs of collectives.
[[gnu::visibility("default")]] void setCaptured(void* stream, bool captured);

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_THREADS_BEHAVIOUR_H_

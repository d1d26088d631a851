/// A stand-in for a machine with NVIDIA GPUs, for tests on machines without one. libcuda.so.1 here has the driver's C
/// interface (devices/cuda/driver/driver_api.h) over memory of the host:
///
/// - A stream is a queue with a thread of its own, so that order between streams, events and the host is real.
/// - Device memory is mapped twice. The caller's addresses fault when the host touches them, as the device's memory of
///   a real machine does; copies and memory operations of streams use the other mapping.
/// - What a real driver forbids or punishes is found: a copy into memory that was freed (the context is lost, and
///   standard error names the call), a host function that calls the driver, synchronising a stream that is captured.
/// - Kernels do not run: the interface has no launch.
///
/// Variables choose what it does; they are read once, when the first function is called:
///
///   CUDA_STANDIN_DEVICES=n        number of devices (1)
///   CUDA_STANDIN_DELAY_US=n       pause before each item of a queue (0)
///   CUDA_STANDIN_ONE_QUEUE=1      all streams of a device share one queue, as CUDA_DEVICE_MAX_CONNECTIONS=1 may do
///   CUDA_STANDIN_MEMOPS=0         cuStreamWaitValue and cuStreamWriteValue are not supported
///   CUDA_STANDIN_FAIL_AT=k        the k-th call that reaches a stream or an event, and all calls after it, fail (0:
///                                 none); queues drop what they hold, host functions are not called, waits never end
///   CUDA_STANDIN_FAIL_CODE=n      with this CUresult (719, launch failed)
///   CUDA_STANDIN_MEMORY_BYTES=n   bytes of a device; allocations beyond fail (16 GiB)
///   CUDA_STANDIN_PINNED_FAIL_AT=k the k-th allocation or registration of pinned memory fails (0: none)
///   CUDA_STANDIN_REPORT=1         counts on standard error when the process ends
#ifndef GOSS_TESTS_CUDA_STANDIN_SETTINGS_H_
#define GOSS_TESTS_CUDA_STANDIN_SETTINGS_H_

#include <cstddef>
#include <cstdint>

namespace standin {

struct Settings {
  int devices = 1;
  int delay_us = 0;
  bool one_queue = false;
  bool memops = true;
  std::uint64_t fail_at = 0;
  int fail_code = 719;
  std::size_t memory_bytes = std::size_t{16} << 30;
  std::uint64_t pinned_fail_at = 0;
  bool report = false;
};

const Settings& settings();

/// The error that all calls return from the one that CUDA_STANDIN_FAIL_AT names, or from a use of freed memory; 0:
/// none.
int stickyError();
/// The first caller's error stays.
void setStickyError(int code);

/// Counts a call, and says what it returns: 0, or the sticky error.
int countCall();

/// Reports on standard error what a program did that a real driver does not allow.
void complain(const char* what);
std::uint64_t complaints();

} // namespace standin

#endif // GOSS_TESTS_CUDA_STANDIN_SETTINGS_H_

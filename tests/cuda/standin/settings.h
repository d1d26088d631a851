/// A stand-in for a machine with NVIDIA GPUs, for tests on machines without one. libcuda.so.1 here has the driver's C
/// interface (devices/cuda/driver/driver_api.h) over memory of the host:
///
/// - A stream is a queue with a thread of its own, so that order between streams, events and the host is real.
/// - Device memory is mapped twice. The caller's addresses fault when the host touches them, as the device's memory of
///   a real machine does; copies and memory operations of streams use the other mapping.
/// - Freeing and unregistering memory, and loading kernels, wait for all streams of the device. A stream takes some
///   thousand items; who enqueues more waits.
/// - What a real driver forbids or punishes is found: a copy into memory that was freed (the context is lost, and
///   standard error names the call), a host function that calls the driver, synchronising a stream that is captured,
///   the legacy default stream while a blocking stream is captured, asking for events and allocating while another
///   thread captures in global mode.
/// - Processes map each other's device memory by IPC handles. Its owner may free it or be killed before they let go of
///   it; a use after it was freed is found.
/// - Graphs are captured, also from several streams, and launched: streams of one capture are ordered by events alone.
/// - Kernels do not run: the interface has no launch. Those of Gossamer do, which are codecs and gates: the stand-in's
///   own libgossamer_cuda_kernels.so runs them as host code in the stream's queue.
///
/// Variables choose what it does; they are read once, when the first function is called, and hold until a test calls
/// cudaStandinConfigure():
///
///   CUDA_STANDIN_DEVICES=n        number of devices (1)
///   CUDA_STANDIN_DELAY_US=n       pause before each item of a queue (0)
///   CUDA_STANDIN_ONE_QUEUE=1      all streams of a device share one queue, as CUDA_DEVICE_MAX_CONNECTIONS=1 may do
///   CUDA_STANDIN_MEMOPS=0         cuStreamWaitValue and cuStreamWriteValue are not supported; 2: the first is not
///   CUDA_STANDIN_KERNELS=0        devices cannot run the kernels of Gossamer; 2: none that runs for seconds
///   CUDA_STANDIN_LAUNCH_BLOCKING=1 who launches a kernel waits until it has run, as with CUDA_LAUNCH_BLOCKING=1
///   CUDA_STANDIN_LAZY=1           the first launch of each kernel of a program waits for all streams of the device, as
///                                 with CUDA_MODULE_LOADING=LAZY
///   CUDA_STANDIN_LOCK=1           calls wait while another one waits for the device, such as one that frees memory
///   CUDA_STANDIN_FAIL_AT=k        the k-th call on a device that reaches a stream or an event, and all calls on that
///                                 device after it, fail (0: none); its queues drop what they hold, host functions are
///                                 not called, waits never end
///   CUDA_STANDIN_FAIL_CODE=n      with this CUresult (719, launch failed)
///   CUDA_STANDIN_MEMORY_BYTES=n   bytes of a device; allocations beyond fail (16 GiB)
///   CUDA_STANDIN_IPC=0            processes share no device memory; 2: it is exported, but nobody may open it
///   CUDA_STANDIN_REUSE=1          device memory is allocated where memory of its size was freed, if there was any
///   CUDA_STANDIN_PINNED_FAIL_AT=k the k-th allocation or registration of pinned memory, and all after it, fail
///   CUDA_STANDIN_REPORT=1         counts on standard error when the process ends
#ifndef GOSS_TESTS_CUDA_STANDIN_SETTINGS_H_
#define GOSS_TESTS_CUDA_STANDIN_SETTINGS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace standin {

struct Settings {
  int devices = 1;
  int delay_us = 0;
  bool one_queue = false;
  int memops = 1;
  int kernels = 1;
  bool launch_blocking = false;
  bool lock = false;
  std::uint64_t fail_at = 0;
  int fail_code = 719;
  std::size_t memory_bytes = std::size_t{16} << 30;
  int ipc = 1;
  bool reuse = false;
  std::uint64_t pinned_fail_at = 0;
  bool report = false;
  bool lazy = false;
};

const Settings& settings();

/// Whether a device works, and how often it was called.
struct Health {
  /// The error that all calls return from the one that CUDA_STANDIN_FAIL_AT names, or from a use of freed memory; 0:
  /// none.
  std::atomic<int> error{0};
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> fail_at{settings().fail_at};

  /// The first caller's error stays.
  void lose(int code) {
    int none = 0;
    error.compare_exchange_strong(none, code);
  }
  /// Counts a call, and says what it returns: 0, or the sticky error.
  int countCall();
};
std::shared_ptr<Health> healthOf(int device);

/// What this process has done so far.
struct Counts {
  std::uint64_t to_host = 0; ///< Bytes that streams copied from device memory to the host's.
  std::uint64_t to_device = 0;
  std::uint64_t within = 0;     ///< Between places in device memory.
  std::uint64_t classified = 0; ///< Calls of cuPointerGetAttributes.
  std::uint64_t complaints = 0;
  std::uint64_t opened = 0; ///< Calls of cuIpcOpenMemHandle.
};
void countCopy(bool from_device, bool to_device, std::size_t bytes);
void countClassified();
void countOpened();
/// CU_CTX_SYNC_MEMOPS, of all devices.
bool copiesSynchronize();
void setCopiesSynchronize(bool set);
/// Counts an allocation or registration of pinned memory. True: it fails.
bool pinnedFails();

/// Reports on standard error what a program did that a real driver does not allow.
void complain(const char* what);
Counts counts();

} // namespace standin

// Functions of no driver, for tests.
/// From now on the stand-in does what `settings` say, with devices that work and count from 0. Streams and events from
/// before remain what they were, and nothing may be under way in them.
extern "C" void cudaStandinConfigure(const standin::Settings& settings);
/// The `calls`-th call on `device` from now on fails, and all after it.
extern "C" void cudaStandinFail(int device, std::uint64_t calls);
/// The `items`-th item that the calling thread puts into a stream from now on is refused, and it alone: the call
/// returns CUDA_ERROR_OUT_OF_MEMORY. 0: none is.
extern "C" void cudaStandinRefuse(std::uint64_t items);
extern "C" void cudaStandinCounts(standin::Counts* counts);
/// What a kernel that runs sees of its device.
struct cudaStandinMachine {
  virtual ~cudaStandinMachine() = default;
  /// Where the host reaches `bytes` bytes at `memory`; NULL: they were freed, or reach beyond their allocation.
  virtual void* reach(const void* memory, size_t bytes) const = 0;
  /// The device has a sticky error: what waits ends.
  virtual bool isLost() const = 0;
};
/// A kernel: the stream runs it, unless the device is lost. It returns a CUresult; where that is not 0, the device is
/// lost by it.
struct cudaStandinKernel {
  virtual ~cudaStandinKernel() = default;
  virtual int run(const cudaStandinMachine& machine) = 0;
};
/// Puts the kernel on the stream, and deletes it behind. Returns a CUresult.
extern "C" int cudaStandinLaunch(void* stream, cudaStandinKernel* kernel);
/// A kernel of the program is launched.
extern "C" void cudaStandinUse(const void* kernel);
/// Settings::kernels.
extern "C" bool cudaStandinRunsKernels();

#endif // GOSS_TESTS_CUDA_STANDIN_SETTINGS_H_

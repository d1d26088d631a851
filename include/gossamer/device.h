/// The device seam: memory of GPUs, the queues that work on it, and codecs that encode and decode there. Collectives
/// reach a GPU through it alone; a provider (`cuda`; for tests `threads`) implements it.
///
/// **Device**: one GPU. **Queue**: does its jobs one after the other, in the order in which they were enqueued, while
/// the host goes on (a CUDA stream). **Flag**: a word of pinned memory by which queue and host wait for each other.
///
/// Enqueuing never waits for the device and allocates nothing. The memory that a job names must stay valid until the
/// job has run, as an event that is recorded after it shows; lists of jobs may be freed when the call returns. Only
/// events order jobs of two queues. Queues may share hardware: before a caller makes one queue wait for a flag, it must
/// have enqueued, on any queue, all jobs that the raising of the flag depends on.
///
/// Threads: providers and devices are safe for concurrent use. A queue or an event is used by one thread at a
/// time. Errors: GOSS_ERR_DEVICE, which names the device and the driver's reason. It stays: all later calls fail too.
#ifndef GOSSAMER_DEVICE_H_
#define GOSSAMER_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/codec.h"
#include "gossamer/status.h"
#include "gossamer/types.h"

namespace goss {

enum class MemoryKind : std::uint8_t {
  host,   ///< The host reads and writes it; so it does managed memory, which is of this kind.
  pinned, ///< Host memory that queues read and write too.
  device, ///< Memory of a device, which the host must not touch.
};

/// Where a pointer points.
struct MemoryInfo {
  MemoryKind kind = MemoryKind::host;
  int device = -1;                 ///< Ordinal; -1 for host memory.
  std::uint64_t allocation = 0;    ///< Differs from that of every earlier allocation; 0 for host memory.
  const std::byte* base = nullptr; ///< Start of the allocation; null for host memory.
  std::size_t bytes = 0;           ///< Size of the allocation; 0 for host memory.
};

/// Names an allocation of device memory for other processes of the host; another one after the memory was freed.
using MemoryHandle = std::array<std::byte, 64>;

/// Copies between pinned and device memory in any direction; the two ranges do not overlap.
struct CopyJob {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

/// to[i] = a[i] op b[i]: vectors of `count` elements in memory of the queue's device, with the bits that the library's
/// reductions have on the host. GOSS_AVG and GOSS_PREMUL_SUM only add. `to` may be `a` or `b` exactly.
struct ReduceJob {
  DType dtype = GOSS_FLOAT32;
  ReduceOp op = GOSS_SUM;
  void* to = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  std::size_t count = 0;
};

/// to[i] = from[i] / ranks, of numbers: what GOSS_AVG does to a complete sum. As ReduceJob; `to` may be `from`.
struct AverageJob {
  DType dtype = GOSS_FLOAT32;
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t count = 0;
  std::int32_t ranks = 1;
};

/// LoCo's error of one encoding on the device (ErrorFeedback::eight_bit): vectors of `count` float32 in memory of the
/// queue's device. openError() is enqueued before the encoding, which has `lost` as its residual, keepError() behind
/// it. What is kept has the bits that the host keeps.
struct ErrorJob {
  float* error = nullptr; ///< What is kept: multiples of the 8-bit steps of its blocks.
  float* lost = nullptr;
  std::size_t count = 0;
  float keep = 0;       ///< ErrorFeedback::keep.
  bool forgets = false; ///< LoCo's reset is due: the error becomes zero before the encoding.
};

/// DGC's momentum of one encoding on the device (ErrorFeedback::momentum): vectors of `count` float32 in memory of the
/// queue's device. What is kept has the bits that the host keeps.
struct MomentumJob {
  float* momentum = nullptr;
  const float* values = nullptr; ///< Null, and elements of the momentum that are not finite become zero.
  std::size_t count = 0;
  float factor = 0; ///< ErrorFeedback::momentum.
};

/// A word of pinned memory. await() compares it modulo 2^32. The words of calls in streams only rise; those of CUDA
/// graphs return to 0 between launches. The host accesses it by std::atomic_ref, with acquire and release.
using Flag = std::uint32_t*;

/// Marks a position in a queue, as a CUDA event does in a stream.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  /// Whether the queue has done what was enqueued before the last record(); true for an event that was never recorded.
  /// Does not wait for the queue; but while a thread frees memory, a driver may answer others only when that is done.
  /// Error: the device's.
  virtual Result<bool> isDone() = 0;
};

/// Destroying a queue that Device::queue() made waits for its jobs; one that wraps a caller's stream is only forgotten.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  /// The stream that it enqueues on, as Device::queue() takes it.
  [[nodiscard]] virtual void* stream() const = 0;

  /// Whether jobs may be enqueued now. Errors: the device's; GOSS_ERR_UNSUPPORTED while the caller's stream is being
  /// captured, with a text that says what to do instead.
  virtual Status check() = 0;

  /// Enqueues copies between memory of this queue's device and pinned memory, either way.
  virtual Status copy(std::span<const CopyJob> jobs) = 0;

  /// Arithmetic on memory of this queue's device; only after Device::prepareArithmetic() has returned success.
  virtual Status reduce(const ReduceJob& job) = 0;
  virtual Status average(const AverageJob& job) = 0;
  /// lost = error; with `forgets` both become zero. After Device::prepareArithmetic() or Device::codec(), as
  /// keepError().
  virtual Status openError(const ErrorJob& job) = 0;
  /// error = keep error + (1 - keep) lost, rounded to 8 bits.
  virtual Status keepError(const ErrorJob& job) = 0;
  /// momentum = factor momentum + values. As openError().
  virtual Status addMomentum(const MomentumJob& job) = 0;

  /// Enqueues a store of `value` to *flag with release order: a reader that sees the value also sees everything that
  /// the queue wrote before.
  virtual Status raise(Flag flag, std::uint32_t value) = 0;
  /// The queue goes on when *flag has risen to `value`: int32(*flag - value) >= 0. It then sees what the host wrote
  /// before. The wait has no end of its own.
  virtual Status await(Flag flag, std::uint32_t value) = 0;

  virtual Status record(DeviceEvent& event) = 0;
  /// The queue goes on when `event`, recorded on another queue of this device, is done.
  virtual Status await(DeviceEvent& event) = 0;
};

/// A codec whose work runs on a device: vectors, payloads and scratch (aligned to 64) of its jobs lie in memory of that
/// device. Payloads are byte for byte those of the CPU's codec of the same spec and decode to the same bits, but for
/// the bits of a NaN. Calls enqueue on `queue`; lists of segments and payloads may go when a call returns. At once they
/// set the lengths of payloads to maxBytes(): where a payload is shorter, Codec::lengthOf() tells its length when the
/// queue has written it, and the bytes behind it mean nothing. A payload may be decoded together with such bytes.
///
/// Immutable and safe for concurrent use. Errors: the device's; GOSS_ERR_INVALID_ARGUMENT and GOSS_ERR_PROTOCOL as
/// Codec's, but of a payload only its length is checked.
class QueuedCodec {
 public:
  virtual ~QueuedCodec() = default;
  /// Device scratch that any call on `count` elements needs.
  [[nodiscard]] virtual std::size_t scratchBytes(std::size_t count) const = 0;
  /// Whether all elements that are decoded from maxBytes() bytes with all bits set are NaN. A failed call leaves such
  /// payloads in its slots, and what the stream decodes from them must not look like valid numbers.
  [[nodiscard]] virtual bool makesNan() const = 0;
  virtual Status encode(DeviceQueue& queue, const EncodeJob& job) const = 0;
  virtual Status decode(DeviceQueue& queue, const DecodeJob& job) const = 0;
  virtual Status merge(DeviceQueue& queue, MergeJob& job) const = 0;
  /// Sets the elements that the job's only payload holds to zero, where `out` is another vector of as many elements.
  /// `mode` and `weight` mean nothing. Only of codecs with CodecTraits::sparse.
  virtual Status clearHeld(DeviceQueue& queue, const DecodeJob& job) const = 0;
};

/// Memory that is freed with it; the destructor may wait until the device does nothing.
class DeviceBlock {
 public:
  virtual ~DeviceBlock() = default;
  /// Aligned to 256 bytes at least.
  [[nodiscard]] virtual std::byte* data() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  /// The device's name in texts, such as "cuda device 0 (NVIDIA H100)".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual int ordinal() const = 0;
  /// As DeviceProvider::currentIdentity(), of this device.
  [[nodiscard]] virtual std::string identity() const = 0;

  /// Allocates pinned or device memory, touched by nobody. Pinned memory is ordinary memory of the process that is
  /// registered with the device, so that transports read and write it as any other. Errors: GOSS_ERR_RESOURCE when
  /// there is not enough; the device's.
  virtual Result<std::unique_ptr<DeviceBlock>> allocate(MemoryKind kind, std::size_t bytes) = 0;

  /// A handle by which other processes open the allocation that begins at `base`. Errors: GOSS_ERR_UNSUPPORTED where
  /// its memory cannot be shared with processes, as that of pools; the device's.
  virtual Result<MemoryHandle> exportMemory(const void* base) = 0;
  /// Maps memory of this device that another process has exported, `bytes` bytes. A device may read it until the block
  /// is destroyed, unless its owner frees it before. Does not wait for streams; to destroy the block may. Errors:
  /// GOSS_ERR_UNSUPPORTED where it cannot be mapped, and says why; the device's.
  virtual Result<std::unique_ptr<DeviceBlock>> importMemory(const MemoryHandle& handle, std::size_t bytes) = 0;

  /// A new queue; or, where `stream` is not null, one that enqueues on the caller's stream, which must outlive it. A
  /// null pointer is no stream here: the legacy default stream of CUDA has the handle 1, that of each thread 2.
  /// Errors: GOSS_ERR_INVALID_ARGUMENT for a stream of another device; GOSS_ERR_UNSUPPORTED where the device cannot
  /// await flags.
  virtual Result<std::unique_ptr<DeviceQueue>> queue(void* stream) = 0;
  /// As queue(), for a caller's stream that queue() has accepted before. Asks the driver nothing.
  virtual std::unique_ptr<DeviceQueue> wrap(void* stream) = 0;
  /// From now on the program's copies that name no stream return only when their bytes, and those of earlier copies,
  /// are on the device. By default CUDA's return before where they read pageable memory, and other queues could read
  /// what was there. Cheap but for the first time.
  virtual void synchronizeCopies() = 0;
  virtual Result<std::unique_ptr<DeviceEvent>> event() = 0;

  /// The codec of a canonical spec (Codec::spec()), which outlives neither the device nor its provider. Errors:
  /// GOSS_ERR_UNSUPPORTED where the device has no such codec, and says why.
  virtual Result<std::shared_ptr<const QueuedCodec>> codec(std::string_view spec) = 0;

  /// Makes ready what DeviceQueue::reduce(), average(), openError(), keepError() and addMomentum() run. May take long,
  /// or wait for streams of the device. Errors: GOSS_ERR_UNSUPPORTED where the device computes nothing, and says why.
  virtual Status prepareArithmetic() = 0;
};

class DeviceProvider {
 public:
  virtual ~DeviceProvider() = default;
  /// The name of the provider in GOSS_DEVICE, such as "cuda".
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual int deviceCount() const = 0;
  /// Where `pointer` points; unknown addresses are host memory. Cheap: called once or twice a collective. Makes no
  /// context on any device.
  virtual Result<MemoryInfo> classify(const void* pointer) = 0;
  /// The provider keeps it. Errors: GOSS_ERR_INVALID_ARGUMENT for an ordinal that does not exist; the device's.
  virtual Result<Device*> open(int ordinal) = 0;
  /// Whether the calling thread has a current device, by a context that open() would use. Makes no context on any
  /// device.
  [[nodiscard]] virtual bool hasCurrent() const = 0;
  /// The calling thread's current device, or the first one.
  virtual Result<Device*> current() = 0;
  /// An identifier of the device that current() returns, equal in all processes of the host: at most 16 bytes. Empty:
  /// the device has none. Makes no context on any device.
  virtual std::string currentIdentity() = 0;
};

/// What a shared object libgossamer_NAME.so exports under kDevicePlugSymbol; it and the library that loads it must come
/// from one build.
struct DevicePlug {
  const char* version; ///< kDevicePlugVersion of the plug.
  /// Makes a provider. Errors: GOSS_ERR_UNSUPPORTED if the machine has no such devices or no driver, with a text that
  /// says so. `only_if_used`: also if this process has not loaded the driver: then it has no device memory, and the
  /// call need not wait until a driver has started.
  Result<std::unique_ptr<DeviceProvider>> (*make)(bool only_if_used);
};

inline constexpr const char* kDevicePlugSymbol = "goss_device_plug";
/// Changes whenever the device seam or a type in it does.
inline constexpr const char* kDevicePlugVersion = "gossamer 0.1.0 device 9";

} // namespace goss

#endif // GOSSAMER_DEVICE_H_

/// Codecs on vectors in device memory: what a device path of the collectives calls. Payloads are byte for byte those of
/// the CPU's codecs, and decode to the same bits (which bits a NaN has is open).
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_DEVICE_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_DEVICE_CODEC_H_

#include <memory>

#include "compressors/cuda/device/jobs.h"
#include "gossamer/codec.h"

namespace goss::compressors::cuda {

/// A payload whose length the device alone knows.
struct MeasureCall {
  PayloadView payload;             ///< As encode() or merge() left it, up to maxBytes(count).
  std::size_t count = 0;           ///< Elements of the vector.
  std::uint64_t* length = nullptr; ///< Device memory.
  std::uint64_t more = 0;          ///< A number that is added to the length.
};

/// A RunJob with pointers to device memory.
struct DeviceRunJob {
  RunJob run;
  std::span<std::byte> scratch; ///< At least runScratchBytes(), aligned to 64; lent until the run is destroyed.
  /// Number of operations that this state has seen, which says the side that PowerSGD's one-reduction form takes next.
  /// The state holds it too, but in device memory.
  std::uint64_t operation = 0;
};

/// As CodecRun, on a stream.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;
  /// Enqueues kernels on `stream` and returns. CodecPhase::values is device memory: the caller's collective waits for
  /// the stream, and the next call's stream for the collective.
  virtual Result<CodecPhase> next(Stream stream) = 0;
};

/// Immutable and safe for concurrent use. Jobs are those of gossamer/codec.h with pointers to device memory: values,
/// references, residuals, payloads, outputs and scratch (aligned to 64). Segment lists and payload lists themselves are
/// host memory and may go when a call returns. Calls enqueue kernels on `stream` and return: they never wait, never
/// allocate (start() excepted: host memory), and set `bytes` of segments and merges before the kernels have run.
///
/// Vectors and payloads aligned to 16 bytes, with segments that begin at multiples of 4 elements, are read and written
/// 16 bytes at a time; others are slower. The stream's device must be the calling thread's current one.
///
/// Errors: as Codec's; GOSS_ERR_INTERNAL with CUDA's code when a launch fails. Only a payload's length is checked:
/// indices of sparse payloads are held within the vector while they are decoded, so that a malformed one gives wrong
/// values, or NaN where it says that it holds more elements than it may, and no access outside.
class DeviceCodec {
 public:
  virtual ~DeviceCodec() = default;

  /// The CPU's codec: spec, traits and sizes.
  [[nodiscard]] virtual const Codec& host() const = 0;
  /// Device scratch that any call on `count` elements needs.
  [[nodiscard]] virtual std::size_t scratchBytes(std::size_t count) const = 0;

  /// As QueuedCodec's.
  [[nodiscard]] virtual bool makesNan() const;

  virtual Status encode(const EncodeJob& job, Stream stream) const = 0;
  virtual Status decode(const DecodeJob& job, Stream stream) const = 0;
  /// Payloads are decoded, added in order in float32, scaled and encoded in one kernel, where there are at most
  /// kMaxPayloads and the codec has blocks of its own.
  virtual Status merge(MergeJob& job, Stream stream) const = 0;
  /// As QueuedCodec's.
  virtual Status clearHeld(const DecodeJob& job, Stream stream) const;

  /// Whether a payload always has maxBytes(count) bytes. Otherwise the number of elements that are sent is known on the
  /// device alone: `bytes` are that bound, measure() tells the length, and decode() takes a payload of its length or
  /// more, up to the bound.
  [[nodiscard]] virtual bool fixedBytes() const { return true; }
  /// Writes the length of a payload; for codecs whose payloads have no fixed length.
  virtual Status measure(const MeasureCall& call, Stream stream) const;

  /// Multi-phase codecs, whose other calls are refused: as Codec's start() and stateFloats().
  [[nodiscard]] virtual std::size_t runScratchBytes(std::size_t count, std::size_t columns) const;
  virtual Result<std::unique_ptr<DeviceRun>> start(const DeviceRunJob& job) const;
};

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_DEVICE_CODEC_H_

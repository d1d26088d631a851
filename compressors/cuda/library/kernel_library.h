/// What libgossamer_cuda_kernels.so exports, which nvcc makes: the provider `cuda` loads it, and needs no nvcc itself.
#ifndef GOSS_COMPRESSORS_CUDA_LIBRARY_KERNEL_LIBRARY_H_
#define GOSS_COMPRESSORS_CUDA_LIBRARY_KERNEL_LIBRARY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "gossamer/codec.h"
#include "gossamer/device.h"
#include "gossamer/status.h"

namespace goss::compressors::cuda {

/// As QueuedCodec, on a CUDA stream of the calling thread's current device. GOSS_ERR_INTERNAL: CUDA refuses a kernel.
class KernelCodec {
 public:
  virtual ~KernelCodec() = default;
  [[nodiscard]] virtual std::size_t scratchBytes(std::size_t count) const = 0;
  [[nodiscard]] virtual bool makesNan() const = 0;
  virtual Status encode(const EncodeJob& job, void* stream) const = 0;
  virtual Status decode(const DecodeJob& job, void* stream) const = 0;
  virtual Status merge(MergeJob& job, void* stream) const = 0;
  virtual Status clearHeld(const DecodeJob& job, void* stream) const = 0;
};

/// Flags for streams of the calling thread's current device that have no memory operations: a kernel of one thread
/// raises a flag, another one looks at it again and again. GOSS_ERR_INTERNAL: CUDA refuses a kernel.
struct GateKernels {
  /// As DeviceQueue::raise().
  Status (*raise)(Flag flag, std::uint32_t value, void* stream);
  /// As DeviceQueue::await(), but after `longest` the kernel traps, which makes the device's context unusable. So a
  /// wait whose flag is never raised ends, and the work behind it in the stream never runs.
  Status (*await)(Flag flag, std::uint32_t value, std::chrono::nanoseconds longest, void* stream);
};

/// Arithmetic on a CUDA stream of the calling thread's current device, as DeviceQueue's. GOSS_ERR_INTERNAL: CUDA
/// refuses a kernel.
struct ArithmeticKernels {
  Status (*reduce)(const ReduceJob& job, void* stream);
  Status (*average)(const AverageJob& job, void* stream);
  Status (*openError)(const ErrorJob& job, void* stream);
  Status (*keepError)(const ErrorJob& job, void* stream);
  Status (*addMomentum)(const MomentumJob& job, void* stream);
};

/// The library and the provider that loads it must come from one build.
struct KernelLibrary {
  const char* version; ///< kDevicePlugVersion of the library.
  /// Loads all kernels on the calling thread's current device, so that no launch does: before gates and arithmetic are
  /// used there. GOSS_ERR_UNSUPPORTED where one cannot run on it.
  Status (*load)();
  /// As Device::codec(), for the calling thread's current device. Loads all kernels there, too.
  Result<std::unique_ptr<const KernelCodec>> (*makeCodec)(std::string_view spec);
  GateKernels gates;
  ArithmeticKernels arithmetic;
};

inline constexpr const char* kKernelLibraryFile = "libgossamer_cuda_kernels.so";
inline constexpr const char* kKernelLibrarySymbol = "goss_cuda_kernel_library";

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_LIBRARY_KERNEL_LIBRARY_H_

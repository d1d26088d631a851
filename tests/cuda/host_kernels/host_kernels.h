/// The kernels of codecs (compressors/cuda) as host code, for devices that tests make: jobs name memory at addresses
/// that the host must not touch.
#ifndef GOSS_TESTS_CUDA_HOST_KERNELS_HOST_KERNELS_H_
#define GOSS_TESTS_CUDA_HOST_KERNELS_HOST_KERNELS_H_

#include <functional>
#include <memory>
#include <string_view>

#include "compressors/cuda/device/device_codec.h"
#include "gossamer/codec.h"
#include "gossamer/device.h"
#include "gossamer/status.h"

namespace goss::test {

/// Where the host reaches so many bytes at an address of device memory; null: nowhere.
using Reach = std::function<void*(const void* memory, std::size_t bytes)>;
/// Runs a job, from any thread. False: it names memory that cannot be reached.
using HostKernel = std::function<bool(const Reach& reach)>;
using HostCodec = std::shared_ptr<const compressors::cuda::DeviceCodec>;

/// GOSS_ERR_UNSUPPORTED: the codec has no kernels, or works in phases.
Result<HostCodec> makeHostCodec(std::string_view spec);

// A job as a kernel, which keeps its lists. Lengths of payloads are set to maxBytes() at once.
HostKernel encodeKernel(HostCodec codec, const EncodeJob& job);
HostKernel decodeKernel(HostCodec codec, const DecodeJob& job);
HostKernel mergeKernel(HostCodec codec, MergeJob& job);
HostKernel clearHeldKernel(HostCodec codec, const DecodeJob& job);
HostKernel reduceKernel(const ReduceJob& job);
HostKernel averageKernel(const AverageJob& job);
HostKernel openErrorKernel(const ErrorJob& job);
HostKernel keepErrorKernel(const ErrorJob& job);
HostKernel addMomentumKernel(const MomentumJob& job);

} // namespace goss::test

#endif // GOSS_TESTS_CUDA_HOST_KERNELS_HOST_KERNELS_H_

/// Makes a device codec from its spec.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_DEVICE_CATALOGUE_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_DEVICE_CATALOGUE_H_

#include <memory>
#include <string_view>

#include "compressors/cuda/device/device_codec.h"
#include "gossamer/status.h"

namespace goss::compressors::cuda {

/// GOSS_ERR_UNSUPPORTED names a codec without kernels and says what to do; other errors as makeCompression()'s.
/// Feedback stages are ignored: they are jobs' residuals.
Result<std::unique_ptr<const DeviceCodec>> makeDeviceCodec(std::string_view spec);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_DEVICE_CATALOGUE_H_

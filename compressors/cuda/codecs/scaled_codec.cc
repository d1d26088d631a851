#include "compressors/cuda/codecs/scaled_codec.h"

#include "compressors/ternary/ternary.h"

namespace goss::compressors::cuda {

namespace {

constexpr std::size_t kScaleBytes = 64;

KernelFormat formatOf(const ScaledSettings& settings) {
  KernelFormat format;
  format.block.block = kRunElems;
  format.given_scale = settings.shared_scale;
  format.whole_segment = true;
  return format;
}

} // namespace

ScaledCodec::ScaledCodec(const std::shared_ptr<const Codec>& host, const ScaledSettings& settings,
                         const CodecLaunches& launches)
    : VectorDeviceCodec(host), settings_(settings), blocks_(host, formatOf(settings), launches) {}

std::size_t ScaledCodec::innerScratchBytes(std::size_t count) const { return kScaleBytes + sumScratchBytes(count); }

Status ScaledCodec::encodeVector(const Vector& vector, Stream stream) const {
  const std::span<std::byte> scratch = innerScratch(vector.scratch, vector.count);
  auto* scale = reinterpret_cast<float*>(scratch.data());
  Launches launches(host());
  if (settings_.shared_scale == 0) {
    const SumJob sums = sumJob(vector.values, vector.count, scratch.data() + kScaleBytes);
    launches([&] { return launchSums(sums, stream); });
    auto* stored =
        reinterpret_cast<unsigned char*>(vector.payload.data()) + host().maxBytes(vector.count) - sizeof(float);
    ScaleJob job{settings_.kind, sums.groups, vector.count, settings_.clip};
    job.feedback = vector.feedback;
    job.least_gain = minTernaryGain(vector.count);
    job.scale = scale;
    job.stored = stored;
    launches([&] { return launchScale(job, stream); });
  }
  EncodeKernelJob kernel_job;
  kernel_job.values = vector.values;
  kernel_job.residual = vector.residual;
  kernel_job.decoded = vector.decoded;
  kernel_job.key = vector.random.own.key();
  kernel_job.first_element = vector.first_element;
  launches([&] { return blocks_.encodeWhole(kernel_job, {vector.count, vector.payload.data(), scale}, stream); });
  return launches.status();
}

} // namespace goss::compressors::cuda

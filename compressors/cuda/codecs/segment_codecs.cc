#include "compressors/cuda/codecs/segment_codecs.h"

#include "compressors/cuda/kernels/segment_jobs.h"

namespace goss::compressors::cuda {

namespace {

KernelFormat formatOf(std::size_t head) {
  KernelFormat format;
  format.block.block = kRunElems;
  format.head = head;
  format.whole_segment = true;
  return format;
}

unsigned char* charsOf(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

} // namespace

MinMaxDeviceCodec::MinMaxDeviceCodec(const std::shared_ptr<const Codec>& host)
    : VectorDeviceCodec(host), blocks_(host, formatOf(kMinMaxHeaderBytes), minMaxLaunches()) {}

std::size_t MinMaxDeviceCodec::innerScratchBytes(std::size_t) const { return sizeof(RangeState); }

Status MinMaxDeviceCodec::encodeVector(const Vector& vector, Stream stream) const {
  auto* state = reinterpret_cast<RangeState*>(innerScratch(vector.scratch, vector.count).data());
  Launches launches(host());
  launches([&] { return launchRange({vector.values, vector.count, state, charsOf(vector.payload)}, stream); });
  EncodeKernelJob kernel_job;
  kernel_job.values = vector.values;
  kernel_job.residual = vector.residual;
  kernel_job.decoded = vector.decoded;
  launches([&] {
    return blocks_.encodeWhole(kernel_job, {vector.count, vector.payload.data(), state->scale}, stream);
  });
  return launches.status();
}

UniformDeviceCodec::UniformDeviceCodec(const std::shared_ptr<const Codec>& host)
    : VectorDeviceCodec(host), blocks_(host, formatOf(0), codebookLaunches()) {}

std::size_t UniformDeviceCodec::innerScratchBytes(std::size_t count) const {
  return scratchAligned(sizeof(UniformState)) + sumScratchBytes(count);
}

Status UniformDeviceCodec::encodeVector(const Vector& vector, Stream stream) const {
  const std::span<std::byte> scratch = innerScratch(vector.scratch, vector.count);
  UniformJob job;
  job.sums = sumJob(vector.values, vector.count, scratch.data() + scratchAligned(sizeof(UniformState)));
  job.state = reinterpret_cast<UniformState*>(scratch.data());
  job.payload = charsOf(vector.payload);
  Launches launches(host());
  launches([&] { return launchSums(job.sums, stream); });
  launches([&] { return launchUniform(job, stream); });
  const Status status = launches.status();
  return status.isOk() ? leave(vector, stream) : status;
}

} // namespace goss::compressors::cuda

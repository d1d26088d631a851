#include "compressors/cuda/codecs/hadamard_codec.h"

#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/kernels/hadamard_jobs.h"
#include "compressors/cuda/kernels/sparse_jobs.h"

namespace goss::compressors::cuda {

Status HadamardDeviceCodec::encodeVector(const Vector& vector, Stream stream) const {
  const std::span<std::byte> scratch = innerScratch(vector.scratch, vector.count);
  auto* rotated = reinterpret_cast<float*>(scratch.data());
  Launches launches(host());
  launches([&] { return launchHadamard({chunk_, vector.values, vector.count, rotated, false, {}, 0}, stream); });
  if (Status status = launches.status(); !status.isOk()) {
    return status;
  }
  EncodeSegment segment{0, vector.count, vector.payload.first(host().maxBytes(vector.count)), 0};
  EncodeJob job;
  job.values = {rotated, vector.count};
  job.feedback = vector.feedback;
  job.random = vector.random;
  job.first_element = vector.first_element;
  job.scratch = scratch.subspan(floatBytes(vector.count));
  job.segments = {&segment, 1};
  const Status status = inner_->encode(job, stream);
  return status.isOk() ? leave(vector, stream) : status;
}

Status HadamardDeviceCodec::decode(const DecodeJob& job, Stream stream) const {
  const std::size_t count = job.out.size();
  if (Status status = fixedBytes() ? checkLengths(host(), job.payloads, count) : Status::ok(); !status.isOk()) {
    return status;
  }
  if (Status status = checkScratch(host(), job.scratch.size(), scratchBytes(count)); !status.isOk()) {
    return status;
  }
  const bool mean = job.mode == DecodeMode::meanOfPresent;
  Launches launches(host());
  if (mean || (job.mode == DecodeMode::set && job.payloads.empty())) {
    launches([&] { return launchClear({job.out.data(), nullptr, count}, stream); });
  }
  const std::span<std::byte> scratch = innerScratch(job.scratch, count);
  auto* rotated = reinterpret_cast<float*>(scratch.data());
  HadamardJob back{chunk_, rotated, count, job.out.data(), true, {job.mode, job.weight}, 0};
  back.delivery.mode = mean ? DecodeMode::add : job.mode;
  for (std::size_t p = 0; p < job.payloads.size(); ++p) {
    DecodeJob inside;
    inside.payloads = job.payloads.subspan(p, 1);
    inside.out = {rotated, count};
    inside.shared = job.shared;
    inside.first_element = job.first_element;
    inside.scratch = scratch.subspan(floatBytes(count));
    if (Status status = inner_->decode(inside, stream); !status.isOk()) {
      return status;
    }
    back.divisor = mean && p + 1 == job.payloads.size() ? static_cast<float>(job.payloads.size()) : 0;
    launches([&] { return launchHadamard(back, stream); });
    back.delivery.mode = laterMode(back.delivery.mode);
  }
  return launches.status();
}

} // namespace goss::compressors::cuda

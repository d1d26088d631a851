#include "compressors/cuda/device/vector_codec.h"

#include <fmt/format.h>

#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/kernels/scale_jobs.h"
#include "compressors/cuda/kernels/sparse_jobs.h"

namespace goss::compressors::cuda {

Status Launches::status() const { return launched(codec_, code_); }

// Scratch begins with a vector, which holds the difference to a reference, or counts of senders.
std::size_t VectorDeviceCodec::scratchBytes(std::size_t count) const {
  return floatBytes(count) + scratchAligned(innerScratchBytes(count));
}

std::span<std::byte> VectorDeviceCodec::innerScratch(std::span<std::byte> scratch, std::size_t count) const {
  return scratch.subspan(floatBytes(count), scratchAligned(innerScratchBytes(count)));
}

Status VectorDeviceCodec::checkCount(std::size_t count) const {
  return count <= maxElements() ? Status::ok()
                                : Status::error(GOSS_ERR_INVALID_ARGUMENT,
                                                fmt::format("codec '{}' on a device: a segment of {} elements is too "
                                                            "long; cut it",
                                                            host_->spec(), count));
}

Status VectorDeviceCodec::leave(const Vector& vector, Stream stream) const {
  const PayloadView payload(vector.payload.data(), host_->maxBytes(vector.count));
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.shared = vector.random.shared;
  job.first_element = vector.first_element;
  job.scratch = vector.scratch;
  if (vector.residual != nullptr) {
    job.out = {vector.residual, vector.count};
    job.mode = DecodeMode::axpy;
    job.weight = -1;
    if (Status status = decode(job, stream); !status.isOk()) {
      return status;
    }
    if (Status status = launched(*host_, launchForget(vector.residual, vector.count, stream)); !status.isOk()) {
      return status;
    }
  }
  if (vector.decoded != nullptr) {
    job.out = {vector.decoded, vector.count};
    job.mode = DecodeMode::set;
    return decode(job, stream);
  }
  return Status::ok();
}

Status VectorDeviceCodec::encode(const EncodeJob& job, Stream stream) const {
  if (Status status = checkSegments(*host_, job, scratchBytes(longestOf(job))); !status.isOk()) {
    return status;
  }
  if (Status status = checkCount(longestOf(job)); !status.isOk()) {
    return status;
  }
  for (EncodeSegment& segment : job.segments) {
    Vector vector;
    vector.values = job.values.data() + segment.first;
    vector.count = segment.count;
    vector.random = job.random;
    vector.first_element = job.first_element + segment.first;
    vector.payload = segment.out;
    vector.scratch = job.scratch;
    vector.feedback = job.feedback || job.residual != nullptr;
    if (job.residual != nullptr || job.reference != nullptr) {
      PrepareJob prepare;
      prepare.values = vector.values;
      prepare.reference = job.reference == nullptr ? nullptr : job.reference + segment.first;
      prepare.residual = job.residual == nullptr ? nullptr : job.residual + segment.first;
      prepare.decay = job.decay;
      prepare.count = segment.count;
      // The residual holds the vector itself; then what the payload holds is subtracted from it.
      vector.residual = job.residual == nullptr ? nullptr : job.residual + segment.first;
      prepare.to = vector.residual == nullptr ? reinterpret_cast<float*>(job.scratch.data()) : vector.residual;
      if (Status status = launched(*host_, launchPrepare(prepare, stream)); !status.isOk()) {
        return status;
      }
      vector.values = prepare.to;
    }
    segment.bytes = host_->maxBytes(segment.count);
    if (Status status = encodeVector(vector, stream); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status VectorDeviceCodec::merge(MergeJob& job, Stream stream) const {
  const std::size_t count = job.values.size();
  if (job.out.size() < host_->maxBytes(count) || job.scratch.size() < scratchBytes(count)) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("codec '{}' on a device: {} bytes for a payload of {}, {} of scratch for {}", host_->spec(),
                    job.out.size(), host_->maxBytes(count), job.scratch.size(), scratchBytes(count)));
  }
  if (Status status = checkCount(count); !status.isOk()) {
    return status;
  }
  DecodeJob add;
  add.payloads = job.payloads;
  add.out = job.values;
  add.mode = DecodeMode::add;
  add.shared = job.random.shared;
  add.first_element = job.first_element;
  add.scratch = job.scratch;
  if (Status status = decode(add, stream); !status.isOk()) {
    return status;
  }
  float* values = job.values.data();
  Launches launches(*host_);
  if (job.factor != 1) {
    launches([&] { return launchPrepare({values, nullptr, nullptr, values, 1, job.factor, count}, stream); });
  }
  if (job.residual != nullptr) {
    launches([&] { return launchPrepare({values, nullptr, job.residual, job.residual, job.decay, 1, count}, stream); });
  }
  if (Status status = launches.status(); !status.isOk()) {
    return status;
  }
  Vector vector;
  vector.values = job.residual != nullptr ? job.residual : values;
  vector.count = count;
  vector.random = job.random;
  vector.first_element = job.first_element;
  vector.payload = job.out;
  vector.residual = job.residual;
  vector.feedback = job.residual != nullptr;
  vector.decoded = values;
  vector.scratch = job.scratch;
  job.bytes = host_->maxBytes(count);
  if (Status status = encodeVector(vector, stream); !status.isOk()) {
    return status;
  }
  for (const PayloadView payload : job.payloads) { // A sparsifier picks only some of the NaN that such a one leaves.
    launches([&] { return refuse(payload, job.values, stream); });
  }
  return launches.status();
}

} // namespace goss::compressors::cuda

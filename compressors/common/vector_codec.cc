#include "compressors/common/vector_codec.h"

#include <algorithm>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"

namespace goss::compressors {

namespace {

constexpr std::size_t vectorScratch(std::size_t count) { return scratchAligned(count * sizeof(float)); }

} // namespace

std::size_t VectorCodec::scratchBytes(std::size_t count) const {
  // This vector holds the difference to a reference, or the counters of a mean.
  return vectorScratch(count) + scratchAligned(innerScratchBytes(count));
}

Status VectorCodec::check(PayloadView payload, std::size_t count) const {
  const std::string flaw = count > maxElements() ? "the segment is too long" : flawOf(payload, count);
  return flaw.empty() ? Status::ok() : malformed(*this, payload, count, flaw);
}

void VectorCodec::countPresent(PayloadView, const VectorOut& out, std::uint32_t* senders) const {
  for (std::size_t i = 0; i < out.count; ++i) {
    ++senders[i];
  }
}

double VectorCodec::sumOver(SumLoop loop, const float* values, std::size_t count) {
  constexpr std::size_t kGroup = kSumElems * kSumGroup;
  double sum = 0;
  for (std::size_t first = 0; first < count; first += kGroup) {
    const std::size_t end = std::min(count, first + kGroup);
    double group = 0;
    for (std::size_t i = first; i < end; i += kSumElems) {
      group += static_cast<double>(loop(values + i, std::min(kSumElems, end - i)));
    }
    sum += group;
  }
  return sum;
}

bool VectorCodec::finite(const float* values, std::size_t count) const {
  return loops_.peak(values, count) < kPeakNotFinite;
}

/// While the vector is encoded the residual holds the vector itself; then what the payload holds is subtracted from it.
std::size_t VectorCodec::encodeKeeping(const VectorIn& in, float* residual, unsigned char* to) const {
  VectorIn kept = in;
  kept.values = residual;
  kept.feedback = true;
  const std::size_t bytes = encodeVector(kept, to);
  const PayloadView payload(reinterpret_cast<const std::byte*>(to), bytes);
  decodeVector(payload, {residual, in.count, {DecodeMode::axpy, -1}, in.random.shared, in.first_element, in.scratch});
  // Residuals drop infinities, which would stay for ever, and infinity minus infinity.
  for (std::size_t i = 0; i < in.count; ++i) {
    const bool is_finite = (bitCast<std::uint32_t>(residual[i]) & kFloatInfinity) != kFloatInfinity;
    residual[i] = is_finite ? residual[i] : 0.0f;
  }
  return bytes;
}

Status VectorCodec::encode(const EncodeJob& job) const {
  if (Status status = checkEncodeJob(*this, job); !status.isOk()) {
    return status;
  }
  for (EncodeSegment& segment : job.segments) {
    if (segment.count > maxElements()) {
      return Status::error(GOSS_ERR_INVALID_ARGUMENT, "codec '" + spec() + "': the segment is too long; cut it");
    }
    EncodeRun run;
    run.values = job.values.data() + segment.first;
    run.reference = job.reference == nullptr ? nullptr : job.reference + segment.first;
    run.residual = job.residual == nullptr ? nullptr : job.residual + segment.first;
    run.decay = job.decay;
    VectorIn in{run.values, segment.count, job.random, job.first_element + segment.first, {}, job.feedback};
    in.scratch = job.scratch.subspan(vectorScratch(segment.count));
    unsigned char* to = bytesOf(segment.out);
    if (run.residual != nullptr) {
      float tile[kTileElems];
      for (std::size_t i = 0; i < segment.count; i += kTileElems) {
        const std::size_t some = std::min(kTileElems, segment.count - i);
        loops_.prepare(tile, run, i, some);
        std::copy_n(tile, some, run.residual + i);
      }
      segment.bytes = encodeKeeping(in, run.residual, to);
    } else {
      if (run.reference != nullptr) {
        auto* difference = reinterpret_cast<float*>(job.scratch.data());
        loops_.prepare(difference, run, 0, segment.count);
        in.values = difference;
      }
      segment.bytes = encodeVector(in, to);
    }
  }
  return Status::ok();
}

void VectorCodec::decodeVectors(std::span<const PayloadView> payloads, const VectorOut& out) const {
  VectorOut next = out;
  for (const PayloadView payload : payloads) {
    decodeVector(payload, next);
    next.delivery.mode = out.delivery.mode == DecodeMode::axpy ? DecodeMode::axpy : DecodeMode::add;
  }
}

void VectorCodec::decodeMean(const DecodeJob& job) const {
  const std::size_t count = job.out.size();
  std::fill(job.out.begin(), job.out.end(), 0.0f);
  auto* senders = reinterpret_cast<std::uint32_t*>(job.scratch.data());
  std::fill_n(senders, count, 0u);
  VectorOut out{job.out.data(), count, {DecodeMode::add, 1}, job.shared, job.first_element, {}};
  out.scratch = job.scratch.subspan(vectorScratch(count));
  for (const PayloadView payload : job.payloads) {
    decodeVector(payload, out);
    countPresent(payload, out, senders);
  }
  for (std::size_t i = 0; i < count; ++i) {
    job.out[i] = senders[i] == 0 ? 0.0f : job.out[i] / static_cast<float>(senders[i]);
  }
}

Status VectorCodec::decode(const DecodeJob& job) const {
  if (Status status = checkDecodeJob(*this, job); !status.isOk()) {
    return status;
  }
  if (job.mode == DecodeMode::meanOfPresent) {
    decodeMean(job);
    return Status::ok();
  }
  if (job.mode == DecodeMode::set && job.payloads.empty()) {
    std::fill(job.out.begin(), job.out.end(), 0.0f);
  }
  VectorOut out{job.out.data(), job.out.size(), {job.mode, job.weight}, job.shared, job.first_element, {}};
  out.scratch = job.scratch.subspan(vectorScratch(job.out.size()));
  decodeVectors(job.payloads, out);
  return Status::ok();
}

Status VectorCodec::merge(MergeJob& job) const {
  if (Status status = checkMergeJob(*this, job); !status.isOk()) {
    return status;
  }
  const std::size_t count = job.values.size();
  if (count > maxElements()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "codec '" + spec() + "': the segment is too long; cut it");
  }
  const std::span<std::byte> scratch = job.scratch.subspan(vectorScratch(count));
  VectorOut out{job.values.data(), count, {DecodeMode::add, 1}, job.random.shared, job.first_element, scratch};
  decodeVectors(job.payloads, out);
  if (const float factor = job.factor; factor != 1 || job.residual == nullptr) {
    for (float& value : job.values) { // elements that no payload holds are no sums; their NaNs may be any
      value = kernels::canonical(value * factor);
    }
  }
  const VectorIn in{job.values.data(), count, job.random, job.first_element, scratch};
  if (job.residual != nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      job.residual[i] = kernels::canonical(job.values[i] + job.decay * job.residual[i]);
    }
    job.bytes = encodeKeeping(in, job.residual, bytesOf(job.out));
  } else {
    job.bytes = encodeVector(in, bytesOf(job.out));
  }
  out.delivery.mode = DecodeMode::set;
  decodeVector(PayloadView(job.out).first(job.bytes), out);
  return Status::ok();
}

} // namespace goss::compressors

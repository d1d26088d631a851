#include "capi/user_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace goss {

namespace {

struct Halves {
  std::span<float> first;
  std::span<float> second;
};

Halves halvesOf(std::span<std::byte> scratch, std::size_t count) {
  auto* floats = reinterpret_cast<float*>(scratch.data());
  return {std::span(floats, count), std::span(floats + count, count)};
}

} // namespace

CodecTraits UserCodec::traits() const {
  CodecTraits traits;
  traits.block = static_cast<std::uint32_t>(std::max<std::size_t>(1, functions_.block));
  return traits;
}

Status UserCodec::decodeTo(PayloadView payload, std::span<float> values) const {
  if (functions_.decode(functions_.context, payload.data(), payload.size(), values.size(), values.data()) == 0) {
    return Status::ok();
  }
  return Status::error(GOSS_ERR_PROTOCOL, fmt::format("codec '{}': {} bytes are no payload of {} elements", name_,
                                                      payload.size(), values.size()));
}

Result<std::size_t> UserCodec::encodeTo(std::span<const float> values, std::span<std::byte> out) const {
  const std::size_t bytes = functions_.encode(functions_.context, values.data(), values.size(), out.data());
  if (bytes <= maxBytes(values.size())) return bytes;
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("codec '{}': encode() made {} bytes of {} elements, more than max_bytes() says",
                                   name_, bytes, values.size()));
}

/// values: in, the vector to encode without its residual; decoded: out.
Status UserCodec::encodeKeeping(std::span<float> values, std::span<float> decoded, float* residual,
                                std::span<std::byte> out, std::size_t& bytes) const {
  const Result<std::size_t> made = encodeTo(values, out);
  if (!made.isOk()) return made.status();
  bytes = made.value();
  if (Status status = decodeTo(PayloadView(out).first(bytes), decoded); !status.isOk()) return status;
  for (std::size_t i = 0; residual != nullptr && i < values.size(); ++i) {
    const float lost = values[i] - decoded[i];
    residual[i] = std::isfinite(lost) ? lost : 0.0f;
  }
  return Status::ok();
}

Status UserCodec::encode(const EncodeJob& job) const {
  for (EncodeSegment& segment : job.segments) {
    const Halves scratch = halvesOf(job.scratch, segment.count);
    for (std::size_t i = 0; i < segment.count; ++i) {
      const std::size_t at = segment.first + i;
      float value = job.values[at];
      if (job.reference != nullptr) value -= job.reference[at];
      if (job.residual != nullptr) value += job.decay * job.residual[at];
      scratch.first[i] = value;
    }
    float* residual = job.residual == nullptr ? nullptr : job.residual + segment.first;
    const Status status = encodeKeeping(scratch.first, scratch.second, residual, segment.out, segment.bytes);
    if (!status.isOk()) return status;
  }
  return Status::ok();
}

Status UserCodec::decode(const DecodeJob& job) const {
  const Halves scratch = halvesOf(job.scratch, job.out.size());
  const bool adds = job.mode == DecodeMode::add || job.mode == DecodeMode::axpy;
  const float weight = job.mode == DecodeMode::axpy ? job.weight : 1;
  if (!adds) std::fill(job.out.begin(), job.out.end(), 0.0f);
  for (const PayloadView payload : job.payloads) {
    if (Status status = decodeTo(payload, scratch.first); !status.isOk()) return status;
    for (std::size_t i = 0; i < job.out.size(); ++i)
      job.out[i] += weight * scratch.first[i];
  }
  if (job.mode == DecodeMode::meanOfPresent && !job.payloads.empty()) {
    for (float& value : job.out)
      value /= static_cast<float>(job.payloads.size());
  }
  return Status::ok();
}

Status UserCodec::merge(MergeJob& job) const {
  const Halves scratch = halvesOf(job.scratch, job.values.size());
  for (const PayloadView payload : job.payloads) {
    if (Status status = decodeTo(payload, scratch.first); !status.isOk()) return status;
    for (std::size_t i = 0; i < job.values.size(); ++i)
      job.values[i] += scratch.first[i];
  }
  for (std::size_t i = 0; i < job.values.size(); ++i) {
    job.values[i] *= job.factor;
    if (job.residual != nullptr) job.values[i] += job.decay * job.residual[i];
  }
  const Status status = encodeKeeping(job.values, scratch.second, job.residual, job.out, job.bytes);
  std::copy(scratch.second.begin(), scratch.second.end(), job.values.begin());
  return status;
}

Status UserCodec::check(PayloadView payload, std::size_t count) const {
  std::vector<float> values(count);
  return decodeTo(payload, values);
}

} // namespace goss

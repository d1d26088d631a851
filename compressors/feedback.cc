#include "compressors/feedback.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compressors/chain.h"
#include "compressors/common/vector_codec.h"

namespace goss::compressors {

namespace {

constexpr std::string_view kErrorSpec = "int8:block=256,mode=symmetric,round=nearest";

std::shared_ptr<const Codec> errorCodec(const ErrorFeedback& feedback) {
  return feedback.eight_bit ? makeCompression(kErrorSpec).take().codec : nullptr;
}

} // namespace

/// Where the parts of a state and of scratch lie; null for parts that this feedback does not have.
struct FeedbackEncoder::Parts {
  /// Residual of this encode: in the state, or in scratch where errors have eight bits.
  float* residual = nullptr;
  float* momentum = nullptr;        ///< Lies in the state.
  std::span<std::byte> error;       ///< The payload of eight-bit errors, in the state.
  std::uint32_t* indices = nullptr; ///< Lie in scratch.
  std::span<std::byte> rest;        ///< Scratch for the codec.
};

FeedbackEncoder::FeedbackEncoder(Compression compression, std::size_t count)
    : compression_(std::move(compression)), count_(count), error_codec_(errorCodec(compression_.feedback)) {}

std::size_t FeedbackEncoder::stateBytes() const {
  const ErrorFeedback& feedback = compression_.feedback;
  if (error_codec_ != nullptr) {
    return error_codec_->maxBytes(count_);
  }
  const std::size_t vectors = hasMomentum() ? 2 : feedback.worker || feedback.server ? 1 : 0;
  return vectors * count_ * sizeof(float);
}

std::size_t FeedbackEncoder::scratchBytes() const {
  const bool vector = error_codec_ != nullptr || compression_.feedback.masked;
  return (vector ? scratchAligned(count_ * sizeof(float)) : 0) + compression_.codec->scratchBytes(count_);
}

Result<FeedbackEncoder::Parts> FeedbackEncoder::open(std::size_t count, std::span<std::byte> state,
                                                     std::span<std::byte> scratch, std::uint64_t step) const {
  if (count != count_) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("feedback of '{}': {} elements; it was made for {}",
                                                                compression_.spec, count, count_));
  }
  if (state.size() != stateBytes() || scratch.size() < scratchBytes()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("feedback of '{}': state of {} bytes and scratch of {}; it needs {} and {}",
                                     compression_.spec, state.size(), scratch.size(), stateBytes(), scratchBytes()));
  }
  const std::size_t vector = scratchAligned(count_ * sizeof(float));
  Parts parts;
  parts.rest = scratch;
  if (error_codec_ != nullptr) {
    parts.error = state;
    parts.residual = reinterpret_cast<float*>(scratch.data());
    parts.rest = scratch.subspan(vector);
    const std::uint32_t reset = compression_.feedback.reset_steps;
    if (reset != 0 && step % reset == 0) {
      std::fill(state.begin(), state.end(), std::byte{0}); // an error of zero: zero codes times a zero step
    }
    const PayloadView stored = state;
    DecodeJob job;
    job.payloads = {&stored, 1};
    job.out = {parts.residual, count_};
    if (Status status = error_codec_->decode(job); !status.isOk()) {
      return status;
    }
  } else if (!state.empty()) {
    parts.residual = reinterpret_cast<float*>(state.data());
    parts.momentum = hasMomentum() ? parts.residual + count_ : nullptr;
    if (compression_.feedback.masked) {
      parts.indices = reinterpret_cast<std::uint32_t*>(scratch.data());
      parts.rest = scratch.subspan(vector);
    }
  }
  return parts;
}

/// The residual holds what this encode lost; the state still holds the error of the one before.
Status FeedbackEncoder::keepError(const Parts& parts) const {
  const std::span<float> lost(parts.residual, count_);
  const float keep = compression_.feedback.keep;
  for (float& value : lost) {
    value = (1.0f - keep) * value;
  }
  const PayloadView before = parts.error;
  DecodeJob add;
  add.payloads = {&before, 1};
  add.out = lost;
  add.mode = DecodeMode::axpy;
  add.weight = keep;
  if (Status status = error_codec_->decode(add); !status.isOk()) {
    return status;
  }
  EncodeSegment segment{0, count_, parts.error, 0};
  EncodeJob job;
  job.values = lost;
  job.segments = {&segment, 1};
  return error_codec_->encode(job);
}

Status FeedbackEncoder::maskMomentum(const EncodeJob& job, const Parts& parts) const {
  for (const EncodeSegment& segment : job.segments) {
    const PayloadView payload = PayloadView(segment.out).first(segment.bytes);
    auto held = compression_.codec->selected(payload, segment.count, job.random.shared,
                                             job.first_element + segment.first, {parts.indices, segment.count});
    if (!held.isOk()) {
      return held.status();
    }
    for (std::size_t i = 0; i < held.value(); ++i) {
      parts.momentum[segment.first + parts.indices[i]] = 0;
    }
  }
  return Status::ok();
}

Status FeedbackEncoder::encode(EncodeJob job, std::span<std::byte> state, std::span<std::byte> scratch,
                               std::uint64_t step) const {
  auto opened = open(job.values.size(), state, scratch, step);
  if (!opened.isOk()) {
    return opened.status();
  }
  const Parts parts = opened.value();
  job.residual = parts.residual;
  job.decay = compression_.feedback.decay;
  job.scratch = parts.rest;
  if (parts.momentum != nullptr) {
    for (std::size_t i = 0; i < count_; ++i) {
      parts.momentum[i] = compression_.feedback.momentum * parts.momentum[i] + job.values[i];
    }
    job.values = {parts.momentum, count_};
  }
  if (Status status = compression_.codec->encode(job); !status.isOk()) {
    return status;
  }
  if (parts.momentum != nullptr) {
    for (std::size_t i = 0; i < count_; ++i) { // an overflow is encoded once and then forgotten, as in residuals
      parts.momentum[i] = std::isfinite(parts.momentum[i]) ? parts.momentum[i] : 0.0f;
    }
    return compression_.feedback.masked ? maskMomentum(job, parts) : Status::ok();
  }
  return error_codec_ != nullptr ? keepError(parts) : Status::ok();
}

Status FeedbackEncoder::merge(MergeJob& job, std::span<std::byte> state, std::span<std::byte> scratch,
                              std::uint64_t step) const {
  auto opened = open(job.values.size(), state, scratch, step);
  if (!opened.isOk()) {
    return opened.status();
  }
  const Parts parts = opened.value();
  job.residual = hasMomentum() ? nullptr : parts.residual;
  job.decay = compression_.feedback.decay;
  job.scratch = parts.rest;
  if (Status status = compression_.codec->merge(job); !status.isOk()) {
    return status;
  }
  return error_codec_ != nullptr ? keepError(parts) : Status::ok();
}

} // namespace goss::compressors

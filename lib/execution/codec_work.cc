#include "execution/codec_work.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace goss {

void CodecWork::bind(const Call& call, int ranks) {
  codecs_ = call.codecs.get();
  dtype_ = call.dtype;
  factor_ = call.op == GOSS_AVG ? 1.0f / static_cast<float>(ranks) : 1.0f;
}

void CodecWork::reserve(std::uint64_t elems) {
  constexpr std::size_t kAlignment = 64;
  const std::size_t bytes = codecs_->scratchBytes(elems);
  if (scratch_.size() < bytes) {
    scratch_storage_.resize(bytes + kAlignment);
    const auto address = reinterpret_cast<std::uintptr_t>(scratch_storage_.data());
    scratch_ = std::span(scratch_storage_).subspan((kAlignment - address % kAlignment) % kAlignment, bytes);
  }
  if (values_.size() < elems) values_.resize(elems);
}

/// Numbers are computed in their destination, if that is float32.
float* CodecWork::valuesFor(std::byte* target) {
  return target != nullptr && dtype_ == GOSS_FLOAT32 ? reinterpret_cast<float*>(target) : values_.data();
}

void CodecWork::load(const CodecStep& step, float* values) const {
  if (step.base == nullptr) {
    std::fill_n(values, step.elems, 0.0f);
  } else if (dtype_ != GOSS_FLOAT32) {
    kernels::convert(GOSS_FLOAT32, values, dtype_, step.base, step.elems);
  } else if (reinterpret_cast<const float*>(step.base) != values) {
    kernels::copy(values, step.base, step.elems * sizeof(float));
  }
}

void CodecWork::store(const CodecStep& step, const float* values) const {
  if (step.target == nullptr || dtype_ == GOSS_FLOAT32) return;
  kernels::convert(dtype_, step.target, GOSS_FLOAT32, values, step.elems);
}

Status CodecWork::add(const CodecStep& step, std::span<float> values, bool set) {
  DecodeJob job;
  job.payloads = step.payloads;
  job.out = values;
  job.mode = set ? DecodeMode::set : DecodeMode::add;
  job.shared = step.random.shared;
  job.first_element = step.first_element;
  job.scratch = scratch_;
  return compressionOf(step.payloads_are_results).codec->decode(job);
}

Status CodecWork::decode(const CodecStep& step) {
  reserve(step.elems);
  const std::span<float> values(valuesFor(step.target), step.elems);
  if (step.base != nullptr) load(step, values.data());
  if (Status status = add(step, values, step.base == nullptr); !status.isOk()) return status;
  if (step.finishes && factor_ != 1) {
    for (float& value : values)
      value *= factor_;
  }
  store(step, values.data());
  return Status::ok();
}

Status CodecWork::encode(CodecStep& step) {
  reserve(step.elems);
  const bool finishes = step.finishes && factor_ != 1;
  if (step.payloads.empty() && step.target == nullptr && !finishes) return encodeOnly(step);
  const std::span<float> values(valuesFor(step.target), step.elems);
  load(step, values.data());
  if (Status status = merge(step, values); !status.isOk()) return status;
  store(step, values.data());
  return Status::ok();
}

Status CodecWork::encodeOnly(CodecStep& step) {
  const Compression& compression = compressionOf(step.out_is_result);
  if (Status status = feedback_.begin(compression.feedback, step.kept, step.elems); !status.isOk()) return status;
  EncodeSegment segment{0, step.elems, step.out, 0};
  EncodeJob job;
  const auto* values = reinterpret_cast<const float*>(step.base);
  if (dtype_ != GOSS_FLOAT32) {
    load(step, values_.data());
    values = values_.data();
  }
  job.values = std::span(values, step.elems);
  if (feedback_.hasMomentum()) job.values = feedback_.addMomentum(job.values);
  job.residual = feedback_.residual();
  job.decay = compression.feedback.decay;
  job.random = step.random;
  job.first_element = step.first_element;
  job.scratch = scratch_;
  job.segments = std::span(&segment, 1);
  if (Status status = compression.codec->encode(job); !status.isOk()) return status;
  step.bytes = segment.bytes;
  return endFeedback(step);
}

Result<std::size_t> CodecWork::addPayloads(std::uint64_t elems, PayloadView first, PayloadView second,
                                           std::span<std::byte> into) {
  if (into.data() != first.data()) kernels::copy(into.data(), first.data(), first.size());
  if (Status status = codecs_->contribution.codec->addPayload(second, elems, into.first(first.size())); !status.isOk())
    return status;
  return first.size();
}

/// values: in, this rank's numbers; out, what the payload decodes to.
Status CodecWork::merge(CodecStep& step, std::span<float> values) {
  const Compression& compression = compressionOf(step.out_is_result);
  MergeJob job;
  job.payloads = step.payloads;
  if (!step.payloads.empty() && step.payloads_are_results != step.out_is_result &&
      codecs_->contribution.codec->spec() != codecs_->result.codec->spec()) {
    if (Status status = add(step, values, false); !status.isOk()) return status;
    job.payloads = {};
  }
  if (Status status = feedback_.begin(compression.feedback, step.kept, step.elems); !status.isOk()) return status;
  if (feedback_.hasMomentum()) {
    const std::span<const float> sum = feedback_.addMomentum(values);
    std::copy(sum.begin(), sum.end(), values.begin());
  }
  job.values = values;
  job.factor = step.finishes ? factor_ : 1;
  job.residual = feedback_.residual();
  job.decay = compression.feedback.decay;
  job.random = step.random;
  job.first_element = step.first_element;
  job.scratch = scratch_;
  job.out = step.out;
  if (Status status = compression.codec->merge(job); !status.isOk()) return status;
  step.bytes = job.bytes;
  return endFeedback(step);
}

Status CodecWork::endFeedback(const CodecStep& step) {
  if (Status status = feedback_.end(); !status.isOk()) return status;
  return feedback_.maskMomentum(*compressionOf(step.out_is_result).codec, PayloadView(step.out).first(step.bytes),
                                step.random.shared, step.first_element);
}

} // namespace goss

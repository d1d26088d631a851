#include "execution/feedback.h"

#include <algorithm>
#include <cmath>

#include "builtins/builtins.h"

namespace goss {

namespace {

constexpr std::string_view kErrorSpec = "int8:block=256,mode=symmetric,round=nearest";

} // namespace

ReferenceKey residualKeyOf(const ErrorFeedback& feedback, const FeedbackKey& encoding) {
  using Role = ReferenceRole;
  const Role role = feedback.momentum != 0 ? Role::velocity : encoding.server ? Role::server : Role::worker;
  return {encoding.tensor, role, encoding.id};
}

ReferenceKey momentumKeyOf(const FeedbackKey& encoding) {
  return {encoding.tensor, ReferenceRole::momentum, encoding.id};
}

bool forgetsError(const ErrorFeedback& feedback, std::uint64_t draw) {
  return feedback.reset_steps != 0 && draw % feedback.reset_steps == 0;
}

Result<KeptFeedback> openFeedback(ReferenceStore& store, const ErrorFeedback& feedback, const FeedbackKey& encoding) {
  KeptFeedback kept;
  if (!(encoding.server ? feedback.server : feedback.worker)) return kept;
  Result<std::span<float>> residual = store.open(residualKeyOf(feedback, encoding), encoding.range);
  if (!residual.isOk()) return residual.status();
  kept.residual = residual.value().data();
  kept.forget = forgetsError(feedback, encoding.draw);
  if (feedback.momentum != 0) {
    Result<std::span<float>> sum = store.open(momentumKeyOf(encoding), encoding.range);
    if (!sum.isOk()) return sum.status();
    kept.momentum = sum.value().data();
  }
  return kept;
}

Status FeedbackWork::begin(const ErrorFeedback& feedback, const KeptFeedback& kept, std::size_t count) {
  feedback_ = feedback;
  kept_ = kept;
  count_ = count;
  residual_ = kept.residual;
  if (!feedback.eight_bit || residual_ == nullptr) return Status::ok();
  if (eight_ == nullptr) {
    Result<Compression> made = makeCodec(kErrorSpec);
    if (!made.isOk()) return made.status();
    eight_ = made.value().codec;
  }
  if (kept.forget) std::fill_n(kept.residual, count, 0.0f);
  lost_.assign(kept.residual, kept.residual + count);
  residual_ = lost_.data();
  return Status::ok();
}

std::span<const float> FeedbackWork::addMomentum(std::span<const float> values) {
  for (std::size_t i = 0; i < count_; ++i)
    kept_.momentum[i] = feedback_.momentum * kept_.momentum[i] + values[i];
  return {kept_.momentum, count_};
}

Status FeedbackWork::encodeError(std::span<const float> values) {
  error_.resize(eight_->maxBytes(values.size()));
  EncodeSegment segment{0, values.size(), error_, 0};
  EncodeJob job;
  job.values = values;
  job.segments = std::span(&segment, 1);
  return eight_->encode(job);
}

Status FeedbackWork::end() {
  if (kept_.momentum != nullptr) { // An overflow is encoded once and then forgotten, as in residuals.
    for (float& value : std::span(kept_.momentum, count_))
      value = std::isfinite(value) ? value : 0.0f;
  }
  if (!feedback_.eight_bit || kept_.residual == nullptr) return Status::ok();
  for (float& value : lost_)
    value = (1.0f - feedback_.keep) * value;
  // The kept error was decoded from such a payload; encoding it gives the same payload again.
  if (Status status = encodeError({kept_.residual, count_}); !status.isOk()) return status;
  const PayloadView payload = error_;
  DecodeJob job;
  job.payloads = std::span(&payload, 1);
  job.out = lost_;
  job.mode = DecodeMode::axpy;
  job.weight = feedback_.keep;
  if (Status status = eight_->decode(job); !status.isOk()) return status;
  if (Status status = encodeError(lost_); !status.isOk()) return status;
  const PayloadView rounded = error_;
  DecodeJob store;
  store.payloads = std::span(&rounded, 1);
  store.out = {kept_.residual, count_};
  return eight_->decode(store);
}

Status FeedbackWork::maskMomentum(const Codec& codec, PayloadView payload, const SharedStream& shared,
                                  std::uint64_t first_element) {
  if (kept_.momentum == nullptr || !feedback_.masked) return Status::ok();
  if (indices_.size() < count_) indices_.resize(count_);
  Result<std::size_t> held = codec.selected(payload, count_, shared, first_element, std::span(indices_).first(count_));
  if (!held.isOk()) return held.status();
  for (std::size_t i = 0; i < held.value(); ++i)
    kept_.momentum[indices_[i]] = 0;
  return Status::ok();
}

} // namespace goss

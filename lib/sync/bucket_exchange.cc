#include "sync/bucket_exchange.h"

#include <utility>

namespace goss::sync {

namespace {

constexpr std::size_t kScratchAlignment = 64;

float signOf(float value) { // a NaN stays a NaN, so that the run notices it
  return value > 0 ? 1.0f : value < 0 ? -1.0f : value == 0 ? 0.0f : value;
}

} // namespace

Status MeanExchange::start(Channel& channel, std::span<float> gradient, double) {
  return channel.startMean({gradient, tensor_}, &request_);
}

Status MeanExchange::finish(Channel& channel, std::span<float>) {
  return request_ == nullptr ? Status::ok() : channel.wait(&request_);
}

SignExchange::SignExchange(std::size_t count, std::shared_ptr<const Codec> codec, double decay)
    : codec_(std::move(codec)),
      decay_(static_cast<float>(decay)),
      momentum_(count),
      values_(count),
      payload_(codec_->maxBytes(count)),
      scratch_(codec_->scratchBytes(count) + kScratchAlignment) {}

std::span<std::byte> SignExchange::scratch() {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch_.data());
  const std::size_t skip = (kScratchAlignment - address % kScratchAlignment) % kScratchAlignment;
  return std::span(scratch_).subspan(skip, scratch_.size() - kScratchAlignment);
}

Status SignExchange::start(Channel& channel, std::span<float> gradient, double lr) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] = static_cast<float>(lr) * gradient[i];
  }
  EncodeSegment segment{0, values_.size(), payload_};
  EncodeJob job;
  job.values = values_;
  job.residual = momentum_.data();
  job.decay = decay_;
  job.scratch = scratch();
  job.segments = {&segment, 1};
  if (Status status = codec_->encode(job); !status.isOk()) {
    return status;
  }
  gathered_.resize(payload_.size() * static_cast<std::size_t>(channel.size()));
  is_started_ = true;
  return channel.startGather({payload_, gathered_, values_.size() * sizeof(float)}, &request_);
}

Status SignExchange::finish(Channel& channel, std::span<float> gradient) {
  if (!std::exchange(is_started_, false)) {
    return Status::ok();
  }
  if (Status status = channel.wait(&request_); !status.isOk()) {
    return status;
  }
  std::vector<PayloadView> payloads;
  for (std::size_t at = 0; at < gathered_.size(); at += payload_.size()) {
    payloads.push_back(std::span<const std::byte>(gathered_).subspan(at, payload_.size()));
  }
  DecodeJob job;
  job.payloads = payloads;
  job.out = gradient;
  job.mode = DecodeMode::meanOfPresent;
  job.scratch = scratch();
  if (Status status = codec_->decode(job); !status.isOk()) {
    return status;
  }
  for (float& value : gradient) {
    value = signOf(value);
  }
  return Status::ok();
}

} // namespace goss::sync

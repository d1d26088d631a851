#include "compressors/sparse/chained_codec.h"

#include <algorithm>

namespace goss::compressors {

std::size_t ChainedCodec::innerScratchBytes(std::size_t count) const {
  const std::size_t some = most(count);
  return scratchAligned(indexRoom(count) * sizeof(std::uint32_t)) + scratchAligned(some * sizeof(float)) +
         inner_->scratchBytes(some);
}

ChainedCodec::Workspace ChainedCodec::workspace(std::span<std::byte> scratch, std::size_t count) const {
  const std::size_t some = most(count), room = indexRoom(count);
  const std::size_t values = scratchAligned(room * sizeof(std::uint32_t));
  return {{reinterpret_cast<std::uint32_t*>(scratch.data()), room},
          {reinterpret_cast<float*>(scratch.data() + values), some},
          scratch.subspan(values + scratchAligned(some * sizeof(float)))};
}

LossBound ChainedCodec::lossOfPicked(double share, std::size_t count, bool feedback) const {
  LossBound loss = inner_->lossBound(most(count), feedback);
  loss.euclidean = loss.euclidean < 1 ? 1 - share * (1 - loss.euclidean) : loss.euclidean;
  loss.maximum = std::max(1.0, loss.maximum);
  return loss;
}

std::size_t ChainedCodec::encodeInner(const VectorIn& in, const Workspace& work, std::size_t held,
                                      unsigned char* to) const {
  EncodeSegment segment{0, held, {reinterpret_cast<std::byte*>(to), inner_->maxBytes(held)}, 0};
  EncodeJob job;
  job.values = work.values.first(held);
  job.feedback = in.feedback;
  job.random = in.random;
  job.first_element = in.first_element;
  job.scratch = work.rest;
  job.segments = {&segment, 1};
  // This class computed sizes and scratch: the call cannot fail.
  const Status status = inner_->encode(job);
  return status.isOk() ? segment.bytes : 0;
}

void ChainedCodec::decodeInner(std::span<const PayloadView> payloads, const VectorOut& out, const Workspace& work,
                               std::size_t held) const {
  DecodeJob job;
  job.payloads = payloads;
  job.out = work.values.first(held);
  job.shared = out.shared;
  job.first_element = out.first_element;
  job.scratch = work.rest;
  const Status status = inner_->decode(job);
  if (!status.isOk()) { // cannot happen: flawOf() has asked the inner codec
    std::fill(job.out.begin(), job.out.end(), 0.0f);
  }
}

void ChainedCodec::scatter(const VectorOut& out, const Workspace& work, std::size_t held) {
  if (out.delivery.mode == DecodeMode::set) {
    std::fill_n(out.out, out.count, 0.0f);
  }
  const bool weighted = out.delivery.mode == DecodeMode::axpy;
  for (std::size_t i = 0; i < held; ++i) {
    float& to = out.out[work.indices[i]];
    to = to + (weighted ? out.delivery.weight * work.values[i] : work.values[i]);
  }
}

} // namespace goss::compressors

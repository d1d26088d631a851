#include "compressors/cuda/codecs/sparse_codec.h"

#include <fmt/format.h>

#include <algorithm>

namespace goss::compressors::cuda {

namespace {

constexpr std::size_t kInnerPayloadBytes = 64;

} // namespace

// Scratch holds the picked values, their number, the picker's scratch and the inner codec's.
std::size_t SparseDeviceCodec::innerScratchBytes(std::size_t count) const {
  return floatBytes(most(count)) + kInnerPayloadBytes + scratchAligned(pickScratchBytes(count)) +
         inner_->scratchBytes(most(count));
}

SparseDeviceCodec::Sparse SparseDeviceCodec::sparseOf(const Vector& vector) const {
  const std::span<std::byte> scratch = innerScratch(vector.scratch, vector.count);
  Sparse sparse;
  sparse.values = const_cast<float*>(vector.values); // of a vector that is encoded they are only read
  sparse.count = vector.count;
  sparse.first_element = vector.first_element;
  sparse.shared = vector.random.shared;
  sparse.payload = vector.payload;
  sparse.feedback = vector.feedback;
  sparse.picked = reinterpret_cast<float*>(scratch.data());
  sparse.inner =
      blocks_ == nullptr ? nullptr : reinterpret_cast<InnerPayload*>(scratch.data() + floatBytes(most(vector.count)));
  sparse.scratch = scratch.subspan(floatBytes(most(vector.count)) + kInnerPayloadBytes);
  return sparse;
}

std::span<std::byte> SparseDeviceCodec::codeScratch(const Sparse& sparse) const {
  return sparse.scratch.subspan(scratchAligned(pickScratchBytes(sparse.count)));
}

Status SparseDeviceCodec::encodeInner(const Sparse& sparse, const Randomness& random, Stream stream) const {
  const std::size_t some = most(sparse.count);
  if (blocks_ != nullptr) {
    EncodeKernelJob kernel_job;
    kernel_job.values = sparse.picked;
    kernel_job.key = random.own.key();
    kernel_job.first_element = sparse.first_element;
    return launched(
        host(), blocks_->encodeWhole(kernel_job, {some, sparse.payload.data(), nullptr, sparse.inner, sparse.feedback},
                                     stream));
  }
  EncodeSegment segment{0, some, sparse.payload.subspan(fullHeadBytes(sparse.count)), 0};
  EncodeJob job;
  job.values = {sparse.picked, some};
  job.feedback = sparse.feedback;
  job.random = random;
  job.first_element = sparse.first_element;
  job.scratch = codeScratch(sparse);
  job.segments = {&segment, 1};
  return inner_->encode(job, stream);
}

Status SparseDeviceCodec::decodeInner(const Sparse& sparse, Stream stream) const {
  const std::size_t some = most(sparse.count);
  if (blocks_ != nullptr) {
    return launched(host(),
                    blocks_->decodeInner({some, sparse.payload.data(), nullptr, sparse.inner}, sparse.picked, stream));
  }
  const PayloadView payload = PayloadView(sparse.payload).subspan(fullHeadBytes(sparse.count));
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.out = {sparse.picked, some};
  job.shared = sparse.shared;
  job.first_element = sparse.first_element;
  job.scratch = codeScratch(sparse);
  return inner_->decode(job, stream);
}

Status SparseDeviceCodec::encodeVector(const Vector& vector, Stream stream) const {
  Sparse sparse = sparseOf(vector);
  sparse.payload = vector.payload.first(host().maxBytes(vector.count));
  if (Status status = launched(host(), pick(sparse, stream)); !status.isOk()) {
    return status;
  }
  if (Status status = encodeInner(sparse, vector.random, stream); !status.isOk()) {
    return status;
  }
  if (vector.residual == nullptr && vector.decoded == nullptr) {
    return Status::ok();
  }
  if (Status status = decodeInner(sparse, stream); !status.isOk()) {
    return status;
  }
  Launches launches(host());
  if (vector.residual != nullptr) {
    sparse.values = vector.residual;
    launches([&] { return putBack(sparse, {{DecodeMode::axpy, -1}, true, nullptr}, stream); });
    launches([&] { return launchForget(vector.residual, vector.count, stream); });
  }
  if (vector.decoded != nullptr) {
    sparse.values = vector.decoded;
    launches([&] { return launchClear({vector.decoded, nullptr, vector.count}, stream); });
    launches([&] { return putBack(sparse, {}, stream); });
  }
  return launches.status();
}

Result<std::uint32_t> SparseDeviceCodec::heldWithin(std::size_t bytes, std::size_t count) const {
  const auto needed = [this, count](std::size_t held) {
    return headBytes(count, held) + inner_->host().maxBytes(held);
  };
  if (bytes < needed(0) || bytes > host().maxBytes(count)) {
    return Status::error(GOSS_ERR_PROTOCOL,
                         fmt::format("{} bytes are no payload of codec '{}' for {} elements, which "
                                     "has {} to {}",
                                     bytes, host().spec(), count, needed(0), host().maxBytes(count)));
  }
  std::size_t held = 0, beyond = most(count) + 1;
  while (beyond - held > 1) {
    const std::size_t middle = held + (beyond - held) / 2;
    (needed(middle) <= bytes ? held : beyond) = middle;
  }
  return static_cast<std::uint32_t>(held);
}

Status SparseDeviceCodec::checkPayloads(const DecodeJob& job) const {
  const std::size_t count = job.out.size();
  if (Status status = checkCount(count); !status.isOk()) {
    return status;
  }
  if (Status status = checkScratch(host(), job.scratch.size(), scratchBytes(count)); !status.isOk()) {
    return status;
  }
  if (fixedBytes()) {
    return checkLengths(host(), job.payloads, count);
  }
  for (const PayloadView payload : job.payloads) {
    const std::size_t head = blocks_ == nullptr ? fullHeadBytes(count) : 0;
    if (payload.size() < head || payload.size() > host().maxBytes(count)) {
      return Status::error(GOSS_ERR_PROTOCOL, fmt::format("{} bytes are no payload of codec '{}' for {} elements",
                                                          payload.size(), host().spec(), count));
    }
    if (blocks_ != nullptr) {
      if (const auto held = heldWithin(payload.size(), count); !held.isOk()) {
        return held.status();
      }
    }
  }
  return Status::ok();
}

SparseDeviceCodec::Sparse SparseDeviceCodec::sparseOf(const DecodeJob& job, PayloadView payload, Launches& launches,
                                                      Stream stream) const {
  Vector vector;
  vector.values = job.out.data();
  vector.count = job.out.size();
  vector.random.shared = job.shared;
  vector.first_element = job.first_element;
  vector.scratch = job.scratch;
  // Decoding only reads the payload.
  vector.payload = {const_cast<std::byte*>(payload.data()), payload.size()};
  const Sparse sparse = sparseOf(vector);
  if (blocks_ != nullptr) {
    const HeldJob held{reinterpret_cast<const unsigned char*>(payload.data()), vector.count,
                       heldWithin(payload.size(), vector.count).value(), sparse.inner, packs_};
    launches([&] { return launchHeld(held, stream); });
  }
  return sparse;
}

Status SparseDeviceCodec::clearHeld(const DecodeJob& job, Stream stream) const {
  if (Status status = checkPayloads(job); !status.isOk()) {
    return status;
  }
  Launches launches(host());
  Return how;
  how.clears = true;
  for (const PayloadView payload : job.payloads) {
    const Sparse sparse = sparseOf(job, payload, launches, stream);
    launches([&] { return putBack(sparse, how, stream); });
  }
  return launches.status();
}

Status SparseDeviceCodec::decode(const DecodeJob& job, Stream stream) const {
  const std::size_t count = job.out.size();
  if (Status status = checkPayloads(job); !status.isOk()) {
    return status;
  }
  const bool mean = job.mode == DecodeMode::meanOfPresent;
  Return how;
  how.delivery = {job.mode == DecodeMode::axpy ? DecodeMode::axpy : DecodeMode::add, job.weight};
  how.senders = mean ? reinterpret_cast<std::uint32_t*>(job.scratch.data()) : nullptr;
  Launches launches(host());
  if (mean || job.mode == DecodeMode::set) {
    launches([&] { return launchClear({job.out.data(), how.senders, count}, stream); });
  }
  for (const PayloadView payload : job.payloads) {
    const Sparse sparse = sparseOf(job, payload, launches, stream);
    if (Status status = decodeInner(sparse, stream); !status.isOk()) {
      return status;
    }
    launches([&] { return putBack(sparse, how, stream); });
  }
  if (mean) {
    launches([&] { return launchShare({job.out.data(), how.senders, count}, stream); });
  }
  for (const PayloadView payload : job.payloads) {
    launches([&] { return refuse(payload, job.out, stream); });
  }
  return launches.status();
}

Status SparseDeviceCodec::measure(const MeasureCall& call, Stream stream) const {
  if (fixedBytes()) {
    return DeviceCodec::measure(call, stream);
  }
  if (blocks_ == nullptr) {
    MeasureCall inside = call;
    inside.payload = call.payload.subspan(fullHeadBytes(call.count));
    inside.count = most(call.count);
    inside.more = call.more + fullHeadBytes(call.count);
    return inner_->measure(inside, stream);
  }
  const auto most_held = heldWithin(call.payload.size(), call.count);
  if (!most_held.isOk()) {
    return most_held.status();
  }
  // The place of the length holds what is read from the payload until the length is known.
  auto* inner = reinterpret_cast<InnerPayload*>(call.length);
  Launches launches(host());
  launches([&] {
    return launchHeld(
        {reinterpret_cast<const unsigned char*>(call.payload.data()), call.count, most_held.value(), inner, packs_},
        stream);
  });
  launches([&] { return blocks_->measureInner(inner, call.more, call.length, stream); });
  return launches.status();
}

} // namespace goss::compressors::cuda

#include "pipeline/boundary_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace goss::pipeline {

namespace {

constexpr std::size_t kScratchAlignment = 64;

Status checkCodec(const Codec* codec) {
  if (codec == nullptr) return Status::ok();
  const CodecTraits traits = codec->traits();
  if (traits.fixed_size && !traits.multi_phase && !traits.stochastic && !traits.shared_random) return Status::ok();
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("codec '{}' cannot compress the boundaries of a pipeline: it must have payloads of "
                                   "fixed size and round to nearest, as int8, int4, int2 and fp16 do",
                                   codec->spec()));
}

Status malformed(std::size_t bytes, std::size_t expected) {
  return Status::error(GOSS_ERR_PROTOCOL,
                       fmt::format("a compressed activation or gradient has {} bytes instead of {}; do all ranks use "
                                   "the same codecs and samples?",
                                   bytes, expected));
}

} // namespace

BoundaryCodec::BoundaryCodec(BoundaryCodecSetup setup, SampleCache cache)
    : setup_(std::move(setup)), cache_(std::move(cache)), known_(setup_.sample_elems) {
  std::size_t most = 0;
  for (const Codec* codec : {setup_.forward.get(), setup_.backward.get()})
    most = std::max(most, codec != nullptr ? codec->scratchBytes(setup_.sample_elems) : 0);
  scratch_.resize(most + kScratchAlignment);
}

Result<std::unique_ptr<BoundaryCodec>> BoundaryCodec::create(BoundaryCodecSetup setup) {
  for (const Codec* codec : {setup.forward.get(), setup.backward.get()}) {
    if (Status status = checkCodec(codec); !status.isOk()) return status;
  }
  if (setup.sample_elems == 0 || (setup.deltas && setup.forward == nullptr)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "samples of a boundary need at least one element, and deltas a forward codec");
  }
  Result<SampleCache> cache = SampleCache::create(setup.deltas ? setup.cache_directory : "", setup.sample_elems);
  if (!cache.isOk()) return cache.status();
  return std::unique_ptr<BoundaryCodec>(new BoundaryCodec(std::move(setup), cache.take()));
}

std::size_t BoundaryCodec::maxBytes(bool is_forward, std::size_t samples) const {
  const Codec* codec = codecOf(is_forward);
  const std::size_t raw = setup_.sample_elems * sizeof(float);
  if (codec == nullptr) return samples * raw;
  const std::size_t coded = codec->maxBytes(setup_.sample_elems);
  return samples * (usesDeltas(is_forward) ? std::max(raw, coded) : coded);
}

Result<std::size_t> BoundaryCodec::encode(const Crossing& crossing, const float* values, std::span<std::byte> message) {
  const Codec* codec = codecOf(crossing.is_forward);
  std::size_t length = 0;
  for (std::size_t i = 0; i < crossing.samples.size(); ++i) {
    const std::span<const float> sample(values + i * setup_.sample_elems, setup_.sample_elems);
    std::size_t bytes = sample.size_bytes();
    Status status;
    if (codec == nullptr) {
      std::memcpy(message.data() + length, sample.data(), bytes);
    } else if (usesDeltas(crossing.is_forward)) {
      status = encodeDelta({crossing.stage, crossing.samples[i]}, sample, message.subspan(length), bytes);
    } else {
      status = encodeValues(*codec, sample, nullptr, message.subspan(length), bytes);
    }
    if (!status.isOk()) return status;
    length += bytes;
  }
  return length;
}

Status BoundaryCodec::decode(const Crossing& crossing, PayloadView message, float* values) {
  const Codec* codec = codecOf(crossing.is_forward);
  std::size_t at = 0;
  for (std::size_t i = 0; i < crossing.samples.size(); ++i) {
    const SampleCache::Key key(crossing.stage, crossing.samples[i]);
    const std::span<float> sample(values + i * setup_.sample_elems, setup_.sample_elems);
    const bool is_raw = codec == nullptr || (usesDeltas(crossing.is_forward) && !cache_.has(key));
    const std::size_t bytes = is_raw ? sample.size_bytes() : codec->maxBytes(setup_.sample_elems);
    if (bytes > message.size() - at) return malformed(message.size(), at + bytes);
    const PayloadView payload = message.subspan(at, bytes);
    Status status;
    if (usesDeltas(crossing.is_forward)) {
      status = decodeDelta(key, payload, sample);
    } else if (is_raw) {
      std::memcpy(sample.data(), payload.data(), bytes);
    } else {
      status = decodeValues(*codec, payload, sample, DecodeMode::set);
    }
    if (!status.isOk()) return status;
    at += bytes;
  }
  return at == message.size() ? Status::ok() : malformed(message.size(), at);
}

/// A sample is sent uncompressed the first time; later its difference to what the receiver has is sent, and both ends
/// add it.
Status BoundaryCodec::encodeDelta(const SampleCache::Key& key, std::span<const float> values,
                                  std::span<std::byte> message, std::size_t& bytes) {
  if (!cache_.has(key)) {
    bytes = values.size_bytes();
    std::memcpy(message.data(), values.data(), bytes);
    return cache_.store(key, values);
  }
  Status status = cache_.load(key, known_);
  if (status.isOk()) status = encodeValues(*setup_.forward, values, known_.data(), message, bytes);
  if (status.isOk()) status = decodeValues(*setup_.forward, message.first(bytes), known_, DecodeMode::add);
  return status.isOk() ? cache_.store(key, known_) : status;
}

Status BoundaryCodec::decodeDelta(const SampleCache::Key& key, PayloadView payload, std::span<float> values) {
  Status status;
  if (!cache_.has(key)) {
    std::memcpy(values.data(), payload.data(), payload.size());
  } else {
    status = cache_.load(key, values);
    if (status.isOk()) status = decodeValues(*setup_.forward, payload, values, DecodeMode::add);
  }
  return status.isOk() ? cache_.store(key, values) : status;
}

Status BoundaryCodec::encodeValues(const Codec& codec, std::span<const float> values, const float* reference,
                                   std::span<std::byte> message, std::size_t& bytes) {
  EncodeSegment segment{0, values.size(), message.first(codec.maxBytes(values.size()))};
  EncodeJob job;
  job.values = values;
  job.reference = reference;
  job.scratch = scratch(codec);
  job.segments = {&segment, 1};
  Status status = codec.encode(job);
  bytes = segment.bytes;
  return status;
}

Status BoundaryCodec::decodeValues(const Codec& codec, PayloadView payload, std::span<float> values, DecodeMode mode) {
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.out = values;
  job.mode = mode;
  job.scratch = scratch(codec);
  return codec.decode(job);
}

std::span<std::byte> BoundaryCodec::scratch(const Codec& codec) {
  void* memory = scratch_.data();
  std::size_t room = scratch_.size();
  const std::size_t bytes = codec.scratchBytes(setup_.sample_elems);
  return {static_cast<std::byte*>(std::align(kScratchAlignment, bytes, memory, room)), bytes};
}

} // namespace goss::pipeline

#include "compressors/lossless/lossless.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/wire.h"
#include "compressors/common/jobs.h"
#include "compressors/lossless/plane_coder.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr std::uint32_t kBytesMask = (1u << 30) - 1;
constexpr std::size_t kPlanesBytes = kLosslessPlanes * kLosslessChunk;
/// Stack that check() takes for zstd's decoder and one plane. zstd 1.5 needs less than 100 KiB.
constexpr std::size_t kStackDecoder = 160 << 10;

struct StoredPlane {
  PlaneMode mode = PlaneMode::raw;
  std::size_t bytes = 0;
};

StoredPlane readHeader(const unsigned char* header, std::size_t plane) {
  const auto word = base::loadLittleEndian<std::uint32_t>(header + 4 * plane);
  return {static_cast<PlaneMode>(word >> 30), word & kBytesMask};
}

bool isRepeated(const unsigned char* plane, std::size_t count) { return std::memcmp(plane, plane + 1, count - 1) == 0; }

/// Stores one plane at `to` and returns how.
StoredPlane storePlane(unsigned char* to, const unsigned char* plane, std::size_t count, std::span<std::byte> memory) {
  if (isRepeated(plane, count)) {
    to[0] = plane[0];
    return {PlaneMode::repeated, 1};
  }
  if (const std::size_t bytes = encodePlane(to, plane, count, memory); bytes != 0) {
    return {PlaneMode::zstd, bytes};
  }
  std::memcpy(to, plane, count);
  return {PlaneMode::raw, count};
}

/// Whether the stored bytes decode to a plane, which this function writes.
bool loadPlane(unsigned char* plane, std::size_t count, const unsigned char* from, const StoredPlane& stored,
               std::span<std::byte> memory) {
  switch (stored.mode) {
    case PlaneMode::raw:
      std::memcpy(plane, from, std::min(count, stored.bytes));
      return stored.bytes == count;
    case PlaneMode::repeated:
      std::memset(plane, stored.bytes == 1 ? from[0] : 0, count);
      return stored.bytes == 1;
    case PlaneMode::zstd:
      return stored.bytes < count && decodePlane(plane, count, from, stored.bytes, memory);
    default:
      return false;
  }
}

} // namespace

LosslessCodec::LosslessCodec(const CommonLoops& common, const LosslessLoops& loops)
    : VectorCodec(common),
      loops_(loops),
      encoder_bytes_(scratchAligned(planeEncoderBytes(kLosslessChunk))),
      decoder_bytes_(scratchAligned(planeDecoderBytes())) {}

CodecTraits LosslessCodec::traits() const {
  CodecTraits traits;
  traits.lossless = true;
  traits.idempotent = true;
  return traits;
}

std::size_t LosslessCodec::maxBytes(std::size_t count) const {
  return count * sizeof(float) + losslessChunks(count) * kLosslessHeader;
}

std::size_t LosslessCodec::lengthOf(PayloadView bytes, std::size_t count) const {
  std::size_t length = 0;
  for (std::size_t chunk = 0; chunk < losslessChunks(count); ++chunk) {
    const unsigned char* header = bytesOf(bytes) + length;
    length += kLosslessHeader;
    for (std::size_t plane = 0; plane < kLosslessPlanes && length <= bytes.size(); ++plane) {
      length += readHeader(header, plane).bytes;
    }
    if (length > bytes.size()) {
      return bytes.size();
    }
  }
  return length;
}

std::size_t LosslessCodec::innerScratchBytes(std::size_t) const {
  return kPlanesBytes + kLosslessChunk * sizeof(float) + std::max(encoder_bytes_, decoder_bytes_);
}

std::size_t LosslessCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  unsigned char* planes = bytesOf(in.scratch);
  const std::span<std::byte> memory = in.scratch.subspan(kPlanesBytes + kLosslessChunk * sizeof(float), encoder_bytes_);
  unsigned char* next = to;
  for (std::size_t first = 0; first < in.count; first += kLosslessChunk) {
    const std::size_t count = std::min(kLosslessChunk, in.count - first);
    loops_.split(planes, in.values + first, count);
    unsigned char* header = next;
    next += kLosslessHeader;
    for (std::size_t plane = 0; plane < kLosslessPlanes; ++plane) {
      const StoredPlane stored = storePlane(next, planes + plane * kLosslessChunk, count, memory);
      base::storeLittleEndian(header + 4 * plane,
                              static_cast<std::uint32_t>(stored.mode) << 30 | static_cast<std::uint32_t>(stored.bytes));
      next += stored.bytes;
    }
  }
  return static_cast<std::size_t>(next - to);
}

void LosslessCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  unsigned char* planes = bytesOf(out.scratch);
  auto* values = reinterpret_cast<float*>(out.scratch.data() + kPlanesBytes);
  const std::span<std::byte> memory =
      out.scratch.subspan(kPlanesBytes + kLosslessChunk * sizeof(float), decoder_bytes_);
  const unsigned char* next = bytesOf(payload);
  for (std::size_t first = 0; first < out.count; first += kLosslessChunk) {
    const std::size_t count = std::min(kLosslessChunk, out.count - first);
    const unsigned char* header = next;
    next += kLosslessHeader;
    for (std::size_t plane = 0; plane < kLosslessPlanes; ++plane) {
      const StoredPlane stored = readHeader(header, plane);
      loadPlane(planes + plane * kLosslessChunk, count, next, stored, memory); // flawOf() has decoded it before
      next += stored.bytes;
    }
    if (out.delivery.mode == DecodeMode::set) {
      loops_.join(out.out + first, planes, count);
    } else {
      loops_.join(values, planes, count);
      loops().deliver(out.out + first, values, count, out.delivery);
    }
  }
}

std::string LosslessCodec::flawOf(PayloadView payload, std::size_t count) const {
  alignas(64) std::byte memory[kStackDecoder];
  unsigned char plane_bytes[kLosslessChunk];
  if (decoder_bytes_ > sizeof memory) {
    return "this version of zstd needs more memory than there is room for; build with another one";
  }
  const unsigned char* next = bytesOf(payload);
  std::size_t left = payload.size();
  for (std::size_t first = 0; first < count; first += kLosslessChunk) {
    const std::size_t some = std::min(kLosslessChunk, count - first);
    if (left < kLosslessHeader) {
      return fmt::format("it ends before the header of chunk {}", first / kLosslessChunk);
    }
    const unsigned char* header = next;
    next += kLosslessHeader;
    left -= kLosslessHeader;
    for (std::size_t plane = 0; plane < kLosslessPlanes; ++plane) {
      const StoredPlane stored = readHeader(header, plane);
      if (stored.bytes > left || !loadPlane(plane_bytes, some, next, stored, std::span(memory).first(decoder_bytes_))) {
        return fmt::format("plane {} of chunk {} is damaged", plane, first / kLosslessChunk);
      }
      next += stored.bytes;
      left -= stored.bytes;
    }
  }
  return left == 0 ? "" : fmt::format("{} bytes follow its last plane", left);
}

std::span<const ValueStage> losslessStages() {
  static const std::array kStages = {
      ValueStage{"lossless",
                 {"3.3 on Gaussians, 1.4 on widened bfloat16",
                  "bytes of equal rank in planes, through zstd's entropy coder: for all-gathers", "ZipNN 2025",
                  "chunks of 32768 elements: for each of 4 planes a word (4 bytes; upper 2 bits 0 as it is, 1 zstd, 2 "
                  "one byte repeated; rest: stored bytes), then what is stored. Plane p holds byte p of each element's "
                  "bits rotated left by one, so plane 3 is the exponents. zstd frames: RFC 8878"},
                 {"lossless"},
                 [](StageReader&) -> ValueCodec {
                   return {
                       [](const Loops& loops) { return std::make_shared<LosslessCodec>(loops.common, loops.lossless); },
                       NoKernels{"an entropy coder works on the host"}};
                 }},
  };
  return kStages;
}

} // namespace goss::compressors

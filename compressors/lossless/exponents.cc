/// Lossless coding of float32 at the speed of memory: exponents in 3 bits below the top of their block, rarer ones as
/// they are, and all other bits untouched. There is no statistics pass and no entropy coder; on gradients, whose
/// exponents take 2.6 bits at best, it keeps within some per cent of `lossless` (as UCCL-Zip and ZipCCL, 2026, code
/// exponents for collectives).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compressors/common/jobs.h"
#include "compressors/common/vector_codec.h"
#include "compressors/lossless/format.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

/// Every bit survives, those of NaNs too.
class ExponentCodec final : public VectorCodec {
 public:
  /// Both tables must outlive the codec.
  ExponentCodec(const CommonLoops& common, const LosslessLoops& loops) : VectorCodec(common), loops_(loops) {}

  [[nodiscard]] std::string spec() const override { return "exponents"; }
  [[nodiscard]] CodecTraits traits() const override {
    CodecTraits traits;
    traits.lossless = true;
    traits.idempotent = true;
    return traits;
  }
  [[nodiscard]] LossBound lossBound(std::size_t, bool) const override { return {0, 0, 0}; }
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override {
    return count * sizeof(float) + (count + kTileElems - 1) / kTileElems;
  }

  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override {
    unsigned char* next = to;
    for (std::size_t first = 0; first < in.count; first += kTileElems) {
      next += loops_.encodeTile(next, in.values + first, std::min(kTileElems, in.count - first));
    }
    return static_cast<std::size_t>(next - to);
  }

  void decodeVector(PayloadView payload, const VectorOut& out) const override {
    const unsigned char* next = bytesOf(payload);
    for (std::size_t first = 0; first < out.count; first += kTileElems) {
      const std::size_t count = std::min(kTileElems, out.count - first);
      if (out.delivery.mode == DecodeMode::set) {
        loops_.decodeTile(out.out + first, next, count);
      } else {
        float values[kTileElems];
        loops_.decodeTile(values, next, count);
        loops().deliver(out.out + first, values, count, out.delivery);
      }
      next += tileBytes(next, count);
    }
  }

  [[nodiscard]] std::size_t lengthOf(PayloadView bytes, std::size_t count) const override {
    std::size_t length = 0;
    for (std::size_t first = 0; first < count; first += kTileElems) {
      const unsigned char* const tile = bytesOf(bytes) + length;
      const std::size_t left = bytes.size() - length, some = std::min(kTileElems, count - first);
      if (left < leastBytes(tile, left, some) || left < tileBytes(tile, some)) {
        return bytes.size();
      }
      length += tileBytes(tile, some);
    }
    return length;
  }

  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override {
    const unsigned char* next = bytesOf(payload);
    std::size_t left = payload.size();
    for (std::size_t first = 0; first < count; first += kTileElems) {
      const std::size_t some = std::min(kTileElems, count - first);
      const auto wrong = [&](const char* what) { return fmt::format("tile {} {}", first / kTileElems, what); };
      if (left < leastBytes(next, left, some)) {
        return wrong("is cut off");
      }
      if (next[0] > static_cast<unsigned char>(TileMode::narrow)) {
        return wrong("has no known mode");
      }
      const std::size_t bytes = tileBytes(next, some);
      if (left < bytes) {
        return wrong("is cut off");
      }
      if (isCoded(next)) {
        const CodedTile at(some, isNarrow(next));
        if (loops_.countEscapes(next + 1 + at.low, next + 1 + at.high, some) != bytes - 1 - at.exponents) {
          return wrong("has another number of escapes than it says");
        }
      }
      next += bytes;
      left -= bytes;
    }
    return left == 0 ? "" : fmt::format("{} bytes follow its last tile", left);
  }

 private:
  static bool isNarrow(const unsigned char* tile) { return tile[0] == static_cast<unsigned char>(TileMode::narrow); }
  static bool isCoded(const unsigned char* tile) {
    return isNarrow(tile) || tile[0] == static_cast<unsigned char>(TileMode::coded);
  }
  /// Bytes that tell how long a tile is.
  static std::size_t leastBytes(const unsigned char* tile, std::size_t left, std::size_t count) {
    return left == 0 || !isCoded(tile) ? 1 : 1 + CodedTile(count, isNarrow(tile)).low;
  }
  /// Length of a tile whose first leastBytes() are there.
  static std::size_t tileBytes(const unsigned char* tile, std::size_t count) {
    if (!isCoded(tile)) {
      return tile[0] == static_cast<unsigned char>(TileMode::zeros) ? 1 : 1 + count * sizeof(float);
    }
    const CodedTile at(count, isNarrow(tile));
    const std::size_t escapes = tile[1 + at.escapes] | static_cast<std::size_t>(tile[2 + at.escapes]) << 8;
    return 1 + at.exponents + escapes;
  }

  const LosslessLoops& loops_;
};

ValueCodec read(StageReader&) {
  return {[](const Loops& loops) { return std::make_shared<ExponentCodec>(loops.common, loops.lossless); },
          NoKernels{"how long its tiles are only a pass over all of them tells"}};
}

} // namespace

std::span<const ValueStage> exponentStages() {
  static const std::array kStages = {
      ValueStage{
          "exponents",
          {"3.4 on Gaussians, 1.4 on widened bfloat16",
           "lossless: exponents in 3 bits below the top of their block, rarer ones as they are; at the speed of "
           "memory",
           "as UCCL-Zip 2026",
           "for each 4096 elements a mode (1 byte; 0: float32, 1: all +0, 2: coded, 3: coded without low halves). "
           "Coded: for each 256 elements the exponent of code 0; number of escapes (2 bytes); planes of the codes' "
           "lower 2 bits and upper bit; for each element a byte (bits 16 to 22, sign), then bits 0 to 15; the "
           "exponents whose code is 7"},
          {"exponents"},
          read},
  };
  return kStages;
}

} // namespace goss::compressors

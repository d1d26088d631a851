#include "compressors/ternary/ternary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"
#include "compressors/ternary/element.h"

namespace goss::compressors {

TernaryCodec::TernaryCodec(const TernarySettings& settings, const CommonLoops& common, const TernaryLoops& loops)
    : VectorCodec(common), settings_(settings), bits_(ternaryBits(settings.ranks)), loops_(loops) {}

std::string TernaryCodec::spec() const {
  if (settings_.scale == 0) {
    return fmt::format("terngrad:clip={}", settings_.clip);
  }
  return fmt::format("terngrad:clip={},scale={},ranks={}", settings_.clip, settings_.scale, settings_.ranks);
}

CodecTraits TernaryCodec::traits() const {
  CodecTraits traits;
  traits.additive = settings_.scale != 0;
  traits.fixed_size = true;
  traits.stochastic = true;
  traits.unbiased = settings_.clip == 0 && settings_.scale == 0;
  traits.block = 0;
  return traits;
}

double minTernaryGain(std::size_t count) {
  return 2 / (1 + std::sqrt(static_cast<double>(std::max<std::size_t>(count, 1))));
}

/// Clipped values are encoded without bias: |x - clipped|^2 is lost, and their variance, which clip times |x| |clipped|
/// bounds. With feedback the gain a loses 1 - a of |x|^2 where nothing is clipped, else 1 - a |clipped|/|x|.
LossBound TernaryCodec::lossBound(std::size_t count, bool feedback) const {
  const double gain = minTernaryGain(count), clip = static_cast<double>(settings_.clip);
  if (settings_.scale != 0) { // values beyond the scale are out of range
    return {0, 0, static_cast<double>(settings_.scale)};
  }
  if (clip == 0) {
    return {(feedback ? 1 - gain : 1 / gain - 1) + 0x1p-14, 1, 0x1p-100};
  }
  const double kept = std::min(1.0, clip / std::sqrt(2 * static_cast<double>(std::max<std::size_t>(count, 1))));
  return {feedback ? 1 - 0.99 * gain * kept : clip < 4 ? 1 + clip * clip / 8 : clip - 1, 1, 0x1p-60};
}

float TernaryCodec::gainOf(const VectorIn& in) const {
  return ternaryGain(
      sumOver(loops().sumSquares, in.values, in.count), sumOver(loops().sumMagnitudes, in.values, in.count),
      static_cast<double>(bitCast<float>(loops().peak(in.values, in.count) >> 1)), minTernaryGain(in.count));
}

std::size_t TernaryCodec::codeBytes(std::size_t count) const { return (count * bits_ + 7) / 8; }

std::size_t TernaryCodec::maxBytes(std::size_t count) const {
  return codeBytes(count) + (settings_.scale == 0 ? sizeof(float) : 0);
}

std::uint32_t TernaryCodec::sumBits(std::uint32_t ranks) const {
  const auto bits = static_cast<std::uint32_t>(std::bit_width(2 * std::uint64_t{ranks}));
  return settings_.scale == 0 || bits > bits_ ? 0 : bits;
}

float TernaryCodec::scaleOf(const float* values, std::size_t count) const {
  const std::uint32_t peak = loops().peak(values, count);
  if (peak >= kPeakNotFinite) {
    return bitCast<float>(kFloatNan);
  }
  float scale = bitCast<float>(peak >> 1);
  if (settings_.clip != 0 && count != 0) {
    const auto n = static_cast<double>(count);
    const double mean = sumOver(loops().sum, values, count) / n;
    const double variance = sumOver(loops().sumSquares, values, count) / n - mean * mean;
    // Equal values have no deviation: without this bound they would be clipped to nothing.
    const auto bound = static_cast<float>(settings_.clip * std::sqrt(std::max(variance, mean * mean)));
    scale = std::isfinite(bound) && bound < scale ? bound : scale;
  }
  return scaleFor(scale, 1).step;
}

std::size_t TernaryCodec::encodeVector(const VectorIn& in, unsigned char* to) const {
  const float scale = settings_.scale == 0 ? scaleOf(in.values, in.count) : settings_.scale;
  const bool zero = !(scale > 0); // or NaN
  const float inverse = zero ? 0.0f : 1.0f / scale;
  for (std::size_t i = 0; i < in.count; i += kTileElems) {
    EncodeRun run;
    run.count = std::min(kTileElems, in.count - i);
    run.key = in.random.own.key();
    run.random_first = in.first_element + i;
    unsigned char* codes = to + i * bits_ / 8;
    if (zero) {
      std::memset(codes, 0, codeBytes(run.count));
    } else {
      loops_.encode[ternaryWidthIndex(bits_)](codes, in.values + i, run, inverse);
    }
  }
  if (settings_.scale == 0) {
    const float stored = in.feedback && !zero ? roundTo16Bits(scale * gainOf(in)) : scale;
    std::memcpy(to + codeBytes(in.count), &stored, sizeof stored);
  }
  return maxBytes(in.count);
}

void TernaryCodec::decodeVector(PayloadView payload, const VectorOut& out) const {
  const unsigned char* from = bytesOf(payload);
  float scale = settings_.scale;
  if (scale == 0) {
    std::memcpy(&scale, from + codeBytes(out.count), sizeof scale);
  }
  for (std::size_t i = 0; i < out.count; i += kTileElems) {
    loops_.decode[ternaryWidthIndex(bits_)](out.out + i, from + i * bits_ / 8, std::min(kTileElems, out.count - i),
                                            scale, out.delivery);
  }
}

std::string TernaryCodec::flawOf(PayloadView payload, std::size_t count) const {
  return payload.size() == maxBytes(count) ? "" : fmt::format("it has {} bytes", maxBytes(count));
}

Status TernaryCodec::addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const {
  if (settings_.scale == 0) {
    return unsupported("addPayload without a shared scale");
  }
  if (Status status = check(payload, count); !status.isOk()) {
    return status;
  }
  if (Status status = check(into, count); !status.isOk()) {
    return status;
  }
  for (std::size_t i = 0; i < count; i += kTileElems) {
    const std::size_t at = i * bits_ / 8;
    loops_.add[ternaryWidthIndex(bits_)](bytesOf(into) + at, bytesOf(payload) + at, std::min(kTileElems, count - i));
  }
  return Status::ok();
}

} // namespace goss::compressors

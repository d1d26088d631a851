#include "compressors/blockwise/blockwise.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr double kTiny = 0x1p-100;
constexpr double kTinySquares = 0x1p-60; ///< Squares of smaller values are no normal floats.
constexpr double kRounded = 1 + 0x1p-14; ///< Steps have 16 bits.

/// The worst x has its peak, which is decoded exactly, and all other elements half a step from a level.
double nearestLoss(double others, double levels) {
  const double ratio = others / (4 * levels * levels);
  return ratio / (1 + ratio);
}

/// Random rounding of a value f steps above a level loses f (1 - f) squared steps in the mean. The worst x has its peak
/// and all other elements at the f that maximises this loss relative to the value's own square.
double randomLoss(double others, double levels) { return (std::sqrt(1 + others / (levels * levels)) - 1) / 2; }

/// As randomLoss(), where the norm, not the peak, lies on the last level: the worst x has equal magnitudes.
double normLoss(double elements, double levels) {
  const double spread = std::sqrt(elements) / levels;
  return spread >= 2 ? spread - 1 : spread * spread / 4;
}

} // namespace

/// Zero need not be a level of minmax: the worst x has a minimum, a maximum and zeros between two levels.
LossBound blockLoss(const BlockFormat& format) {
  const auto elements = static_cast<double>(format.block), levels = static_cast<double>(format.levels);
  const double between = elements / (2 * levels * levels);
  switch (format.scheme) {
    case BlockScheme::peak:
      return {nearestLoss(elements - 1, levels) * kRounded, kRounded / levels, kTiny};
    case BlockScheme::peakStochastic:
      return {randomLoss(elements - 1, levels) * kRounded, kRounded / levels, kTiny};
    case BlockScheme::minmax:
      return {between * kRounded, kRounded / levels, kTiny};
    case BlockScheme::minmaxStochastic:
      return {between * kRounded, kRounded * 2 / levels, kTiny};
    default:
      return {normLoss(elements, levels) * kRounded, kRounded * std::sqrt(elements) / levels, kTinySquares};
  }
}

float feedbackGain(const BlockFormat& format) {
  const LossBound loss = blockLoss(format);
  const bool grows = loss.euclidean >= 1 && loss.maximum >= 1;
  return grows ? static_cast<float>(1 / (1 + loss.euclidean)) : 1.0f;
}

std::string BlockwiseCodec::spec() const {
  if (format_.scheme == BlockScheme::norm) {
    return fmt::format("qsgd:bits={},block={}", format_.bits, format_.block);
  }
  const bool nearest = format_.scheme == BlockScheme::peak || format_.scheme == BlockScheme::minmax;
  return fmt::format("int{}:block={},mode={},round={}", format_.bits, format_.block,
                     hasOffset(format_.scheme) ? "minmax" : "symmetric", nearest ? "nearest" : "stochastic");
}

CodecTraits BlockwiseCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  // A peak is decoded exactly and gives the same step again. The other schemes round offsets, or round at random.
  traits.idempotent = format_.scheme == BlockScheme::peak;
  traits.stochastic = format_.scheme != BlockScheme::peak && format_.scheme != BlockScheme::minmax;
  traits.unbiased = traits.stochastic;
  traits.block = static_cast<std::uint32_t>(format_.block);
  return traits;
}

LossBound BlockwiseCodec::lossBound(std::size_t, bool feedback) const {
  LossBound loss = blockLoss(format_);
  if (feedback && format_.gain != 1) {
    const auto gain = static_cast<double>(format_.gain);
    loss.euclidean = (1 - gain) * kRounded;
    loss.maximum = (1 - gain) + gain * loss.maximum;
  }
  return loss;
}

void BlockwiseCodec::encodeRange(const EncodeRun& run) const {
  loops_.encode[blockWidthIndex(format_.bits)][static_cast<std::size_t>(format_.scheme)](format_, run);
}

void BlockwiseCodec::decodeRange(const DecodeRun& run) const {
  loops_.decode[blockWidthIndex(format_.bits)][hasOffset(format_.scheme) ? 1 : 0](format_, run);
}

namespace {

constexpr StageReader::Range kBlockRange = {32, kTileElems};

ValueCodec made(BlockFormat format) {
  format.levels = blockLevels(format.bits, format.scheme);
  format.gain = feedbackGain(format);
  return {[format](const Loops& loops) { return std::make_shared<BlockwiseCodec>(format, loops.block); }, format};
}

template <unsigned kBits>
ValueCodec readInteger(StageReader& reader) {
  BlockFormat format;
  format.bits = kBits;
  format.block = reader.block("block", 256, kBlockRange);
  const bool minmax = reader.choice("mode", {"symmetric", "minmax"}) == 1;
  const bool stochastic = reader.choice("round", {"nearest", "stochastic"}) == 1;
  format.scheme = minmax ? (stochastic ? BlockScheme::minmaxStochastic : BlockScheme::minmax)
                         : (stochastic ? BlockScheme::peakStochastic : BlockScheme::peak);
  return made(format);
}

ValueCodec readQsgd(StageReader& reader) {
  BlockFormat format;
  format.bits = static_cast<unsigned>(reader.block("bits", 8, {2, 8}));
  format.block = reader.block("block", 128, kBlockRange);
  format.scheme = BlockScheme::norm;
  return made(format);
}

ValueStage integers(std::string_view name, ValueCodec (*read)(StageReader&), std::string_view format,
                    std::vector<std::string_view> examples) {
  const StageText text = {"bits/8 + 4/block (minmax 8/block)", "levels with a scale for each block", "ZeRO++, CGX",
                          format};
  return {name, text, std::move(examples), read};
}

} // namespace

std::span<const ValueStage> blockwiseStages() {
  constexpr std::string_view kBytes = "n codes, a scale for each block";
  constexpr std::string_view kPlanes = "a plane for each block, then a scale for each block";
  static const std::array kStages = {
      integers("int8", readInteger<8>, kBytes,
               {"int8:block=256,mode=symmetric,round=nearest", "int8:block=512,mode=minmax,round=nearest",
                "int8:block=256,mode=symmetric,round=stochastic"}),
      integers("int6", readInteger<6>,
               "planes of the lower 4 bits of all blocks, planes of the upper 2 bits, a scale for each block",
               {"int6:block=256,mode=symmetric,round=nearest", "int6:block=512,mode=minmax,round=nearest"}),
      integers("int4", readInteger<4>, kPlanes,
               {"int4:block=128,mode=symmetric,round=nearest", "int4:block=512,mode=minmax,round=nearest",
                "int4:block=128,mode=symmetric,round=stochastic", "int4:block=512,mode=minmax,round=stochastic"}),
      integers("int2", readInteger<2>, kPlanes,
               {"int2:block=64,mode=symmetric,round=nearest", "int2:block=64,mode=minmax,round=nearest"}),
      ValueStage{"qsgd",
                 {"bits/8 + 4/block", "levels up to the block's norm, unbiased; 2, 4 or 8 `bits`", "Alistarh 2017",
                  "as `int8`, `int4` or `int2`"},
                 {"qsgd:bits=8,block=128", "qsgd:bits=4,block=128"},
                 readQsgd},
  };
  return kStages;
}

} // namespace goss::compressors

#include "compressors/blockwise/blockwise.h"

#include <fmt/format.h>

namespace goss::compressors {

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
  // A peak is decoded exactly and gives the same step again. Elsewhere offsets are rounded, or rounding is random.
  traits.idempotent = format_.scheme == BlockScheme::peak;
  traits.stochastic = format_.scheme != BlockScheme::peak && format_.scheme != BlockScheme::minmax;
  traits.unbiased = traits.stochastic;
  traits.block = static_cast<std::uint32_t>(format_.block);
  return traits;
}

void BlockwiseCodec::encodeRange(const EncodeRun& run) const {
  loops_.encode[blockWidthIndex(format_.bits)][static_cast<std::size_t>(format_.scheme)](format_, run);
}

void BlockwiseCodec::decodeRange(const DecodeRun& run) const {
  loops_.decode[blockWidthIndex(format_.bits)][hasOffset(format_.scheme) ? 1 : 0](format_, run);
}

} // namespace goss::compressors

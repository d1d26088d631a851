/// Blockwise integer quantisation: each block of elements has its own scale, as small blocks keep the small layers of a
/// mixed bucket alive. Symmetric levels (ZeRO++, Wang et al. 2023, arXiv 2306.10209, with one level more), minimum to
/// maximum (CGX, Markov et al. 2022, arXiv 2111.08617), and QSGD (Alistarh et al. 2017, arXiv 1610.02132).
#ifndef GOSS_COMPRESSORS_BLOCKWISE_BLOCKWISE_H_
#define GOSS_COMPRESSORS_BLOCKWISE_BLOCKWISE_H_

#include "compressors/blockwise/format.h"
#include "compressors/common/range_codec.h"

namespace goss::compressors {

/// Magnitudes below 2^-100 (minmax: ranges) become zero. A block whose range or norm exceeds float32 counts as
/// infinite.
class BlockwiseCodec final : public RangeCodec {
 public:
  /// `loops` must outlive the codec. format.block is a power of two from 32 to kTileElems.
  BlockwiseCodec(const BlockFormat& format, const BlockLoops& loops) : format_(format), loops_(loops) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t, bool feedback) const override;

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override { return format_.payloadBytes(count); }
  void encodeRange(const EncodeRun& run) const override;
  void decodeRange(const DecodeRun& run) const override;

 private:
  const BlockFormat format_;
  const BlockLoops& loops_;
};

/// Levels of one side (of all, for minmax) that `bits` bits give a scheme.
constexpr float blockLevels(unsigned bits, BlockScheme scheme) {
  const unsigned codes = 1u << bits;
  return static_cast<float>(hasOffset(scheme) ? codes - 1 : scheme == BlockScheme::peak ? codes / 2 : codes / 2 - 1);
}

/// The bound of what an encode without feedback loses.
LossBound blockLoss(const BlockFormat& format);
/// BlockFormat::gain: 1 / (1 + omega) where errors would grow from one encode to the next, else 1.
float feedbackGain(const BlockFormat& format);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BLOCKWISE_BLOCKWISE_H_

/// Lossless coding of float32: bytes of equal rank are gathered into planes, and each plane goes through zstd's Huffman
/// coder where that pays. Exponents of trained weights and gradients take 2 to 3 of their 8 bits, and the lower planes
/// of widened bfloat16 or float16 vanish (Hershcovitch et al. 2025, "ZipNN", arXiv 2411.05239; NeuZip, arXiv
/// 2410.20650). Made for all-gathers of parameters.
#ifndef GOSS_COMPRESSORS_LOSSLESS_LOSSLESS_H_
#define GOSS_COMPRESSORS_LOSSLESS_LOSSLESS_H_

#include "compressors/common/vector_codec.h"
#include "compressors/lossless/format.h"

namespace goss::compressors {

/// Every bit survives, those of NaNs too. Unlike other codecs' bytes, its payloads depend on the version of zstd that
/// wrote them; what they decode to does not.
class LosslessCodec final : public VectorCodec {
 public:
  /// Both tables must outlive the codec.
  LosslessCodec(const CommonLoops& common, const LosslessLoops& loops);

  [[nodiscard]] std::string spec() const override { return "lossless"; }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t, bool) const override { return {0, 0, 0}; }
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  [[nodiscard]] std::size_t lengthOf(PayloadView bytes, std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  /// Finds flaws by decoding: only zstd tells whether it can decode the bytes.
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;
  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const override;

 private:
  const LosslessLoops& loops_;
  const std::size_t encoder_bytes_; ///< Size of zstd's working memory.
  const std::size_t decoder_bytes_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOSSLESS_LOSSLESS_H_

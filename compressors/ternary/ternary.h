/// TernGrad: -1, 0 or 1 times a scale, at random and unbiased (Wen et al. 2017, arXiv 1705.07878). With a scale that
/// all ranks share, payloads are added as integers.
#ifndef GOSS_COMPRESSORS_TERNARY_TERNARY_H_
#define GOSS_COMPRESSORS_TERNARY_TERNARY_H_

#include "compressors/common/vector_codec.h"
#include "compressors/ternary/format.h"

namespace goss::compressors {

class TernaryCodec final : public VectorCodec {
 public:
  /// Both tables must outlive the codec.
  TernaryCodec(const TernarySettings& settings, const CommonLoops& common, const TernaryLoops& loops);

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;
  Status addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const override;
  /// ceil(log2(2 * ranks + 1)); 0 where the words are shorter.
  [[nodiscard]] std::uint32_t sumBits(std::uint32_t ranks) const override;

  /// The scale that a vector would choose: ranks agree on the maximum of theirs.
  [[nodiscard]] float scaleOf(const float* values, std::size_t count) const;

 private:
  [[nodiscard]] float gainOf(const VectorIn& in) const;
  [[nodiscard]] std::size_t codeBytes(std::size_t count) const;

  const TernarySettings settings_;
  const unsigned bits_; ///< Bits of a word.
  const TernaryLoops& loops_;
};

/// The smallest gain, 1 / (1 + omega), of all vectors of `count` elements: one peak, and all others small.
double minTernaryGain(std::size_t count);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_TERNARY_H_

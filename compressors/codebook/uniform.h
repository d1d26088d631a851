/// Uniform 8-bit quantisation over six standard deviations, with a codebook of the means of what fell into each bucket
/// (INTELLECT-1, Jaghouar et al. 2024, arXiv 2412.01152; hivemind's subtracts the mean first).
#ifndef GOSS_COMPRESSORS_CODEBOOK_UNIFORM_H_
#define GOSS_COMPRESSORS_CODEBOOK_UNIFORM_H_

#include "compressors/codebook/format.h"
#include "compressors/common/vector_codec.h"

namespace goss::compressors {

/// Means are sums of integers (2^-16ths of a step), so the order of addition does not matter. In its bucket's mean a
/// value beyond 16000 steps counts as 16000 steps.
class UniformCodec final : public VectorCodec {
 public:
  /// Both tables must outlive the codec.
  UniformCodec(const CommonLoops& common, const CodebookLoops& loops) : VectorCodec(common), loops_(loops) {}

  [[nodiscard]] std::string spec() const override { return "uniform8"; }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;

 private:
  const CodebookLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_UNIFORM_H_

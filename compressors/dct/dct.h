/// DeMo's codec: the largest coefficients of a cosine transform of each chunk (Peng et al. 2024, "DeMo: Decoupled
/// momentum optimization", arXiv 2411.19870). The momentum is the residual: encode the gradient with the momentum as
/// the residual and decay 0.999.
#ifndef GOSS_COMPRESSORS_DCT_DCT_H_
#define GOSS_COMPRESSORS_DCT_DCT_H_

#include <vector>

#include "compressors/common/vector_codec.h"
#include "compressors/dct/format.h"

namespace goss::compressors {

/// `chunk` is a power of two from 8 to kMaxDctElems.
DctTable makeDctTable(std::size_t chunk);

/// Chunks are consecutive elements; the last one is filled up with zeros. Of each chunk the `keep` largest coefficients
/// are sent, of equal ones the first. meanOfPresent averages in the transform's domain over those that sent a
/// coefficient, in the order of the payloads, as DeMo's aggregation does, but with the same result on all ranks.
class DctCodec final : public VectorCodec {
 public:
  /// `chunk` is a power of two from 8 to kMaxDctElems, `keep` at most `chunk`. Both tables must outlive the codec.
  DctCodec(std::size_t chunk, std::size_t keep, const CommonLoops& common, const DctLoops& loops);

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;

 protected:
  void decodeMean(const DecodeJob& job) const override;

 private:
  [[nodiscard]] std::size_t chunks(std::size_t count) const { return (count + chunk_ - 1) / chunk_; }
  void writeChunk(const float* coefficients, unsigned char* indices, unsigned char* values) const;
  /// Adds a payload's coefficients of one chunk, and counts them where `senders` is not null.
  void gather(PayloadView payload, std::size_t chunk, std::size_t count, float* coefficients, unsigned* senders) const;

  const std::size_t chunk_;
  const std::size_t keep_;
  const DctLoops& loops_;
  std::vector<float> forward_; ///< chunk x chunk: element by coefficient.
  std::vector<float> inverse_; ///< Its transpose.
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_DCT_DCT_H_

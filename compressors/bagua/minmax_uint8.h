/// Bagua's MinMaxUInt8, byte for byte: one range for the whole segment (Gan et al. 2021, "BAGUA: scaling up distributed
/// learning with system relaxations", arXiv 2107.01499).
#ifndef GOSS_COMPRESSORS_BAGUA_MINMAX_UINT8_H_
#define GOSS_COMPRESSORS_BAGUA_MINMAX_UINT8_H_

#include "compressors/bagua/format.h"
#include "compressors/common/vector_codec.h"

namespace goss::compressors {

/// scale = 255 / (max - min + 1e-7), upper = rint(max * scale), q = min(rint(x * scale), upper) - (upper - 255),
/// decoded = (q + upper - 255) / scale. Bagua leaves q undefined where rounding takes it below 0 (means far above the
/// range) and for NaN; here q is held within 0 and 255, and a NaN or an infinity makes all elements NaN.
class MinMaxUint8Codec final : public VectorCodec {
 public:
  /// Both tables must outlive the codec.
  MinMaxUint8Codec(const CommonLoops& common, const MinMaxLoops& loops) : VectorCodec(common), loops_(loops) {}

  [[nodiscard]] std::string spec() const override { return "minmaxuint8"; }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;

 private:
  const MinMaxLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BAGUA_MINMAX_UINT8_H_

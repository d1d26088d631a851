/// Narrower floating types, and float32 itself ("none"): the compressors that any library has (Micikevicius et al.
/// 2018, arXiv 1710.03740; float8: Micikevicius et al. 2022, arXiv 2209.05433).
#ifndef GOSS_COMPRESSORS_CAST_CAST_H_
#define GOSS_COMPRESSORS_CAST_CAST_H_

#include "compressors/common/tile_codec.h"
#include "gossamer/types.h"

namespace goss::compressors {

/// Rounds to nearest even. float16 and e5m2 overflow to infinity; e4m3 saturates at 448, and its infinities become NaN.
/// Additive: the sum of two payloads is rounded to the type.
class CastCodec final : public TileCodec {
 public:
  /// GOSS_FLOAT32, GOSS_FLOAT16, GOSS_BFLOAT16, GOSS_FLOAT8_E4M3 or GOSS_FLOAT8_E5M2.
  CastCodec(DType dtype, const CommonLoops& loops);

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  Status addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const override;
  [[nodiscard]] std::uint32_t sumBits(std::uint32_t) const override { return static_cast<std::uint32_t>(8 * width_); }

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override { return count * width_; }
  void encodeTile(const float* values, const EncodeRun& run) const override;
  void decodeTile(float* out, const DecodeRun& run) const override;

 private:
  const DType dtype_;
  const std::size_t width_;
  const CommonLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CAST_CAST_H_

/// Natural compression: every element becomes a power of two (Horvath et al. 2019, arXiv 1905.10988), in 8 bits.
#ifndef GOSS_COMPRESSORS_NATURAL_NATURAL_H_
#define GOSS_COMPRESSORS_NATURAL_NATURAL_H_

#include "compressors/common/tile_codec.h"
#include "compressors/natural/format.h"

namespace goss::compressors {

/// Magnitudes below 2^-108 become zero and those above 2^17 become 2^17. Unbiased between them, when rounding at
/// random.
class NaturalCodec final : public TileCodec {
 public:
  /// Both tables must outlive the codec.
  NaturalCodec(bool nearest, const CommonLoops& common, const NaturalLoops& loops)
      : TileCodec(common), nearest_(nearest), loops_(loops) {}

  [[nodiscard]] std::string spec() const override {
    return nearest_ ? "natural:round=nearest" : "natural:round=stochastic";
  }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override { return count; }
  void encodeTile(const float* values, const EncodeRun& run) const override {
    loops_.encode[nearest_ ? 1 : 0](values, run);
  }
  void decodeTile(float* out, const DecodeRun& run) const override { loops_.decode(out, run); }

 private:
  const bool nearest_;
  const NaturalLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_NATURAL_NATURAL_H_

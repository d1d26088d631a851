/// Microscaling floats: 32 elements of 8 or 4 bits share a power of two (OCP Microscaling Formats 1.0, 2023; Rouhani et
/// al. 2023, arXiv 2310.10537), and the 4-bit exponent-only format of Streaming DiLoCo (Douillard et al. 2025, arXiv
/// 2501.18512) in the same frame.
#ifndef GOSS_COMPRESSORS_MX_MX_H_
#define GOSS_COMPRESSORS_MX_MX_H_

#include "compressors/common/tile_codec.h"
#include "compressors/mx/format.h"

namespace goss::compressors {

/// The scale is rounded up, so that nothing saturates. Blocks whose peak is below 2^-100 become zero.
class MxCodec final : public TileCodec {
 public:
  /// Both tables must outlive the codec.
  MxCodec(MxElement element, const CommonLoops& common, const MxLoops& loops)
      : TileCodec(common), element_(element), loops_(loops) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override { return mxPayloadBytes(element_, count); }
  void encodeTile(const float* values, const EncodeRun& run) const override {
    loops_.encode[static_cast<std::size_t>(element_)](values, run);
  }
  void decodeTile(float* out, const DecodeRun& run) const override {
    loops_.decode[static_cast<std::size_t>(element_)](out, run);
  }

 private:
  const MxElement element_;
  const MxLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_MX_MX_H_

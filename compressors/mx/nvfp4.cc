/// NVFP4 (NVIDIA 2025, "Pretraining large language models with NVFP4", arXiv 2509.25149): e2m1 elements, of which 16
/// share a scale of e4m3. NVIDIA has one further float32 scale for each tensor. Here each tile has one, so that a
/// payload can be written in one pass, and small layers that share a bucket keep scales of their own.
#include <array>

#include "compressors/common/tile_codec.h"
#include "compressors/mx/format.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

/// Tiles whose peak is below 2^-100 become zero, and blocks whose peak is below the tile's by a factor of 2^-19.
class NvFp4Codec final : public TileCodec {
 public:
  /// Both tables must outlive the codec.
  NvFp4Codec(const CommonLoops& common, const MxLoops& loops) : TileCodec(common), loops_(loops) {}

  [[nodiscard]] std::string spec() const override { return "nvfp4"; }
  [[nodiscard]] CodecTraits traits() const override {
    CodecTraits traits;
    traits.fixed_size = true;
    traits.block = static_cast<std::uint32_t>(kTileElems);
    return traits;
  }
  /// The worst block has elements in the middle between 4 and 6 and a scale that was rounded up by a fifteenth. Scales
  /// of blocks that are small beside their tile are subnormal, and may be off by a half.
  [[nodiscard]] LossBound lossBound(std::size_t, bool) const override { return {0.04, 0.18, 0x1p-100}; }

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override { return nvPayloadBytes(count); }
  void encodeTile(const float* values, const EncodeRun& run) const override { loops_.encodeNv(values, run); }
  void decodeTile(float* out, const DecodeRun& run) const override { loops_.decodeNv(out, run); }

 private:
  const MxLoops& loops_;
};

ValueCodec read(StageReader&) {
  return {[](const Loops& loops) { return std::make_shared<NvFp4Codec>(loops.common, loops.mx); }, NvFp4Settings{}};
}

} // namespace

std::span<const ValueStage> nvFp4Stages() {
  static const std::array kStages = {
      ValueStage{
          "nvfp4",
          {"0.563", "e2m1 elements, 16 share a scale of e4m3, and 4096 a float32 (NVIDIA: the tensor)", "NVFP4, 2025",
           "a 4-bit plane for each tile, as `mxfp4`; for each 16 elements an e4m3 byte; for each tile a float32"},
          {"nvfp4"},
          read},
  };
  return kStages;
}

} // namespace goss::compressors

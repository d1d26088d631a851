/// Dynamic 8-bit quantisation: a map whose values are dense near zero and near the block's peak (Dettmers et al. 2022,
/// "8-bit optimizers via block-wise quantization", arXiv 2110.02861).
#ifndef GOSS_COMPRESSORS_CODEBOOK_DYNAMIC_H_
#define GOSS_COMPRESSORS_CODEBOOK_DYNAMIC_H_

#include "compressors/codebook/format.h"
#include "compressors/common/tile_codec.h"

namespace goss::compressors {

DynamicMap makeDynamicMap();

/// Encodes the nearest value of the map times the block's peak. Blocks whose peak is below 2^-100 become zero.
class DynamicCodec final : public TileCodec {
 public:
  /// `block` is a power of two from 32 to kTileElems. Both tables must outlive the codec.
  DynamicCodec(std::size_t block, const CommonLoops& common, const CodebookLoops& loops)
      : TileCodec(common), block_(block), loops_(loops), map_(makeDynamicMap()) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;

 protected:
  [[nodiscard]] std::size_t payloadBytes(std::size_t count) const override {
    return count + (count + block_ - 1) / block_ * sizeof(float);
  }
  void encodeTile(const float* values, const EncodeRun& run) const override {
    loops_.encodeDynamic(block_, values, run);
  }
  void decodeTile(float* out, const DecodeRun& run) const override { loops_.decodeDynamic(map_, block_, out, run); }

 private:
  const std::size_t block_;
  const CodebookLoops& loops_;
  const DynamicMap map_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_DYNAMIC_H_

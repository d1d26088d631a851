/// Range codecs that have no fused loops: a tile in the first-level cache is encoded or decoded as it is, and this
/// class adds references, residuals and the ways of delivery around it.
#ifndef GOSS_COMPRESSORS_COMMON_TILE_CODEC_H_
#define GOSS_COMPRESSORS_COMMON_TILE_CODEC_H_

#include "compressors/common/common_loops.h"
#include "compressors/common/range_codec.h"

namespace goss::compressors {

class TileCodec : public RangeCodec {
 protected:
  /// `loops` must outlive the codec.
  explicit TileCodec(const CommonLoops& loops) : loops_(loops) {}

  /// Encodes `values`; only the run's place and random numbers matter. run.count <= kTileElems.
  virtual void encodeTile(const float* values, const EncodeRun& run) const = 0;
  /// Decodes the run's elements to `out` and ignores the run's delivery.
  virtual void decodeTile(float* out, const DecodeRun& run) const = 0;

  void encodeRange(const EncodeRun& run) const final;
  void decodeRange(const DecodeRun& run) const final;

 private:
  const CommonLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_TILE_CODEC_H_

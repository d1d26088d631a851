#include "compressors/common/tile_codec.h"

#include <algorithm>

namespace goss::compressors {

void TileCodec::encodeRange(const EncodeRun& run) const {
  float prepared[kTileElems];
  float decoded[kTileElems];
  for (std::size_t i = 0; i < run.count; i += kTileElems) {
    EncodeRun tile = run;
    tile.first = run.first + i;
    tile.count = std::min(kTileElems, run.count - i);
    tile.random_first = run.random_first + i;
    const float* values = run.values + i;
    if (run.reference != nullptr || run.residual != nullptr) {
      loops_.prepare(prepared, run, i, tile.count);
      values = prepared;
    }
    encodeTile(values, tile);
    if (run.residual != nullptr) {
      decodeTile(decoded, {run.payload, tile.first, tile.count, run.total, nullptr, {}});
      loops_.lose(run.residual + i, values, decoded, tile.count);
    }
  }
}

void TileCodec::decodeRange(const DecodeRun& run) const {
  float decoded[kTileElems];
  for (std::size_t i = 0; i < run.count; i += kTileElems) {
    DecodeRun tile = run;
    tile.first = run.first + i;
    tile.count = std::min(kTileElems, run.count - i);
    tile.out = run.out + i;
    if (run.delivery.mode == DecodeMode::set) {
      decodeTile(tile.out, tile);
    } else {
      decodeTile(decoded, tile);
      loops_.deliver(tile.out, decoded, tile.count, run.delivery);
    }
  }
}

} // namespace goss::compressors

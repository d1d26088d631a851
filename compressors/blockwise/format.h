/// The payload of blockwise integer codecs (docs/formats.md) and the table of their loops.
#ifndef GOSS_COMPRESSORS_BLOCKWISE_FORMAT_H_
#define GOSS_COMPRESSORS_BLOCKWISE_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "compressors/common/runs.h"

namespace goss::compressors {

/// How a block's values become levels.
enum class BlockScheme : std::uint8_t {
  peak,             ///< Nearest; the peak lies on the last level of the longer side.
  peakStochastic,   ///< Symmetric levels, rounded at random.
  minmax,           ///< Levels from minimum to maximum, nearest.
  minmaxStochastic, ///< Levels from minimum to maximum, rounded at random.
  norm,             ///< QSGD: symmetric levels up to the block's Euclidean norm, rounded at random.
};
inline constexpr std::size_t kBlockSchemes = 5;

constexpr bool hasOffset(BlockScheme scheme) {
  return scheme == BlockScheme::minmax || scheme == BlockScheme::minmaxStochastic;
}

/// Codes of `bits` bits, cut into planes of whole nibbles and pairs: a plane of 8, of 4, of 2, or of 4 and of 2 bits.
struct BlockFormat {
  unsigned bits = 8;
  BlockScheme scheme = BlockScheme::peak;
  std::size_t block = 256; ///< Elements; a multiple of 8 that divides kTileElems.
  float levels = 128;      ///< Levels of one side (for minmax, of both sides).
  float gain = 1;          ///< Steps are multiplied by it in encodes with error feedback (feedbackGain()).

  /// Elements of the last block are padded with zero codes to whole bytes.
  [[nodiscard]] constexpr std::size_t padded(std::size_t count) const {
    const std::size_t unit = bits == 8 ? 1 : bits == 4 ? 2 : 4;
    return (count + unit - 1) / unit * unit;
  }
  [[nodiscard]] constexpr std::size_t scaleBytes() const { return hasOffset(scheme) ? 8 : 4; }
  /// Byte where the plane of the two upper bits of 6 begins.
  [[nodiscard]] constexpr std::size_t upperPlane(std::size_t total) const { return padded(total) / 2; }
  /// Byte where the scales begin.
  [[nodiscard]] constexpr std::size_t scales(std::size_t total) const { return padded(total) * bits / 8; }
  [[nodiscard]] constexpr std::size_t payloadBytes(std::size_t total) const {
    return scales(total) + (total + block - 1) / block * scaleBytes();
  }
};

using BlockEncodeLoop = void (*)(const BlockFormat& format, const EncodeRun& run);
using BlockDecodeLoop = void (*)(const BlockFormat& format, const DecodeRun& run);

inline constexpr std::size_t kBlockWidths = 4; ///< 8, 6, 4 and 2 bits.
constexpr std::size_t blockWidthIndex(unsigned bits) { return (8 - bits) / 2; }

struct BlockLoops {
  BlockEncodeLoop encode[kBlockWidths][kBlockSchemes] = {};
  BlockDecodeLoop decode[kBlockWidths][2] = {}; ///< Without and with an offset.
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_BLOCKWISE_FORMAT_H_

/// Tables and loops of the codecs that look codes up.
#ifndef GOSS_COMPRESSORS_CODEBOOK_FORMAT_H_
#define GOSS_COMPRESSORS_CODEBOOK_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

/// The dynamic map of 256 values in [-1, 1] and how to find the nearest one: the upper bits of a magnitude give the
/// cell, which holds at most one boundary between two neighbours.
struct DynamicMap {
  static constexpr std::uint32_t kZeroCode = 127;
  static constexpr std::uint32_t kMagnitudes = 129;             ///< Zero and 128 positive values.
  static constexpr std::uint32_t kCellShift = 17;               ///< 64 cells an octave.
  static constexpr std::uint32_t kFirstCell = (127u - 23) << 6; ///< Cells begin at 2^-23; below is zero.
  static constexpr std::uint32_t kCells = (23u << 6) + 1;

  float value[256];
  std::uint32_t cell[kCells];  ///< The magnitude below the cell's boundary.
  float boundary[kMagnitudes]; ///< Middle between magnitude i and i + 1; the last is above 1.
};

struct CodebookLoops {
  void (*encodeDynamic)(const DynamicMap& map, std::size_t block, const float* values, const EncodeRun& run) = nullptr;
  void (*decodeDynamic)(const DynamicMap& map, std::size_t block, float* out, const DecodeRun& run) = nullptr;
  /// levels[i] = clamp(round(value * inverse), -128, 127) + 128; rest[i] = (value * inverse - level) in 2^-16ths, held
  /// within 2^30.
  void (*encodeUniform)(unsigned char* levels, std::int32_t* rest, const float* values, std::size_t count,
                        float inverse) = nullptr;
  void (*lookUp)(float* out, const unsigned char* codes, std::size_t count, const float* table) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_FORMAT_H_

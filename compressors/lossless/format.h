/// The payload of lossless coding (docs/formats.md) and its loops.
#ifndef GOSS_COMPRESSORS_LOSSLESS_FORMAT_H_
#define GOSS_COMPRESSORS_LOSSLESS_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace goss::compressors {

inline constexpr std::size_t kLosslessChunk = 32768; ///< Elements whose planes are coded together.
inline constexpr std::size_t kLosslessPlanes = 4;
inline constexpr std::size_t kLosslessHeader = 4 * kLosslessPlanes; ///< Bytes before a chunk's planes.

/// How a plane is stored; the upper two bits of its header word, whose other bits are the stored bytes.
enum class PlaneMode : std::uint32_t { raw = 0, zstd = 1, repeated = 2 };

constexpr std::size_t losslessChunks(std::size_t count) { return (count + kLosslessChunk - 1) / kLosslessChunk; }

struct LosslessLoops {
  /// Element i's bits, rotated left by one so that its exponent is a byte: byte p goes to planes[p * kLosslessChunk +
  /// i].
  void (*split)(unsigned char* planes, const float* values, std::size_t count) = nullptr;
  void (*join)(float* values, const unsigned char* planes, std::size_t count) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOSSLESS_FORMAT_H_

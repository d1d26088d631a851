/// One plane of bytes in and out of zstd, in memory that the caller lends. The only file that knows zstd.
#ifndef GOSS_COMPRESSORS_LOSSLESS_PLANE_CODER_H_
#define GOSS_COMPRESSORS_LOSSLESS_PLANE_CODER_H_

#include <cstddef>
#include <span>

namespace goss::compressors {

/// Working memory that coding planes of at most `most` bytes needs.
std::size_t planeEncoderBytes(std::size_t most);
std::size_t planeDecoderBytes();

/// Writes fewer than `count` bytes to `to` and returns how many; 0 where the plane would not become smaller. `memory`
/// is planeEncoderBytes() and aligned to 8.
std::size_t encodePlane(unsigned char* to, const unsigned char* plane, std::size_t count, std::span<std::byte> memory);

/// Whether `bytes` bytes at `from` are a plane of exactly `count` bytes, which it then writes. `memory` is
/// planeDecoderBytes() and aligned to 8.
bool decodePlane(unsigned char* plane, std::size_t count, const unsigned char* from, std::size_t bytes,
                 std::span<std::byte> memory);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_LOSSLESS_PLANE_CODER_H_

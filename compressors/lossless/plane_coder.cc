#include "compressors/lossless/plane_coder.h"

// This macro makes zstd's contexts in the caller's memory available: codecs never allocate.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

namespace goss::compressors {

namespace {

/// Planes of floats hardly repeat strings: this level spends little time on matches and relies on entropy coding.
constexpr int kLevel = -20;
/// A plane whose first bytes do not become smaller by a 32nd is stored raw.
constexpr std::size_t kSample = 4096;
constexpr std::size_t kMin = 256; ///< Bytes below which tables cost more than they save.

bool configure(ZSTD_CCtx* context) {
  // With their default, negative levels do not compress literals.
  return ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel)) == 0 &&
         ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, ZSTD_ps_enable)) == 0 &&
         ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 1)) == 0;
}

/// Compresses and returns the bytes written, or 0 where more than `room` would be needed.
std::size_t compress(ZSTD_CCtx* context, unsigned char* to, std::size_t room, const unsigned char* from,
                     std::size_t count) {
  const std::size_t bytes = ZSTD_compress2(context, to, room, from, count);
  return ZSTD_isError(bytes) != 0 ? 0 : bytes;
}

} // namespace

std::size_t planeEncoderBytes(std::size_t most) {
  return ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(kLevel, most, 0));
}

std::size_t planeDecoderBytes() { return ZSTD_estimateDCtxSize(); }

std::size_t encodePlane(unsigned char* to, const unsigned char* plane, std::size_t count, std::span<std::byte> memory) {
  if (count < kMin) {
    return 0;
  }
  ZSTD_CCtx* context = ZSTD_initStaticCCtx(memory.data(), memory.size());
  if (context == nullptr || !configure(context)) {
    return 0;
  }
  if (count > 2 * kSample && compress(context, to, kSample - kSample / 32, plane, kSample) == 0) {
    return 0;
  }
  return compress(context, to, count - 1, plane, count);
}

bool decodePlane(unsigned char* plane, std::size_t count, const unsigned char* from, std::size_t bytes,
                 std::span<std::byte> memory) {
  ZSTD_DCtx* context = ZSTD_initStaticDCtx(memory.data(), memory.size());
  return context != nullptr && ZSTD_decompressDCtx(context, plane, count, from, bytes) == count;
}

} // namespace goss::compressors

/// A copy with stores that bypass the caches. For files compiled with AVX2 only.
#ifndef GOSS_LIB_KERNELS_X86_STREAM_H_
#define GOSS_LIB_KERNELS_X86_STREAM_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/table.h"

namespace goss::kernels {
namespace {

inline void streamLoop(void* dst, const void* src, std::size_t bytes) {
  auto* out = static_cast<unsigned char*>(dst);
  const auto* in = static_cast<const unsigned char*>(src);
  std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(out)) & 31u;
  head = head < bytes ? head : bytes;
  __builtin_memcpy(out, in, head);
  std::size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), first);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i + 32), second);
  }
  __builtin_memcpy(out + i, in + i, bytes - i);
  _mm_sfence(); // only a fence orders streaming stores, and the reader may be another core
}

} // namespace
} // namespace goss::kernels

#endif // GOSS_LIB_KERNELS_X86_STREAM_H_

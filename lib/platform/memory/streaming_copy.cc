#include "platform/memory/streaming_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/cache_lines.h"

namespace goss::platform {

#if defined(__SSE2__)

// Whole lines at a time, so that a line's four stores leave the write-combining buffer together.
void copyStreaming(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kLine = base::kCacheLineBytes;
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  const std::size_t head = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  if (head > 0) std::memcpy(out, in, head);
  const std::size_t lines = (bytes - head) / kLine;
  out += head;
  in += head;
  for (std::size_t line = 0; line < lines; ++line, in += kLine, out += kLine) {
    __m128i word[4];
    for (int i = 0; i < 4; ++i)
      word[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in) + i);
    for (int i = 0; i < 4; ++i)
      _mm_stream_si128(reinterpret_cast<__m128i*>(out) + i, word[i]);
  }
  _mm_sfence();
  const std::size_t tail = bytes - head - lines * kLine;
  if (tail > 0) std::memcpy(out, in, tail);
}

#else

void copyStreaming(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

#endif

} // namespace goss::platform

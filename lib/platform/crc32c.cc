#include "platform/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace goss::platform {

std::uint32_t crc32c(const void* from, std::size_t bytes, std::uint32_t before) {
  constexpr std::size_t kMaxAtOnce = std::size_t{1} << 30;         // The library counts bytes as int.
  auto* at = static_cast<unsigned char*>(const_cast<void*>(from)); // Only read.
  std::uint32_t rest = ~before;
  while (bytes > 0) {
    const std::size_t step = std::min(bytes, kMaxAtOnce);
    rest = crc32_iscsi(at, static_cast<int>(step), rest);
    at += step;
    bytes -= step;
  }
  return ~rest;
}

} // namespace goss::platform

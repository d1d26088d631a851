#include "base/hex.h"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>

namespace goss::base {

std::string toHex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string fromHex(std::string_view text) {
  if (text.size() % 2 != 0) return {};
  std::string bytes;
  bytes.reserve(text.size() / 2); // Growing the string would leave copies of a secret in freed memory.
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (error != std::errc() || end != text.data() + i + 2) return {};
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

} // namespace goss::base

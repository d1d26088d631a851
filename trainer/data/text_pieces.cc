#include "trainer/data/text_pieces.h"

#include "trainer/data/unicode_classes.h"

namespace goss::trainer {

namespace {

struct Character {
  CharacterClass kind = CharacterClass::other;
  std::size_t bytes = 1;
};

/// Bytes of the character that begins with `lead`, and the bits of it that belong to the character; 0: none does.
struct Lead {
  std::size_t bytes;
  unsigned bits;
};

Lead leadOf(unsigned char lead) {
  if (lead >= 0xc2 && lead < 0xe0) return {2, lead & 0x1fu};
  if (lead >= 0xe0 && lead < 0xf0) return {3, lead & 0x0fu};
  if (lead >= 0xf0 && lead < 0xf5) return {4, lead & 0x07u};
  return {0, 0};
}

/// The first character of a text that is not empty.
Character firstOf(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return {classOf(byte(0)), 1};
  const Lead lead = leadOf(byte(0));
  if (lead.bytes == 0 || lead.bytes > text.size()) return {};
  char32_t code = lead.bits;
  for (std::size_t i = 1; i < lead.bytes; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool is_overlong = code < (lead.bytes == 4 ? 0x10000u : lead.bytes == 3 ? 0x800u : 0x80u);
  if (is_overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {classOf(code), lead.bytes};
}

/// Bytes of the characters of one class with which `text` begins.
std::size_t runOf(std::string_view text, CharacterClass kind) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character next = firstOf(text.substr(bytes));
    if (next.kind != kind) break;
    bytes += next.bytes;
  }
  return bytes;
}

std::size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

/// All spaces, or all but the last one where something follows them: that one begins the next piece.
std::size_t spaces(std::string_view text) {
  std::size_t bytes = 0, last = 0;
  while (bytes < text.size()) {
    const Character next = firstOf(text.substr(bytes));
    if (next.kind != CharacterClass::space) return bytes == last ? bytes : bytes - last;
    last = next.bytes;
    bytes += next.bytes;
  }
  return bytes;
}

} // namespace

std::size_t firstPiece(std::string_view text) {
  if (const std::size_t bytes = contraction(text); bytes != 0) return bytes;
  const std::size_t space = text.front() == ' ' && text.size() > 1 ? 1 : 0;
  const CharacterClass kind = firstOf(text.substr(space)).kind;
  return kind == CharacterClass::space ? spaces(text) : space + runOf(text.substr(space), kind);
}

} // namespace goss::trainer

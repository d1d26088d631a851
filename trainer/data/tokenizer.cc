#include "trainer/data/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "trainer/base/error.h"

namespace goss::trainer {

std::string escapeControls(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown.push_back(c);
    }
  }
  return shown;
}

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  for (const char c : text)
    tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string ByteTokenizer::show(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    text += token > 0xff ? fmt::format("\\x{:02x}", token)
                         : escapeControls(std::string(1, static_cast<char>(static_cast<unsigned char>(token))));
  }
  return text;
}

std::vector<std::int32_t> NumberTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  std::istringstream numbers{std::string(text)};
  for (std::int32_t token = 0; numbers >> token;)
    tokens.push_back(token);
  if (!numbers.eof()) {
    fail("'{}': this model's tokens are numbers, such as \"464 257\"; give --tokenizer to write text", text);
  }
  return tokens;
}

std::string NumberTokenizer::show(std::span<const std::int32_t> tokens) const {
  return fmt::format("{}", fmt::join(tokens, " "));
}

} // namespace goss::trainer

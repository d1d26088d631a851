/// A tiny tokenizer in GPT-2's files.
#ifndef GOSS_TESTS_TRAINER_TOKENIZER_FILES_H_
#define GOSS_TESTS_TRAINER_TOKENIZER_FILES_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/trainer/temporary_directory.h"

namespace goss::trainer {

/// Writes vocab.json and merges.txt into a new folder: 256 bytes in GPT-2's order, the results of the merges, and
/// <|endoftext|>.
class TokenizerFiles {
 public:
  using Pair = std::pair<std::string, std::string>;

  explicit TokenizerFiles(std::string folder) : folder_(std::move(folder)) {
    std::filesystem::create_directory(folder_);
    nlohmann::json vocabulary;
    for (const int byte : order())
      vocabulary[printable(byte)] = vocabulary.size();
    std::string lines = "#version: 0.2\n";
    for (const auto& [left, right] : merges_) {
      vocabulary[printable(left + right)] = vocabulary.size();
      lines += printable(left) + " " + printable(right) + "\n";
    }
    vocabulary["<|endoftext|>"] = vocabulary.size();
    vocab_ = vocabulary.size();
    writeBytes(folder_ + "/vocab.json", vocabulary.dump());
    writeBytes(folder_ + "/merges.txt", lines);
  }

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::size_t vocab() const { return vocab_; }
  [[nodiscard]] const std::vector<Pair>& merges() const { return merges_; }

 private:
  static bool isPrintable(int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
  }
  /// First the printable bytes, then the others.
  static std::vector<int> order() {
    std::vector<int> bytes;
    for (const bool wanted : {true, false}) {
      for (int byte = 0; byte < 256; ++byte) {
        if (isPrintable(byte) == wanted) bytes.push_back(byte);
      }
    }
    return bytes;
  }
  static std::string printable(int byte) {
    int code = byte;
    if (!isPrintable(byte)) {
      code = 256;
      for (int other = 0; other < byte; ++other)
        code += isPrintable(other) ? 0 : 1;
    }
    if (code < 128) return {static_cast<char>(code)};
    return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  }
  static std::string printable(const std::string& bytes) {
    std::string text;
    for (const char c : bytes)
      text += printable(static_cast<int>(static_cast<unsigned char>(c)));
    return text;
  }

  std::string folder_;
  std::size_t vocab_ = 0;
  std::vector<Pair> merges_ = {{"h", "e"},   {"l", "l"},    {"he", "ll"},   {"hell", "o"}, {" ", "w"}, {"o", "r"},
                               {" w", "or"}, {" wor", "l"}, {" worl", "d"}, {" ", " "},    {"b", "c"}, {"a", "b"}};
};

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_TOKENIZER_FILES_H_

/// GPT-2's tokenizer: byte pairs, merged in the order of a user's file.
#ifndef GOSS_TRAINER_DATA_GPT_TOKENIZER_H_
#define GOSS_TRAINER_DATA_GPT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainer/data/tokenizer.h"

namespace goss::trainer {

/// Radford et al. 2019, after Sennrich et al. 2016. Any bytes can be encoded, and decode(encode(x)) is x. Special
/// tokens such as <|endoftext|> are decoded, but never made of text. Of two pairs that may be merged, the one that
/// stands earlier in the file goes first, and of equal pairs the left one.
class GptTokenizer : public Tokenizer {
 public:
  /// Reads vocab.json, an object of tokens and their numbers below 65536, and merges.txt, a pair of tokens a line, in
  /// the form that GPT-2 and Hugging Face give them: each byte is a printable character. Throws Error that names the
  /// file when it cannot be read, lacks one of the 256 bytes, or merges into a token that the vocabulary lacks.
  explicit GptTokenizer(const std::string& folder);

  [[nodiscard]] std::size_t vocab() const override { return bytes_of_.size(); }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string show(std::span<const std::int32_t> tokens) const override;
  /// The bytes that tokens stand for; numbers without a token, which a larger model may give, as <|123|>.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const;

 private:
  struct Merge {
    std::size_t rank; // lower ones first
    std::int32_t into;
  };
  void readVocabulary(const std::string& path);
  void readMerges(const std::string& path);
  [[nodiscard]] const Merge* mergeOf(std::int32_t left, std::int32_t right) const;
  [[nodiscard]] std::vector<std::int32_t> mergeAll(std::string_view piece) const;

  std::unordered_map<std::string, std::int32_t> number_of_; // by the file's text
  std::vector<std::string> bytes_of_;                       // by number; empty: no such token
  std::vector<std::int32_t> byte_tokens_;                   // [256]
  std::unordered_map<std::uint64_t, Merge> merges_;         // by both numbers
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_GPT_TOKENIZER_H_

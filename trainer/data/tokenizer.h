/// What a run's tokens mean: text, and how a user writes and reads it.
#ifndef GOSS_TRAINER_DATA_TOKENIZER_H_
#define GOSS_TRAINER_DATA_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace goss::trainer {

/// Immutable and thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Tokens are below this.
  [[nodiscard]] virtual std::size_t vocab() const = 0;
  /// Whether any text can be encoded.
  [[nodiscard]] virtual bool takesText() const { return true; }
  /// Throws Error when the text has no tokens here.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// As a terminal may show them: control characters are escaped, and so are tokens without a meaning.
  [[nodiscard]] virtual std::string show(std::span<const std::int32_t> tokens) const = 0;
};

/// A token is a byte.
class ByteTokenizer : public Tokenizer {
 public:
  [[nodiscard]] std::size_t vocab() const override { return 256; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string show(std::span<const std::int32_t> tokens) const override;
};

/// Tokens of a vocabulary that is not known, GPT-2's unless a user says otherwise: a text is their numbers.
class NumberTokenizer : public Tokenizer {
 public:
  [[nodiscard]] std::size_t vocab() const override { return 50257; }
  [[nodiscard]] bool takesText() const override { return false; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string show(std::span<const std::int32_t> tokens) const override;
};

/// Text with control characters other than tabs and line breaks as \x1b.
std::string escapeControls(std::string_view text);

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_TOKENIZER_H_

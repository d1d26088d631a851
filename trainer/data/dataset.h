/// The tokens to train on, and which of them each sample of each step takes.
#ifndef GOSS_TRAINER_DATA_DATASET_H_
#define GOSS_TRAINER_DATA_DATASET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/tokenizer.h"
#include "trainer/data/tokens.h"

namespace goss::trainer {

/// Tokens of one corpus. The last 5% (at most 1 Mi tokens) are held out for validation.
class Dataset {
 public:
  /// No path: the King James Bible of Debian's package bible-kjv. A file whose first four bytes are the magic 20240520:
  /// GPT-2 tokens (docs/trainer.md). Any other file: its bytes are the tokens. Several files, and those of a folder by
  /// their names, are one behind the other, and of one kind; windows may cross their borders. Files stay mapped and
  /// must not change. A `tokenizer`, where one is given, encodes text file by file, and shows the tokens of token
  /// files. Throws Error that names the file and what to do.
  static Dataset load(const std::vector<std::string>& paths, std::shared_ptr<const Tokenizer> tokenizer = nullptr);
  /// A data set of tokens that the caller has; `is_text`: the tokens are bytes.
  Dataset(std::vector<std::uint16_t> tokens, bool is_text);

  /// Throws Error when the corpus is too short for `context`, or has a token that is not below `vocab`.
  void check(std::size_t context, std::size_t vocab) const;

  /// What the tokens mean.
  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  [[nodiscard]] const Tokens& training() const { return training_; }
  [[nodiscard]] const Tokens& validation() const { return validation_; }
  /// A hash (XXH3) of the tokens.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  Dataset(const Tokens& tokens, std::shared_ptr<const Tokenizer> tokenizer);

  Tokens training_;
  Tokens validation_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::uint16_t largest_ = 0; // of all tokens
  std::uint64_t fingerprint_ = 0;
};

/// First token of sample `sample` of step `step`: uniform over the windows of `context` + 1 tokens that fit into
/// `token_count` tokens. A pure function of its arguments: the order of the data does not depend on the number of ranks
/// or on restarts.
std::size_t windowStart(std::uint64_t seed, std::size_t step, std::size_t sample, std::size_t token_count,
                        std::size_t context);

/// Which windows a run trains on.
struct Windows {
  std::uint64_t seed = 1;
  std::size_t samples = 0; // number of windows, drawn again and again; 0: any window
  std::size_t token_count = 0;
  std::size_t context = 0;

  /// The index, among the `samples` windows, of sample `sample` of step `step`; without meaning when samples == 0.
  [[nodiscard]] std::uint64_t numberOf(std::size_t step, std::size_t sample) const;
  /// First token of sample `sample` of step `step`.
  [[nodiscard]] std::size_t startOf(std::size_t step, std::size_t sample) const;
};

/// First token of sample `sample` of a validation of `samples`, among `token_count` tokens: windows at even distances,
/// the same for every number of ranks and every call.
std::size_t validationStart(std::size_t token_count, std::size_t context, std::size_t sample, std::size_t samples);

/// Fills inputs[T], and targets[T] with the inputs' successors, from the window that starts at `start`.
void readWindow(const Tokens& tokens, std::size_t start, std::span<std::int32_t> inputs,
                std::span<std::int32_t> targets);

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_DATASET_H_

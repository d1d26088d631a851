#include "trainer/data/dataset.h"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/base/random.h"
#include "trainer/data/corpus.h"
#include "trainer/data/data_file.h"

namespace goss::trainer {

namespace {

constexpr std::size_t kMaxValidationTokens = std::size_t{1} << 20;
constexpr std::size_t kBlockTokens = std::size_t{1} << 16;

/// The files of a folder by their names; a path that is no folder, as it is.
std::vector<std::string> filesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file()) files.push_back(at->path().string());
  }
  if (error) fail("cannot read the data folder {}: {}", path, error.message());
  if (files.empty()) fail("the data folder {} has no files", path);
  std::ranges::sort(files);
  return files;
}

/// A text's tokens behind others, as 16 bits each.
void appendEncoded(std::vector<std::uint16_t>& tokens, const Tokenizer& tokenizer, std::string_view text) {
  for (const std::int32_t token : tokenizer.encode(text))
    tokens.push_back(static_cast<std::uint16_t>(token));
}

std::shared_ptr<const Tokenizer> tokenizerOf(bool is_text) {
  if (is_text) return std::make_shared<ByteTokenizer>();
  return std::make_shared<NumberTokenizer>();
}

} // namespace

Dataset Dataset::load(const std::vector<std::string>& paths, std::shared_ptr<const Tokenizer> tokenizer) {
  std::vector<std::uint16_t> encoded;
  if (paths.empty()) {
    if (tokenizer == nullptr) tokenizer = tokenizerOf(true);
    appendEncoded(encoded, *tokenizer, readBible());
    return Dataset(Tokens(std::move(encoded)), std::move(tokenizer));
  }
  auto files = std::make_shared<std::vector<std::unique_ptr<const DataFile>>>();
  for (const std::string& path : paths) {
    for (const std::string& file : filesOf(path))
      files->push_back(std::make_unique<const DataFile>(file));
  }
  const bool is_text = !isTokenFile(files->front()->bytes());
  std::vector<Tokens::Piece> pieces;
  for (const auto& file : *files) {
    if (isTokenFile(file->bytes()) == is_text) {
      fail("{} and {} are not both text, or both token files: give --data of one kind", files->front()->path(),
           file->path());
    }
    if (is_text && tokenizer != nullptr) {
      appendEncoded(encoded, *tokenizer, file->bytes());
    } else {
      pieces.push_back(is_text ? Tokens::Piece{file->bytes(), 1}
                               : Tokens::Piece{tokensOfFile(file->bytes(), file->path()), 2});
    }
  }
  const Tokens tokens = pieces.empty() ? Tokens(std::move(encoded)) : Tokens(pieces, files);
  return Dataset(tokens, tokenizer != nullptr ? std::move(tokenizer) : tokenizerOf(is_text));
}

Dataset::Dataset(std::vector<std::uint16_t> tokens, bool is_text)
    : Dataset(Tokens(std::move(tokens)), tokenizerOf(is_text)) {}

// The hash is of the tokens as uint16, whatever the files held.
Dataset::Dataset(const Tokens& tokens, std::shared_ptr<const Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {
  const std::size_t held_out = std::min(tokens.size() / 20, kMaxValidationTokens);
  training_ = tokens.part(0, tokens.size() - held_out);
  validation_ = tokens.part(training_.size(), held_out);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> hash(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(hash.get());
  std::vector<std::uint16_t> block(std::min(tokens.size(), kBlockTokens));
  for (std::size_t done = 0; done < tokens.size(); done += block.size()) {
    block.resize(std::min(block.size(), tokens.size() - done));
    tokens.copy(done, std::span(block));
    XXH3_64bits_update(hash.get(), block.data(), block.size() * sizeof(std::uint16_t));
    largest_ = std::max(largest_, *std::ranges::max_element(block));
  }
  fingerprint_ = XXH3_64bits_digest(hash.get());
}

void Dataset::check(std::size_t context, std::size_t vocab) const {
  if (validation().size() < context + 1) {
    fail("the data has {} tokens; --context {} needs at least {}, since 5% are held out for validation",
         training_.size() + validation_.size(), context, 20 * (context + 1));
  }
  if (largest_ >= vocab) {
    fail("the data has token {}, so --vocab must be at least {} (GPT-2: 50257), not {}", largest_, largest_ + 1, vocab);
  }
}

std::size_t windowStart(std::uint64_t seed, std::size_t step, std::size_t sample, std::size_t token_count,
                        std::size_t context) {
  return randomBelow(randomBits(seed, RandomStream::batches, step, sample), token_count - context);
}

std::uint64_t Windows::numberOf(std::size_t step, std::size_t sample) const {
  const std::uint64_t bits = randomBits(seed, RandomStream::batches, step, sample);
  return samples == 0 ? bits : randomBelow(bits, samples);
}

std::size_t Windows::startOf(std::size_t step, std::size_t sample) const {
  if (samples == 0) return windowStart(seed, step, sample, token_count, context);
  constexpr auto kNoStep = static_cast<std::size_t>(-1); // the windows of the set belong to no step
  return windowStart(seed, kNoStep, numberOf(step, sample), token_count, context);
}

std::size_t validationStart(std::size_t token_count, std::size_t context, std::size_t sample, std::size_t samples) {
  return samples == 1 ? 0 : (token_count - context - 1) * sample / (samples - 1);
}

void readWindow(const Tokens& tokens, std::size_t start, std::span<std::int32_t> inputs,
                std::span<std::int32_t> targets) {
  tokens.copy(start, inputs);
  tokens.copy(start + 1, targets);
}

} // namespace goss::trainer

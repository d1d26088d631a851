#include "trainer/data/gpt_tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <queue>
#include <sstream>
#include <tuple>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/data/data_file.h"
#include "trainer/data/text_pieces.h"

namespace goss::trainer {

namespace {

constexpr std::size_t kBytes = 256;
constexpr std::size_t kMaxTokens = 65536; // token files and data sets hold 16 bits
constexpr std::size_t kMaxCachedPieces = std::size_t{1} << 18;
constexpr std::size_t kMaxCachedBytes = 32;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::string utf8(unsigned code) { // below 0x800
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

/// GPT-2's printable character of each byte: its own in Latin-1, or the next free one from 256 on.
std::array<std::string, kBytes> printableBytes() {
  std::array<std::string, kBytes> printable;
  unsigned next = 256;
  for (unsigned byte = 0; byte < kBytes; ++byte) {
    const bool is_own = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    printable[byte] = utf8(is_own ? byte : next++);
  }
  return printable;
}

/// The bytes that a token's text stands for; a text with other characters, as special tokens may have, stands for
/// itself.
std::string bytesOfToken(const std::string& text, const std::unordered_map<std::string, char>& byte_of) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : 2;
    const auto found = byte_of.find(text.substr(at, length));
    if (found == byte_of.end()) return text;
    bytes.push_back(found->second);
    at += length;
  }
  return bytes;
}

std::uint64_t keyOf(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

/// Tokens of a piece while they are merged: a list, and the pairs that may be merged next.
class Symbols {
 public:
  struct Symbol {
    std::int32_t token;
    std::size_t before, after; // kNone at the ends
  };
  struct Pair {
    std::size_t rank, left;
    std::int32_t left_token, right_token, into;
    bool operator<(const Pair& other) const { // the queue gives the largest first
      return std::tie(other.rank, other.left) < std::tie(rank, left);
    }
  };

  void append(std::int32_t token) {
    const std::size_t at = symbols_.size();
    symbols_.push_back({token, at == 0 ? kNone : at - 1, kNone});
    if (at != 0) symbols_[at - 1].after = at;
  }
  [[nodiscard]] std::size_t size() const { return symbols_.size(); }
  [[nodiscard]] const Symbol& at(std::size_t index) const { return symbols_[index]; }
  void push(const Pair& pair) { pairs_.push(pair); }
  /// The next pair of which both tokens are still there; false: none is left.
  bool pop(Pair& pair) {
    while (!pairs_.empty()) {
      pair = pairs_.top();
      pairs_.pop();
      const Symbol& left = symbols_[pair.left];
      if (left.token != pair.left_token || left.after == kNone) continue;
      if (symbols_[left.after].token == pair.right_token) return true;
    }
    return false;
  }
  /// The left token becomes the merged one, the right one is gone.
  void merge(const Pair& pair) {
    Symbol& left = symbols_[pair.left];
    Symbol& right = symbols_[left.after];
    left.token = pair.into;
    left.after = right.after;
    right.token = kGone;
    if (left.after != kNone) symbols_[left.after].before = pair.left;
  }

 private:
  static constexpr std::int32_t kGone = -1;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> pairs_;
};

} // namespace

GptTokenizer::GptTokenizer(const std::string& folder) {
  readVocabulary(folder + "/vocab.json");
  readMerges(folder + "/merges.txt");
}

void GptTokenizer::readVocabulary(const std::string& path) {
  const DataFile file(path);
  const nlohmann::json json = nlohmann::json::parse(file.bytes(), nullptr, false);
  if (!json.is_object()) fail("{} is no JSON object of tokens and their numbers", path);
  const std::array<std::string, kBytes> printable = printableBytes();
  std::unordered_map<std::string, char> byte_of;
  for (std::size_t byte = 0; byte < kBytes; ++byte)
    byte_of[printable[byte]] = static_cast<char>(static_cast<unsigned char>(byte));
  for (const auto& [text, number] : json.items()) {
    if (text.empty() || !number.is_number_unsigned() || number.get<std::size_t>() >= kMaxTokens)
      fail("{}: the token '{}' has no number from 0 to {}", path, text, kMaxTokens - 1);
    const auto token = number.get<std::size_t>();
    if (token >= bytes_of_.size()) bytes_of_.resize(token + 1);
    if (!bytes_of_[token].empty()) fail("{} has two tokens of number {}", path, token);
    bytes_of_[token] = bytesOfToken(text, byte_of);
    number_of_[text] = static_cast<std::int32_t>(token);
  }
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    const auto found = number_of_.find(printable[byte]);
    if (found == number_of_.end())
      fail("{} lacks the byte {}, '{}': it is no vocabulary of byte pairs", path, byte, printable[byte]);
    byte_tokens_.push_back(found->second);
  }
}

void GptTokenizer::readMerges(const std::string& path) {
  const DataFile file(path);
  std::istringstream lines{std::string(file.bytes())};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) fail("{}:{}: '{}' is not two tokens", path, number, line);
    const auto left = number_of_.find(line.substr(0, space)), right = number_of_.find(line.substr(space + 1));
    const auto into = number_of_.find(line.substr(0, space) + line.substr(space + 1));
    if (left == number_of_.end() || right == number_of_.end() || into == number_of_.end())
      fail("{}:{}: vocab.json lacks a token of '{}', or what they make", path, number, line);
    merges_.try_emplace(keyOf(left->second, right->second), Merge{number, into->second});
  }
}

const GptTokenizer::Merge* GptTokenizer::mergeOf(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(keyOf(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::int32_t> GptTokenizer::mergeAll(std::string_view piece) const {
  Symbols symbols;
  for (const char c : piece)
    symbols.append(byte_tokens_[static_cast<unsigned char>(c)]);
  const auto offer = [&](std::size_t left) {
    if (left == kNone || symbols.at(left).after == kNone) return;
    const std::int32_t a = symbols.at(left).token, b = symbols.at(symbols.at(left).after).token;
    if (const Merge* merge = mergeOf(a, b)) symbols.push({merge->rank, left, a, b, merge->into});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i)
    offer(i);
  for (Symbols::Pair pair{}; symbols.pop(pair);) {
    symbols.merge(pair);
    offer(symbols.at(pair.left).before);
    offer(pair.left);
  }
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i != kNone; i = symbols.at(i).after) // the first symbol is never a right one
    tokens.push_back(symbols.at(i).token);
  return tokens;
}

std::vector<std::int32_t> GptTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  std::unordered_map<std::string_view, std::vector<std::int32_t>> known; // words repeat
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, firstPiece(text));
    text.remove_prefix(piece.size());
    auto found = known.find(piece);
    if (found == known.end()) {
      if (known.size() >= kMaxCachedPieces) known.clear();
      found = known.emplace(piece, mergeAll(piece)).first;
    }
    tokens.insert(tokens.end(), found->second.begin(), found->second.end());
    if (piece.size() > kMaxCachedBytes) known.erase(found);
  }
  return tokens;
}

std::string GptTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    const auto index = static_cast<std::size_t>(token);
    text += index < bytes_of_.size() && !bytes_of_[index].empty() ? bytes_of_[index] : fmt::format("<|{}|>", token);
  }
  return text;
}

std::string GptTokenizer::show(std::span<const std::int32_t> tokens) const { return escapeControls(decode(tokens)); }

} // namespace goss::trainer

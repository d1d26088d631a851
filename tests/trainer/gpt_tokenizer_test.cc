#include "trainer/data/gpt_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/trainer/temporary_directory.h"
#include "tests/trainer/tokenizer_files.h"
#include "trainer/base/random.h"
#include "trainer/data/dataset.h"
#include "trainer/data/text_pieces.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> piecesOf(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t bytes = firstPiece(text);
    pieces.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return pieces;
}

TEST(TextPieces, AreThoseOfTheExpression) {
  EXPECT_THAT(piecesOf("I'll go't  42x\n\n  end "),
              ElementsAre("I", "'ll", " go", "'t", " ", " 42", "x", "\n\n ", " end", " "));
  EXPECT_THAT(piecesOf("it's 'd'em!? ''s"), ElementsAre("it", "'s", " '", "d", "'", "em", "!?", " ''", "s"));
  EXPECT_THAT(piecesOf("\t\ta\n"), ElementsAre("\t", "\t", "a", "\n"));
  EXPECT_THAT(piecesOf("   "), ElementsAre("   "));
  EXPECT_THAT(piecesOf("Größe 数字１２ ٣½²"), ElementsAre("Größe", " 数字", "１２", " ٣½²"));
  EXPECT_THAT(piecesOf("a\u00a0b\u2003 👍!"), ElementsAre("a", "\u00a0", "b", "\u2003", " 👍!"));
  EXPECT_THAT(piecesOf("a\x1c"), ElementsAre("a", "\x1c")); // a separator, but no white space
}

TEST(TextPieces, BytesThatAreNoCharactersStandTogether) {
  EXPECT_THAT(piecesOf("a\xff\xfe b"), ElementsAre("a", "\xff\xfe", " b"));
  EXPECT_THAT(piecesOf("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"), ElementsAre("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"));
  EXPECT_THAT(piecesOf("a\xc3"), ElementsAre("a", "\xc3")); // cut short
  EXPECT_THAT(piecesOf("\xe0\x80\xa0x"), ElementsAre("\xe0\x80\xa0", "x"));
}

class GptTokenizerTest : public testing::Test {
 protected:
  std::vector<std::string> encoded(const std::string& text) const {
    std::vector<std::string> tokens;
    for (const std::int32_t token : tokenizer_.encode(text))
      tokens.push_back(tokenizer_.decode(std::vector<std::int32_t>{token}));
    return tokens;
  }

  TemporaryDirectory directory_;
  TokenizerFiles files_{directory_ / "tokenizer"};
  GptTokenizer tokenizer_{files_.folder()};
};

TEST_F(GptTokenizerTest, MergesInTheOrderOfTheFile) {
  EXPECT_EQ(tokenizer_.vocab(), files_.vocab());
  EXPECT_THAT(encoded("hello world"), ElementsAre("hello", " world"));
  EXPECT_THAT(encoded("hello  world"), ElementsAre("hello", " ", " world"));
  EXPECT_THAT(encoded("   x"), ElementsAre("  ", " ", "x"));
  EXPECT_THAT(encoded("helll"), ElementsAre("hell", "l")); // of equal pairs the left one
  EXPECT_THAT(encoded("abc"), ElementsAre("a", "bc"));     // "b c" stands before "a b"
  EXPECT_THAT(encoded("oror"), ElementsAre("or", "or"));
  EXPECT_THAT(encoded("\xc3\xa4"), ElementsAre("\xc3", "\xa4"));
  EXPECT_TRUE(tokenizer_.encode("").empty());
}

TEST_F(GptTokenizerTest, NumbersAreThoseOfTheFile) {
  EXPECT_THAT(tokenizer_.encode("!~"), ElementsAre(0, 93)); // GPT-2's order of bytes begins with the printable ones
  EXPECT_THAT(tokenizer_.encode("hell"), ElementsAre(258));
}

TEST_F(GptTokenizerTest, SpecialTokensAreShownButNotMadeOfText) {
  const auto special = static_cast<std::int32_t>(files_.vocab() - 1);
  EXPECT_EQ(tokenizer_.decode(std::vector<std::int32_t>{special}), "<|endoftext|>");
  EXPECT_GT(tokenizer_.encode("<|endoftext|>").size(), 1u);
  EXPECT_EQ(tokenizer_.show(std::vector<std::int32_t>{special + 1}), "<|" + std::to_string(special + 1) + "|>");
  EXPECT_EQ(tokenizer_.show(tokenizer_.encode("a\x1b[")), "a\\x1b[");
}

/// GPT-2's own loop: in each round the pair of the lowest rank is merged wherever it stands.
std::vector<std::string> mergedByRounds(const std::string& piece, const std::vector<TokenizerFiles::Pair>& merges) {
  std::vector<std::string> parts;
  for (const char c : piece)
    parts.emplace_back(1, c);
  for (;;) {
    auto best = merges.end();
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      best = std::min(best, std::find(merges.begin(), merges.end(), TokenizerFiles::Pair(parts[i], parts[i + 1])));
    if (best == merges.end()) return parts;
    std::vector<std::string> next;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool is_pair = i + 1 < parts.size() && parts[i] == best->first && parts[i + 1] == best->second;
      next.push_back(is_pair ? parts[i] + parts[i + 1] : parts[i]);
      i += is_pair ? 1 : 0;
    }
    parts = next;
  }
}

std::string randomText(std::uint64_t number, std::string_view alphabet) {
  std::string text(randomBelow(randomBits(1, RandomStream::sampling, number, 0), 200), '\0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint64_t bits = randomBits(1, RandomStream::sampling, number, i + 1);
    text[i] = alphabet.empty() ? static_cast<char>(bits & 0xff) : alphabet[randomBelow(bits, alphabet.size())];
  }
  return text;
}

TEST_F(GptTokenizerTest, RandomTextsAreSplitAsByGpt2sLoop) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::string text = randomText(number, "helo worldabc ");
    std::vector<std::string> expected;
    for (const std::string& piece : piecesOf(text)) {
      const std::vector<std::string> merged = mergedByRounds(piece, files_.merges());
      expected.insert(expected.end(), merged.begin(), merged.end());
    }
    ASSERT_EQ(encoded(text), expected) << text;
  }
}

TEST_F(GptTokenizerTest, WhatIsEncodedIsDecodedByteForByte) {
  for (std::uint64_t number = 0; number < 600; ++number) {
    const std::string_view alphabet = number % 3 == 0   ? ""
                                      : number % 3 == 1 ? "hello wr'\n\t 09"
                                                        : "\xc3\xa4\xe6\x95\xb0 x";
    const std::string text = randomText(number, alphabet);
    ASSERT_EQ(tokenizer_.decode(tokenizer_.encode(text)), text) << "text " << number;
  }
  const std::string one_piece(100'000, 'l');
  EXPECT_EQ(tokenizer_.encode(one_piece).size(), one_piece.size() / 2);
}

TEST_F(GptTokenizerTest, DataSetsHoldItsTokens) {
  writeBytes(directory_ / "text", "hello world");
  writeBytes(directory_ / "more", "hello");
  const Dataset data =
      Dataset::load({directory_ / "text", directory_ / "more"}, std::make_shared<GptTokenizer>(files_.folder()));
  ASSERT_EQ(data.training().size(), 3u);
  EXPECT_EQ(data.training()[0], data.training()[2]);
  EXPECT_EQ(data.tokenizer().vocab(), files_.vocab());
}

TEST_F(GptTokenizerTest, FilesThatAreNoTokenizersAreNamed) {
  const auto refusal = [&] { return errorOf([&] { GptTokenizer tokenizer(files_.folder()); }); };
  const std::string vocabulary = files_.folder() + "/vocab.json", merges = files_.folder() + "/merges.txt";
  const std::string good = readBytes(vocabulary), good_merges = readBytes(merges);
  writeBytes(merges, good_merges + "nonsense\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(merges + ":14"), HasSubstr("not two tokens")));
  writeBytes(merges, good_merges + "q q\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(merges + ":14"), HasSubstr("vocab.json lacks")));
  nlohmann::json json = nlohmann::json::parse(good);
  json.erase("q");
  writeBytes(vocabulary, json.dump());
  EXPECT_THAT(refusal(), AllOf(HasSubstr(vocabulary), HasSubstr("lacks the byte 113")));
  json["q"] = 65536;
  writeBytes(vocabulary, json.dump());
  EXPECT_THAT(refusal(), AllOf(HasSubstr(vocabulary), HasSubstr("'q'"), HasSubstr("65535")));
  json["q"] = 1;
  writeBytes(vocabulary, json.dump());
  EXPECT_THAT(refusal(), HasSubstr("two tokens of number 1"));
  writeBytes(vocabulary, "[1]");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(vocabulary), HasSubstr("no JSON object")));
  std::filesystem::remove(vocabulary);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(vocabulary), HasSubstr("No such file")));
}

} // namespace
} // namespace goss::trainer

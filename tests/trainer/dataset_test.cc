#include "trainer/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"
#include "trainer/base/share.h"
#include "trainer/data/corpus.h"
#include "trainer/ranks/group.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string littleEndian(std::uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i)
    out.push_back(static_cast<char>(value >> 8 * i & 0xff));
  return out;
}

std::string tokenFile(const std::vector<std::uint16_t>& tokens, std::uint32_t magic = 20240520,
                      std::uint32_t version = 1) {
  std::string bytes = littleEndian(magic, 4) + littleEndian(version, 4);
  bytes += littleEndian(static_cast<std::uint32_t>(tokens.size()), 4);
  bytes.resize(1024, '\0');
  for (const std::uint16_t token : tokens)
    bytes += littleEndian(token, 2);
  return bytes;
}

TEST(Corpus, VerseReferencesAreStripped) {
  EXPECT_EQ(stripVerseReferences("Ge1:1 In the beginning\nGe1:2 And the earth\n"), "In the beginning\nAnd the earth\n");
  EXPECT_EQ(stripVerseReferences("Ge1:1 no newline at the end"), "no newline at the end\n");
  EXPECT_EQ(stripVerseReferences("one\n\n"), "one\n\n");
  EXPECT_EQ(stripVerseReferences(""), "");
}

TEST(Corpus, TokenFilesAreDecodedWithAllBitsOfATokenAndItsByteOrder) {
  const std::vector<std::uint16_t> tokens = {0, 1, 255, 256, 50256, 65535};
  EXPECT_TRUE(isTokenFile(tokenFile(tokens)));
  const std::string file = tokenFile(tokens);
  std::vector<std::uint16_t> read(tokens.size());
  const Tokens decoded({{tokensOfFile(file, "x.bin"), 2}}, nullptr);
  ASSERT_EQ(decoded.size(), tokens.size());
  decoded.copy(0, std::span(read));
  EXPECT_EQ(read, tokens);
  EXPECT_TRUE(tokensOfFile(tokenFile({}), "x.bin").empty());
}

TEST(Corpus, DamagedTokenFilesAreRefusedWithTheirNameAndTheReason) {
  const std::string good = tokenFile({1, 2, 3});
  const auto refusal = [](const std::string& bytes) { return errorOf([&] { tokensOfFile(bytes, "x.bin"); }); };
  EXPECT_THAT(refusal(good.substr(0, 1023)), AllOf(HasSubstr("x.bin"), HasSubstr("header")));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 1)), AllOf(HasSubstr("x.bin"), HasSubstr("says 3 tokens")));
  EXPECT_THAT(refusal(good + "x"), AllOf(HasSubstr("x.bin"), HasSubstr("damaged")));
  EXPECT_THAT(refusal(tokenFile({1}, 20240520, 7)), HasSubstr("version 7"));
  std::string huge = good; // a length that would overflow 32 bits of bytes
  huge.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(refusal(huge), HasSubstr("4294967295 tokens"));
}

TEST(Dataset, FilesAreTakenForTextUnlessTheyStartWithTheMagicOfTokens) {
  const TemporaryDirectory directory;
  writeBytes(directory / "text", "hello\xff");
  const Dataset text = Dataset::load({directory / "text"});
  EXPECT_TRUE(text.tokenizer().takesText());
  EXPECT_EQ(text.training().size(), 6u);
  EXPECT_EQ(text.training()[5], 255);
  writeBytes(directory / "tokens", tokenFile({50256, 7}));
  const Dataset tokens = Dataset::load({directory / "tokens"});
  EXPECT_FALSE(tokens.tokenizer().takesText());
  EXPECT_EQ(tokens.training()[0], 50256);
  // The GPT-2 model magic is no token file; as text it is accepted, as any bytes are.
  writeBytes(directory / "other", tokenFile({1}, 20240326));
  EXPECT_TRUE(Dataset::load({directory / "other"}).tokenizer().takesText());
}

TEST(Dataset, AMissingFileIsNamed) {
  EXPECT_THAT(errorOf([] { Dataset::load({"/nonexistent/text"}); }),
              AllOf(HasSubstr("/nonexistent/text"), HasSubstr("No such file")));
}

std::vector<std::uint16_t> copyOf(const Tokens& tokens) {
  std::vector<std::uint16_t> all(tokens.size());
  tokens.copy(0, std::span(all));
  return all;
}

void expectSameData(const Dataset& a, const Dataset& b) {
  EXPECT_EQ(copyOf(a.training()), copyOf(b.training()));
  EXPECT_EQ(copyOf(a.validation()), copyOf(b.validation()));
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
}

TEST(Dataset, SeveralFilesAreOneBehindTheOther) {
  const TemporaryDirectory directory;
  std::string text;
  std::vector<std::uint16_t> tokens;
  for (int i = 0; i < 100; ++i) {
    text.push_back(static_cast<char>(i * 7));
    tokens.push_back(static_cast<std::uint16_t>(i * 700));
  }
  const auto numbers = [&](std::size_t first, std::size_t count) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    return tokenFile({begin, begin + static_cast<std::ptrdiff_t>(count)});
  };
  writeBytes(directory / "a", text.substr(0, 10));
  writeBytes(directory / "empty", "");
  writeBytes(directory / "b", text.substr(10));
  expectSameData(Dataset::load({directory / "a", directory / "empty", directory / "b"}),
                 Dataset(bytesToTokens(text), true));
  writeBytes(directory / "1.bin", numbers(0, 33));
  writeBytes(directory / "2.bin", numbers(33, 67));
  expectSameData(Dataset::load({directory / "1.bin", directory / "2.bin"}), Dataset(tokens, false));
  EXPECT_THAT(errorOf([&] {
                Dataset::load({directory / "1.bin", directory / "a"});
              }),
              AllOf(HasSubstr("1.bin"), HasSubstr("/a"), HasSubstr("not both text")));
}

TEST(Dataset, WindowsCrossTheBordersOfFiles) {
  const std::string one = "ab", two = "cde", three = "f";
  const Tokens tokens({{one, 1}, {two, 1}, {three, 1}}, nullptr);
  std::vector<std::int32_t> inputs(4), targets(4);
  readWindow(tokens, 1, inputs, targets);
  EXPECT_EQ(inputs, (std::vector<std::int32_t>{'b', 'c', 'd', 'e'}));
  EXPECT_EQ(targets, (std::vector<std::int32_t>{'c', 'd', 'e', 'f'}));
  EXPECT_EQ(copyOf(tokens.part(2, 3).part(1, 2)), (std::vector<std::uint16_t>{'d', 'e'}));
}

TEST(Dataset, AFolderStandsForItsFilesByName) {
  const TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "data/inner");
  EXPECT_THAT(errorOf([&] { Dataset::load({directory / "data"}); }), HasSubstr("has no files"));
  writeBytes(directory / "data/2", "second");
  writeBytes(directory / "data/10", "first ");
  writeBytes(directory / "data/inner/1", "not taken");
  expectSameData(Dataset::load({directory / "data"}), Dataset(bytesToTokens("first second"), true));
}

TEST(Dataset, WhatCannotBeMappedIsReadToItsEnd) {
  expectSameData(Dataset::load({"/proc/version"}), Dataset(bytesToTokens(readBytes("/proc/version")), true));
}

TEST(Dataset, TheLastTwentiethUpToAMebitokenIsHeldOut) {
  const Dataset small(std::vector<std::uint16_t>(1000, 1), true);
  EXPECT_EQ(small.training().size(), 950u);
  EXPECT_EQ(small.validation().size(), 50u);
  const Dataset large(std::vector<std::uint16_t>(30u << 20, 1), true);
  EXPECT_EQ(large.validation().size(), 1u << 20);
}

TEST(Dataset, TooShortOrTooLargeTokensAreRefused) {
  const Dataset data(std::vector<std::uint16_t>(1000, 300), false);
  EXPECT_THAT(errorOf([&] { data.check(64, 500); }), AllOf(HasSubstr("1000 tokens"), HasSubstr("--context")));
  EXPECT_THAT(errorOf([&] { data.check(16, 256); }), AllOf(HasSubstr("token 300"), HasSubstr("--vocab")));
  EXPECT_EQ(errorOf([&] { data.check(16, 301); }), "");
}

TEST(Dataset, WindowsLieInsideAndCoverBothEnds) {
  std::set<std::size_t> starts;
  for (std::size_t sample = 0; sample < 2000; ++sample)
    starts.insert(windowStart(1, 0, sample, 20, 16));
  EXPECT_EQ(starts, (std::set<std::size_t>{0, 1, 2, 3})); // 17 tokens fit at four places
}

TEST(Dataset, WindowsArePinned) { // a change would silently break the resumption of every run
  std::vector<std::size_t> starts;
  for (const auto& [seed, step, sample] : {std::array<std::size_t, 3>{1, 0, 0}, {1, 0, 1}, {1, 1, 0}, {2, 0, 0}})
    starts.push_back(windowStart(seed, step, sample, 1'000'000, 128));
  EXPECT_EQ(starts, (std::vector<std::size_t>{201228, 892510, 659269, 687317}));
}

TEST(Dataset, TargetsAreTheSuccessorsOfTheInputs) {
  const Tokens tokens(std::vector<std::uint16_t>{5, 6, 7, 8, 9});
  std::vector<std::int32_t> inputs(3), targets(3);
  readWindow(tokens, 1, inputs, targets);
  EXPECT_EQ(inputs, (std::vector<std::int32_t>{6, 7, 8}));
  EXPECT_EQ(targets, (std::vector<std::int32_t>{7, 8, 9}));
}

TEST(Share, SharesCoverEverythingOnceForAnyNumberOfRanks) {
  for (std::size_t total = 0; total < 40; ++total) {
    for (std::size_t parts = 1; parts < 9; ++parts) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const Share share = shareOf(total, parts, i);
        EXPECT_EQ(share.first, next);
        EXPECT_LE(share.count(), (total + parts - 1) / parts);
        EXPECT_GE(share.count(), total / parts);
        next = share.last;
      }
      EXPECT_EQ(next, total);
    }
  }
}

} // namespace
} // namespace goss::trainer

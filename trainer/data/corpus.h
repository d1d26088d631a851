/// Formats of training data: text, GPT-2 token files, and the default text.
#ifndef GOSS_TRAINER_DATA_CORPUS_H_
#define GOSS_TRAINER_DATA_CORPUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace goss::trainer {

/// The King James Bible, one verse a line without its reference, as the program /usr/bin/bible prints it.
/// Throws Error that says what to install when the program is missing.
std::string readBible();
/// `listing` is lines of "Ge1:1 In the beginning ..."; returns them without their first word.
std::string stripVerseReferences(std::string_view listing);

std::vector<std::uint16_t> bytesToTokens(std::string_view bytes);

/// True when the bytes start as llm.c's GPT-2 token files do: little-endian int32 20240520.
bool isTokenFile(std::string_view bytes);
/// The part of a token file that holds the tokens. Format: 256 int32 {20240520, 1, tokens, 0...}, then that many
/// uint16, all little-endian, and nothing more. `path` is for the texts of errors. Throws Error when the version or the
/// length is wrong.
std::string_view tokensOfFile(std::string_view bytes, const std::string& path);

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_CORPUS_H_

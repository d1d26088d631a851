/// GPT-2's split of a text into the pieces inside of which bytes are merged.
#ifndef GOSS_TRAINER_DATA_TEXT_PIECES_H_
#define GOSS_TRAINER_DATA_TEXT_PIECES_H_

#include <cstddef>
#include <string_view>

namespace goss::trainer {

/// Length in bytes, at least 1, of the first piece of a text that is not empty: the match of
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// Bytes that are not UTF-8 are characters by themselves, neither letters nor numbers nor spaces.
std::size_t firstPiece(std::string_view text);

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_TEXT_PIECES_H_

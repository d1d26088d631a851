/// The cost of a collective over boards, in bytes and time, for the planner and for goss_explain.
#ifndef GOSS_LIB_BOARDS_BOARD_PRICE_H_
#define GOSS_LIB_BOARDS_BOARD_PRICE_H_

#include <cstdint>
#include <string_view>

#include "gossamer/algorithm.h"

namespace goss {

/// Name of the algorithm that boards implement.
inline constexpr std::string_view kFlatName = "flat";

/// Bytes that a rank may write in a wide lane; goss_explain assumes wide lanes. Lanes that are not wide have 9184.
inline constexpr std::uint64_t kWideBoardBytes = 64 * 1024;

/// Bytes that a rank writes, for `bytes` of the vector or of one rank's block.
[[nodiscard]] std::uint64_t bytesWritten(Collective collective, int size, bool is_root, std::uint64_t bytes);
/// Most bytes that any rank writes, for `bytes` of the vector or of one rank's block: they must fit a board.
[[nodiscard]] std::uint64_t maxBytesWritten(Collective collective, int size, std::uint64_t bytes);
/// The planner's price of the call in seconds, on lanes in which a rank may write `board_bytes`.
[[nodiscard]] double flatPrice_s(Collective collective, int size, std::uint64_t bytes, std::uint64_t board_bytes);

} // namespace goss

#endif // GOSS_LIB_BOARDS_BOARD_PRICE_H_

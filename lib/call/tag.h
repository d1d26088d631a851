/// How the 64-bit transport tag is used. docs/formats.md is the written form of this file.
///
/// Collective: context (16 bits) | 0 | sequence (23) | fragment (10) | ordinal (14): every message of an operation has
/// a tag of its own, so steps may be posted in any order and the k-th send of a channel still meets the k-th receive.
/// Ranks that may share a GPU exchange their devices with the last ordinal. If they share one, a step of ordinal k
/// sends addresses in its memory with 2k, and the answer has 2k + 1 (lib/execution/shared_run.h).
/// Point to point: context (16) | 1 | zeros (16) | user tag (31): equal tags meet in order.
/// Window: context (16) | 1 | number of the window, from 1 (16) | zeros (31): one order from rank to rank.
/// Control: all ones.
#ifndef GOSS_LIB_CALL_TAG_H_
#define GOSS_LIB_CALL_TAG_H_

#include <cstdint>

#include "gossamer/message.h"

namespace goss {

inline constexpr Tag kControlTag = kUrgentTag;
inline constexpr std::uint32_t kMaxContext = (1u << 16) - 2;
inline constexpr std::uint32_t kMaxFragments = 1u << 10;
inline constexpr std::uint32_t kMaxOrdinals = 1u << 14;
inline constexpr std::uint64_t kSequenceMask = (1u << 23) - 1;

/// The bits of a tag that identify the communicator.
inline constexpr Tag kContextMask = Tag{0xffff} << 48;
constexpr Tag contextTag(std::uint32_t context) { return Tag{context} << 48; }

/// The bits of a point-to-point message's tag that the user chooses.
inline constexpr Tag kUserTagMask = 0x7fffffff;

constexpr Tag collectiveTag(std::uint32_t context, std::uint64_t sequence, std::uint32_t fragment,
                            std::uint32_t ordinal) {
  return (Tag{context} << 48) | ((sequence & kSequenceMask) << 24) | (Tag{fragment} << 14) | ordinal;
}

inline constexpr std::uint32_t kMaxWindows = (1u << 16) - 1;

constexpr Tag windowTag(std::uint32_t context, std::uint32_t number) {
  return (Tag{context} << 48) | (Tag{1} << 47) | (Tag{number} << 31);
}

constexpr Tag pointToPointTag(std::uint32_t context, std::int32_t user_tag) {
  return (Tag{context} << 48) | (Tag{1} << 47) | static_cast<std::uint32_t>(user_tag);
}

} // namespace goss

#endif // GOSS_LIB_CALL_TAG_H_

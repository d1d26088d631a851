/// Tags: what a receive is matched by, besides its peer.
#ifndef GOSSAMER_TAG_H_
#define GOSSAMER_TAG_H_

#include <cstdint>

namespace goss {

using Tag = std::uint64_t;

/// Messages with this tag are short and overtake: they wait behind no bytes of other messages that are not on the wire
/// yet.
inline constexpr Tag kUrgentTag = ~Tag{0};

/// The flow that messages with this tag belong to: the communicator, in the upper 16 bits. Unexpected messages of one
/// flow take no room that another flow needs.
constexpr Tag flowOf(Tag tag) { return tag & (Tag{0xffff} << 48); }

} // namespace goss

#endif // GOSSAMER_TAG_H_

/// The frames that ranks exchange over MPI: one MPI message each. docs/formats.md describes the bytes.
#ifndef GOSS_TRANSPORTS_MPI_FRAME_H_
#define GOSS_TRANSPORTS_MPI_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transports/common/message_sink.h"

namespace goss::transports::mpi {

/// What a frame begins with; a payload may follow.
struct FrameHeader {
  enum class Kind : std::uint8_t {
    hello = 1,   ///< First of each direction; the envelope begins with the job's secret.
    message = 2, ///< A whole message.
    first = 3,   ///< Begins one that goes in parts.
    more = 4,    ///< The next bytes of one.
    goodbye = 5, ///< Last of each direction: the sender closes, or knows that the other end has.
    broken = 6,  ///< The same, but the link broke; perhaps in the middle of a message.
    cut = 7,     ///< No more of a message comes: its sender has taken it back.
    grant = 8,   ///< To the sender of one: send all of it.
    skip = 9,    ///< To the same: nobody wants more of it than was to come without a grant.
    credit = 10, ///< Only for its `returned`.
  };
  static constexpr std::size_t kBytes = 64;

  Kind kind = Kind::message;
  MessageHeader message; ///< Of `message` and `first`; of `hello` the envelope alone, of `credit` the tag.
  /// Of `first`: the bytes of the message that come without a grant. Of `more`, `cut`, `grant` and `skip`: which
  /// message, of those that began with `first`, counted from 1.
  std::uint64_t extra = 0;
  std::uint64_t returned = 0; ///< Credit that the receiver of this frame has again in the flow of the tag.
};

/// At most so much a frame.
inline constexpr std::size_t kMaxPayloadBytes = 64u << 10;
inline constexpr std::size_t kMaxFrameBytes = FrameHeader::kBytes + kMaxPayloadBytes;

/// MPI's tag of all frames; the 64-bit tags of messages travel in the headers.
inline constexpr int kFrameTag = 0;

void encodeFrame(const FrameHeader& header, std::span<std::byte, FrameHeader::kBytes> bytes);
/// Nothing when `bytes` do not begin with a header of this version.
std::optional<FrameHeader> decodeFrame(std::span<const std::byte> bytes);

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_FRAME_H_

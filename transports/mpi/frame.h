/// The frames that ranks exchange over MPI: one MPI message of bytes each, sent by MPI_Issend in a communicator of
/// Gossamer's own, at most four under way to a peer.
///
/// Integers are little-endian. An address is "GMP1", the rank in MPI_COMM_WORLD (4 bytes) and the process's name (text:
/// length in 4 bytes, bytes). A header:
///
///     0    3   "G", "M", 2
///     3    1   kind
///     4    4   0
///     8    8   tag
///     16   8   bytes of the message
///     24   24  envelope
///     48   8   extra
///     56   8   returned (kinds with a tag)
#ifndef GOSS_TRANSPORTS_MPI_FRAME_H_
#define GOSS_TRANSPORTS_MPI_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transports/common/message_header.h"

namespace goss::transports::mpi {

/// The header of a frame; a payload may follow.
struct FrameHeader {
  enum class Kind : std::uint8_t {
    hello = 1,   ///< First of each direction; the envelope begins with the job's secret.
    message = 2, ///< A whole message.
    first = 3,   ///< Begins a message in parts.
    more = 4,    ///< The next bytes of a message in parts.
    goodbye = 5, ///< Last frame of each direction: the sender closes, or has read that the other end does.
    broken = 6,  ///< As goodbye, but the link broke, perhaps in the middle of a message.
    cut = 7,     ///< The sender has cancelled a message in parts: no more of it comes.
    grant = 8,   ///< To the sender of a message in parts: send all of it.
    skip = 9,    ///< To the sender of a message in parts: drop the bytes that were to wait for a grant.
    credit = 10, ///< Only returns credit.
  };
  static constexpr std::size_t kBytes = 64;

  Kind kind = Kind::message;
  MessageHeader message; ///< Used by `message` and `first`; `hello` uses the envelope only, `credit` the tag only.
  /// In `first`: bytes of the message that come without a grant. In `more`, `cut`, `grant` and `skip`: the number, from
  /// 1, of the message among those that began with `first`.
  std::uint64_t extra = 0;
  std::uint64_t returned = 0; ///< Credit that the receiver of this frame has again in the flow of the tag.
};

/// Most bytes of payload in a frame.
inline constexpr std::size_t kMaxPayloadBytes = 64u << 10;
inline constexpr std::size_t kMaxFrameBytes = FrameHeader::kBytes + kMaxPayloadBytes;

/// MPI's tag of all frames; the 64-bit tags of messages travel in the headers.
inline constexpr int kFrameTag = 0;

void encodeFrame(const FrameHeader& header, std::span<std::byte, FrameHeader::kBytes> bytes);
/// Decodes a header; nullopt when `bytes` do not begin with one of this version.
std::optional<FrameHeader> decodeFrame(std::span<const std::byte> bytes);

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_FRAME_H_

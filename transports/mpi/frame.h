/// The frames that ranks exchange over MPI: one MPI message each. docs/formats.md describes the bytes.
#ifndef GOSS_TRANSPORTS_MPI_FRAME_H_
#define GOSS_TRANSPORTS_MPI_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "gossamer/transport.h"
#include "transports/common/inflow.h"

namespace goss::transports::mpi {

/// What a frame begins with; a payload may follow.
struct FrameHeader {
  enum class Kind : std::uint8_t {
    hello = 1,   ///< First of each direction; the envelope begins with the job's secret.
    first = 2,   ///< Begins a message.
    more = 3,    ///< Continues it.
    goodbye = 4, ///< Last of each direction: the sender closes, or knows that the other end has.
    broken = 5,  ///< The same, but the link broke; perhaps in the middle of a message.
  };
  static constexpr std::size_t kBytes = 48;

  Kind kind = Kind::first;
  MessageHeader message; ///< Of `first`; of `hello` the envelope alone.
};

/// All frames of a message but its last carry so much.
inline constexpr std::size_t kMostPayloadBytes = 64u << 10;
inline constexpr std::size_t kMostFrameBytes = FrameHeader::kBytes + kMostPayloadBytes;

/// MPI's tags tell these two apart; the 64-bit tags of messages travel in the headers.
inline constexpr int kFrameTag = 0;
/// A message of no bytes that overtakes frames which wait: the sender has given the link up.
inline constexpr int kAlarmTag = 1;

void encodeFrame(const FrameHeader& header, std::span<std::byte, FrameHeader::kBytes> bytes);
/// Nothing when `bytes` do not begin with a header of this version.
std::optional<FrameHeader> decodeFrame(std::span<const std::byte> bytes);

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_FRAME_H_

/// The bytes of the TCP transport: addresses, the handshake and frames; docs/formats.md describes them. Pure.
#ifndef GOSS_TRANSPORTS_TCP_WIRE_H_
#define GOSS_TRANSPORTS_TCP_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"
#include "platform/socket.h"
#include "transports/common/inflow.h"

namespace goss::transports::tcp {

inline constexpr std::uint16_t kVersion = 2;
inline constexpr std::size_t kHelloBytes = 72;
inline constexpr std::size_t kAnswerBytes = 8;
inline constexpr std::size_t kMostReasonBytes = 255;
inline constexpr std::size_t kFrameBytes = 48;
inline constexpr int kMostPayloadConnections = 64;
/// A longer message is no message but damage.
inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 48;
/// Striped payload goes round the payload connections in pieces of this size.
inline constexpr std::size_t kStripeBytes = 256 * 1024;

inline constexpr std::size_t kRecordHeaderBytes = 16;
inline constexpr std::size_t kMostRecordBytes = 256 * 1024;
/// Of a connection that can be resumed: bytes that one end may have sent and the other not used yet. More than what the
/// system's own buffers hold, by default, of a path with a large product of bandwidth and delay.
inline constexpr std::size_t kWindowBytes = std::size_t{32} * 1024 * 1024;

/// Where a rank can be called.
struct Address {
  std::string host_identity; ///< Loopback addresses mean something only where this is equal.
  /// First those at which a router is called for this rank, then those of its host.
  std::vector<platform::SocketAddress> sockets;
  std::size_t advertised = 0; ///< So many are the former.
};

std::string encodeAddress(const Address& address);
/// Errors: protocol.
Result<Address> decodeAddress(std::string_view bytes);

/// What a caller is about.
enum class Purpose : std::uint16_t {
  plain = 0,     ///< A connection whose end is the end of its link.
  relay = 1,     ///< No link is wanted: `to` is to relay between `from` and `relayed_to`.
  resumable = 2, ///< A connection of records, which may be resumed when it breaks.
  resume = 3,    ///< This goes on where that connection broke.
  recall = 4,    ///< The called rank, which made that connection, is to make it anew: here it is broken. The caller
                 ///< hangs up then.
};
using LinkToken = std::array<std::byte, 16>;

/// The first bytes of a caller.
struct Hello {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t size = 0;        ///< Of the world.
  std::uint16_t connection = 0;  ///< Which of `connections`; 0 carries the frames.
  std::uint16_t connections = 1; ///< 1, or 1 + the number of payload connections.
  std::array<std::byte, 16> job{};
  Purpose purpose = Purpose::plain;
  std::uint32_t relayed_to = 0; ///< 0 but to relay.
  std::uint32_t epoch = 0;      ///< How often the connection was resumed, this call included. recall: so far.
  LinkToken token{};            ///< Secret of a link that can be resumed; else zero.
};

std::string encodeHello(const Hello& hello);
/// `bytes` are kHelloBytes long. Judges the form alone. Errors: protocol saying what is wrong.
Result<Hello> decodeHello(std::string_view bytes);
/// Whether a hello can begin like this: a stranger is seen through before all of its bytes are there.
bool helloMayBegin(std::string_view bytes);

/// The answer to a hello, kAnswerBytes long, then the reason; and the caller's "go" after a welcome, without one. A
/// caller that tries several addresses at once says "go" on one of them. Who is relayed hears "joined" when the other
/// end has come too: what follows is from there.
enum class Answer : std::uint8_t { welcome = 1, refused = 2, go = 3, joined = 4 };
std::string encodeAnswer(Answer answer, std::string_view reason = {});
struct DecodedAnswer {
  Answer answer = Answer::welcome;
  std::size_t reason_bytes = 0;
};
/// Errors: protocol.
Result<DecodedAnswer> decodeAnswer(std::string_view bytes);

enum class FrameKind : std::uint8_t {
  message = 1, ///< Its payload follows.
  striped = 2, ///< Its payload comes over the payload connections.
  goodbye = 3, ///< Nothing follows; the sender closes.
  probe = 4,   ///< Means nothing: a system whose process is gone answers it with a reset.
};

/// Before the bytes of a connection that can be resumed, which travel in records.
struct RecordHeader {
  std::uint32_t bytes = 0; ///< That follow; at most kMostRecordBytes.
  std::uint64_t used = 0;  ///< Bytes of the other direction that the sender has used up, since the first connection.
};
using RecordHeaderBytes = std::array<char, kRecordHeaderBytes>;
RecordHeaderBytes encodeRecordHeader(const RecordHeader& header);
/// `bytes` are kRecordHeaderBytes long. False: these are no record of this protocol.
bool decodeRecordHeader(std::string_view bytes, RecordHeader& header);

using FrameBytes = std::array<char, kFrameBytes>;
FrameBytes encodeFrame(FrameKind kind, const MessageHeader& header);
struct Frame {
  FrameKind kind = FrameKind::message;
  MessageHeader header;
};
/// `bytes` are kFrameBytes long. False: these are no frame of this protocol.
bool decodeFrame(std::string_view bytes, Frame& frame);

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_WIRE_H_

/// The bytes of the TCP transport: addresses, the handshake and frames; docs/formats.md describes them. Pure.
#ifndef GOSS_TRANSPORTS_TCP_STREAM_WIRE_H_
#define GOSS_TRANSPORTS_TCP_STREAM_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"
#include "platform/socket.h"
#include "transports/common/message_sink.h"

namespace goss::transports::tcp {

inline constexpr std::uint16_t kVersion = 4;
inline constexpr std::size_t kHelloBytes = 72;
inline constexpr std::size_t kAnswerBytes = 8;
inline constexpr std::size_t kMaxReasonBytes = 255;
inline constexpr std::size_t kFrameBytes = 48;
inline constexpr int kMaxPayloadConnections = 64;
/// A frame that names a longer message is malformed.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 48;
/// Striped payload goes round the payload connections in pieces of at most this size.
inline constexpr std::size_t kStripeBytes = 256 * 1024;
/// Most bytes that follow one frame: what is urgent waits for the rest of them at most.
inline constexpr std::size_t kMaxChunkBytes = 512 * 1024;
/// Messages from one rank that have no receive, and of which more than the header is to come.
inline constexpr std::size_t kMaxAnnounced = 256 * 1024;
/// Most stripes that were announced and are not read yet.
inline constexpr std::size_t kMaxStripesAhead = 64 * 1024;

inline constexpr std::size_t kRecordHeaderBytes = 24;
inline constexpr std::size_t kMaxRecordBytes = 256 * 1024;
/// Of a connection that can be resumed: bytes that one end may have sent and the other not used yet. More than what the
/// system's own buffers hold, by default, of a path with a large product of bandwidth and delay.
inline constexpr std::size_t kWindowBytes = std::size_t{32} * 1024 * 1024;

/// Which links a rank wants to be checked for bytes that were changed on their way: their records carry checksums.
enum class Checks : std::uint8_t { none = 0, between_hosts = 1, all = 2 };

/// Where a rank can be called.
struct Address {
  std::string host_identity; ///< Loopback addresses mean something only where this is equal.
  /// First those at which a router is called for this rank, then those of its host.
  std::vector<platform::SocketAddress> sockets;
  std::size_t advertised = 0; ///< So many are the former.
  Checks checks = Checks::between_hosts;
};

/// Whether the link between ranks with these addresses is checked: the stricter of the two decides.
bool isChecked(const Address& one, const Address& other);

std::string encodeAddress(const Address& address);
/// Errors: protocol.
Result<Address> decodeAddress(std::string_view bytes);

/// What a caller wants.
enum class Purpose : std::uint8_t {
  plain = 0,     ///< A connection whose end is the end of its link.
  relay = 1,     ///< No link is wanted: `to` is to relay between `from` and `relayed_to`.
  resumable = 2, ///< A connection that may be resumed when it breaks; its bytes travel in records.
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
  bool checked = false;         ///< Its bytes travel in records with checksums.
  std::uint32_t relayed_to = 0; ///< 0 but to relay.
  std::uint32_t epoch = 0;      ///< How often the connection was resumed, this call included. recall: so far.
  LinkToken token{};            ///< Secret of a link that can be resumed; else zero.
};

std::string encodeHello(const Hello& hello);
/// `bytes` are kHelloBytes long. Judges the form alone. Errors: peerLost when bytes were changed on their way, for
/// which nobody is to be blamed; protocol saying what else is wrong.
Result<Hello> decodeHello(std::string_view bytes);
/// Whether a hello can begin with these bytes: rejects a foreign protocol before all bytes of a hello have come.
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

/// A message is announced, and its bytes come in chunks, when it is long or its sender has no credit. The sender may
/// send `eager` bytes of it; the others when they were granted, which the receiver does when it has met a receive.
enum class FrameKind : std::uint8_t {
  message = 1,  ///< All of its bytes follow, within the credit.
  announce = 2, ///< Its bytes do not follow. It gets the next number, from 1.
  goodbye = 3,  ///< Nothing follows; the sender closes.
  chunk = 4,    ///< The next bytes of an announced message follow.
  stripe = 5,   ///< They come over the payload connection whose turn it is.
  grant = 6,    ///< All of the announced message may come.
  drop = 7,     ///< Nobody wants it: no more of it need come.
  withdraw = 8, ///< No more of it comes; it is as if it had never been sent.
  credit = 9,   ///< So many bytes of the credit of the tag's flow are free again.
  room = 10,    ///< First frame of each direction: the credit for all flows together.
  advance = 11, ///< There is credit now: so many bytes of a message that was announced without any come ungranted.
};
inline constexpr FrameKind kLastFrameKind = FrameKind::advance;

/// Before the bytes of a connection that is checked or can be resumed, which travel in records.
struct RecordHeader {
  std::uint32_t bytes = 0;    ///< That follow; at most kMaxRecordBytes.
  std::uint64_t used = 0;     ///< Bytes of the other direction that the sender has used up, since the first connection.
  std::uint32_t checksum = 0; ///< CRC32C of the bytes that follow; 0 where nothing is checked.
};
using RecordHeaderBytes = std::array<char, kRecordHeaderBytes>;
/// `checked`: with a checksum of the header's own.
RecordHeaderBytes encodeRecordHeader(const RecordHeader& header, bool checked);
enum class HeaderVerdict {
  valid,
  changed,  ///< On its way; only what is checked shows that.
  malformed ///< This is no record of the protocol.
};
/// `bytes` are kRecordHeaderBytes long.
HeaderVerdict decodeRecordHeader(std::string_view bytes, bool checked, RecordHeader& header);

using FrameBytes = std::array<char, kFrameBytes>;
struct Frame {
  FrameKind kind = FrameKind::message;
  MessageHeader header;    ///< `tag` is the message's number from chunk to withdraw, and of advance.
  std::uint32_t eager = 0; ///< announce: bytes that come without a grant.
};
FrameBytes encodeFrame(const Frame& frame);
inline FrameBytes encodeFrame(FrameKind kind, const MessageHeader& header) { return encodeFrame({kind, header}); }
/// `bytes` are kFrameBytes long. False: these are no frame of this protocol.
bool decodeFrame(std::string_view bytes, Frame& frame);

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_STREAM_WIRE_H_

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
#include "transports/common/message_header.h"

namespace goss::transports::tcp {

inline constexpr std::uint16_t kVersion = 4;
inline constexpr std::size_t kHelloBytes = 72;
inline constexpr std::size_t kAnswerBytes = 8;
inline constexpr std::size_t kMaxReasonBytes = 255;
inline constexpr std::size_t kFrameBytes = 48;
inline constexpr int kMaxPayloadConnections = 64;
/// A frame that names a longer message is malformed.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 48;
/// Most bytes of a stripe: striped payload goes round the payload connections in such pieces.
inline constexpr std::size_t kStripeBytes = 256 * 1024;
/// Most bytes that follow one frame: urgent frames wait for no more than those.
inline constexpr std::size_t kMaxChunkBytes = 512 * 1024;
/// Most unexpected messages of one rank of which more than the header is to come.
inline constexpr std::size_t kMaxAnnounced = 256 * 1024;
/// Most stripes that were announced and are not read yet.
inline constexpr std::size_t kMaxStripesAhead = 64 * 1024;

inline constexpr std::size_t kRecordHeaderBytes = 24;
inline constexpr std::size_t kMaxRecordBytes = 256 * 1024;
/// Window of a connection that can be resumed: bytes that one end may have sent and the other not read yet. More than
/// the system's own buffers hold, by default, of a path with a large bandwidth-delay product.
inline constexpr std::size_t kWindowBytes = std::size_t{32} * 1024 * 1024;

/// On which links a rank wants bytes to be checked for corruption on the network: their records carry checksums.
enum class Checks : std::uint8_t { none = 0, betweenHosts = 1, all = 2 };

/// The addresses at which a rank can be called.
struct Address {
  std::string host_identity; ///< Loopback addresses are valid only between equal identities.
  /// First the addresses at which a router takes calls for this rank, then those of its host.
  std::vector<platform::SocketAddress> sockets;
  std::size_t advertised = 0; ///< Number of addresses of routers.
  Checks checks = Checks::betweenHosts;
};

/// Whether the link between ranks with these addresses is checked: the stricter setting of the two decides.
bool isChecked(const Address& one, const Address& other);

std::string encodeAddress(const Address& address);
/// Errors: protocol.
Result<Address> decodeAddress(std::string_view bytes);

/// Why a rank calls.
enum class Purpose : std::uint8_t {
  plain = 0,     ///< A connection whose end is the end of its link.
  relay = 1,     ///< The caller wants no link with `to`, but that `to` relays between `from` and `relayed_to`.
  resumable = 2, ///< A connection that may be resumed when it breaks; its bytes travel in records.
  resume = 3,    ///< The call replaces a broken connection.
  /// The called rank, which made that connection, is to make it anew, because it is broken here. Then the caller hangs
  /// up.
  recall = 4,
};
using LinkToken = std::array<std::byte, 16>;

/// The first bytes that a caller sends.
struct Hello {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t size = 0;        ///< Number of ranks of the world.
  std::uint16_t connection = 0;  ///< Index among `connections`; 0 carries the frames.
  std::uint16_t connections = 1; ///< 1, or 1 + the number of payload connections.
  std::array<std::byte, 16> job{};
  Purpose purpose = Purpose::plain;
  bool checked = false;         ///< The connection's bytes travel in records with checksums.
  std::uint32_t relayed_to = 0; ///< Used only to relay; else 0.
  std::uint32_t epoch = 0;      ///< How often the connection was resumed, including this call; recall: so far.
  LinkToken token{};            ///< Secret of a link that can be resumed; else zero.
};

std::string encodeHello(const Hello& hello);
/// Decodes kHelloBytes and checks the form only. Errors: peerLost when bytes were corrupted on the network, for which
/// nobody is to blame; protocol for other errors, with a text.
Result<Hello> decodeHello(std::string_view bytes);
/// Whether a hello can begin with these bytes: rejects a foreign protocol before all bytes of a hello have come.
bool helloMayBegin(std::string_view bytes);

/// The answer to a hello, kAnswerBytes long, then the reason; and the caller's "go" after a welcome, without one. A
/// caller that tries several addresses at once says "go" on one of them. A relayed caller is told "joined" when the
/// other end has called too: the following bytes are the other end's.
enum class Answer : std::uint8_t { welcome = 1, refused = 2, go = 3, joined = 4 };
std::string encodeAnswer(Answer answer, std::string_view reason = {});
/// The reason by which a process of another job refuses.
inline constexpr std::string_view kAnotherJob = "it belongs to another job";
struct DecodedAnswer {
  Answer answer = Answer::welcome;
  std::size_t reason_bytes = 0;
};
/// Errors: protocol.
Result<DecodedAnswer> decodeAnswer(std::string_view bytes);

/// A message is announced, and its bytes come in chunks, when it is long or its sender has no credit. The sender may
/// send `eager` bytes of it at once, and the others when the receiver has granted them, because the message has matched
/// a receive.
enum class FrameKind : std::uint8_t {
  message = 1,  ///< All of its bytes follow, within the credit.
  announce = 2, ///< No bytes follow. The message gets the next number, from 1.
  goodbye = 3,  ///< Nothing follows; the sender closes.
  chunk = 4,    ///< The next bytes of an announced message follow.
  stripe = 5,   ///< The next bytes of an announced message come over the payload connection whose turn it is.
  grant = 6,    ///< All of the announced message may come.
  drop = 7,     ///< The announced message is dropped: no more of it need come.
  withdraw = 8, ///< No more of the announced message comes, because its sender has cancelled it.
  credit = 9,   ///< `bytes` bytes of the credit of the tag's flow are free again.
  room = 10,    ///< First frame of each direction: the credit for all flows together.
  advance = 11, ///< There is credit now: `bytes` bytes of a message that was announced without credit come ungranted.
};
inline constexpr FrameKind kLastFrameKind = FrameKind::advance;

/// Header of a record, of connections that are checked or can be resumed.
struct RecordHeader {
  std::uint32_t bytes = 0;    ///< Bytes that follow; at most kMaxRecordBytes.
  std::uint64_t used = 0;     ///< Bytes of the other direction that the sender has read since the first connection.
  std::uint32_t checksum = 0; ///< CRC32C of the bytes that follow; 0 where the link is not checked.
};
using RecordHeaderBytes = std::array<char, kRecordHeaderBytes>;
/// `checked`: with a checksum of the header itself.
RecordHeaderBytes encodeRecordHeader(const RecordHeader& header, bool checked);
enum class HeaderVerdict {
  valid,
  changed,  ///< Corrupted on the network; only checked headers show that.
  malformed ///< This is no record of the protocol.
};
/// `bytes` are kRecordHeaderBytes long.
HeaderVerdict decodeRecordHeader(std::string_view bytes, bool checked, RecordHeader& header);

using FrameBytes = std::array<char, kFrameBytes>;
struct Frame {
  FrameKind kind = FrameKind::message;
  MessageHeader header;    ///< From chunk to withdraw, and in advance, `tag` is the message's number.
  std::uint32_t eager = 0; ///< announce: bytes that come without a grant.
};
FrameBytes encodeFrame(const Frame& frame);
inline FrameBytes encodeFrame(FrameKind kind, const MessageHeader& header) { return encodeFrame({kind, header}); }
/// Decodes kFrameBytes. False: they are no frame of this protocol.
bool decodeFrame(std::string_view bytes, Frame& frame);

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_STREAM_WIRE_H_

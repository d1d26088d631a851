/// A stream of bytes that outlives the connections under it.
#ifndef GOSS_TRANSPORTS_TCP_STREAM_RECORD_STREAM_H_
#define GOSS_TRANSPORTS_TCP_STREAM_RECORD_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "platform/filtered_stream.h"
#include "transports/tcp/stream/byte_ring.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// Bytes travel in records. Each record acknowledges how many bytes its sender has read so far, and the stream keeps
/// bytes that the other end has not acknowledged. When a connection is lost, restart() continues over the next one:
/// each end first sends how many bytes it has, and then the other end sends the rest again. At most `window` bytes are
/// unacknowledged, which bounds the memory at both ends. One thread.
///
/// A `checked` stream gives the reader no byte of a record before it has verified the record's checksum; a wrong
/// checksum is the end of the connection, with the error EBADMSG, and after restart() the bytes are sent again.
///
/// The argument `stream` is always the current connection. Results are those of its reads and writes. `ended` with
/// isMalformed() means that the other end breaks the protocol, so that the connection cannot be resumed.
class RecordStream {
 public:
  explicit RecordStream(std::size_t window = kWindowBytes, bool checked = false);

  /// As Stream::read and Stream::write. Fewer bytes than asked for: the connection would block, or the window is full.
  platform::StreamResult read(platform::Stream& stream, std::span<const iovec> to);
  platform::StreamResult write(platform::Stream& stream, std::span<const iovec> from);
  /// Sends bytes that were written, and acknowledgements, as far as the connection has space.
  platform::StreamResult flush(platform::Stream& stream);
  /// Reads from the connection for the acknowledgements in its records, though no caller wants its bytes.
  platform::StreamResult pull(platform::Stream& stream);
  /// Reads bytes that a lost connection has delivered before its end.
  std::size_t readKept(std::span<const iovec> to);
  /// Lets the next flush() acknowledge all bytes that were read, however few.
  void acknowledge() { acknowledge_now_ = acknowledge_now_ || used_ > last_acknowledgement_; }
  /// Drops bytes that have arrived and were not read.
  void dropInput();

  /// Continues over the next connection; nothing more will be read from the last one.
  void restart();
  /// The error with which the connection was first found to be broken by a write: the system reports it once, and a
  /// reader then sees an orderly end.
  [[nodiscard]] const std::optional<platform::StreamResult>& firstError() const { return first_error_; }
  /// Whether restart() was called, and the other end has not acknowledged yet how many bytes it has.
  [[nodiscard]] bool isRestarting() const { return restarting_; }
  [[nodiscard]] bool isMalformed() const { return malformed_; }
  /// Whether bytes of the current connection were corrupted on the network.
  [[nodiscard]] bool isCorrupted() const { return corrupted_; }

  /// Whether read() returns bytes without reading from the connection.
  [[nodiscard]] bool hasInput() const;
  /// Whether bytes wait for space in the connection.
  [[nodiscard]] bool awaitsSpace() const;
  /// Whether bytes were written that the other end has not acknowledged.
  [[nodiscard]] bool hasUnacknowledged() const { return acknowledged_ < written_; }
  /// Bytes that the other end is known to have read, and bytes that were sent over the current connection.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  /// Number of bytes read here.
  [[nodiscard]] std::uint64_t used() const { return used_; }
  /// Whether bytes were written that were not sent over a connection yet.
  [[nodiscard]] bool hasUnsent() const { return sent_ < written_ || inRecord(); }

 private:
  class Pieces;
  platform::StreamResult readInto(platform::Stream& stream, Pieces& to);
  platform::StreamResult fill(platform::Stream& stream, Pieces& to, bool& dry);
  bool unpack(Pieces& to);
  bool handleHeader();
  bool check();
  [[nodiscard]] platform::StreamResult brokenEnd() const;
  [[nodiscard]] std::uint32_t payloadChecksum() const;
  [[nodiscard]] std::size_t rawSpace() const;
  [[nodiscard]] std::size_t maxInRecord() const { return checked_ ? kMaxCheckedBytes : kMaxRecordBytes; }
  std::size_t takeKept(Pieces& to);
  void use(std::size_t bytes);
  bool beginRecord();
  [[nodiscard]] bool inRecord() const { return header_left_ + payload_left_ > 0; }
  [[nodiscard]] std::size_t raw() const { return raw_end_ - raw_at_; }

  static constexpr std::size_t kRawBytes = std::size_t{16} * 1024;
  /// The reader of a checked stream gets no byte of a record before all of it has arrived, so long messages are cut
  /// into several. One of 128 KiB still fits one record, with its frame.
  static constexpr std::size_t kMaxCheckedBytes = std::size_t{132} * 1024;

  const bool checked_;
  const std::size_t window_;
  const std::size_t acknowledge_every_; ///< Bytes read after which an acknowledgement is sent even if no data is.
  bool restarting_ = false;
  bool malformed_ = false;
  bool corrupted_ = false; ///< Whether bytes of the current connection were corrupted on the network.

  ByteRing ring_;                  ///< Bytes from acknowledged_ to written_.
  std::uint64_t acknowledged_ = 0; ///< Acknowledged, sent and written bytes count from the beginning of the stream.
  std::uint64_t sent_ = 0;         ///< Bytes sent over the current connection.
  std::uint64_t written_ = 0;
  RecordHeaderBytes header_{}; ///< Header of the record that is being sent.
  std::size_t header_left_ = 0;
  std::size_t payload_left_ = 0;

  std::unique_ptr<char[]> raw_; ///< Bytes from the connection: headers and payload.
  std::size_t raw_at_ = 0;
  std::size_t raw_end_ = 0;
  std::size_t unchecked_ = 0; ///< Payload of a record that waits in raw_ until it is complete; its checksum follows.
  std::uint32_t checksum_ = 0;
  std::size_t record_left_ = 0; ///< Unread payload of the record that is being read.
  std::string kept_;            ///< Payload that nobody has read yet.
  std::size_t kept_at_ = 0;
  std::uint64_t used_ = 0;                 ///< Bytes given to the reader.
  std::uint64_t last_acknowledgement_ = 0; ///< The part of used_ that was acknowledged to the other end.
  bool acknowledge_now_ = false;           ///< An acknowledgement is to be sent with the next flush().
  bool acknowledge_first_ = false;         ///< The acknowledgement is to be sent before anything else.
  std::optional<platform::StreamResult> first_error_;
  platform::StreamResult end_; ///< How the connection ended, when bytes came together with the end.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_STREAM_RECORD_STREAM_H_

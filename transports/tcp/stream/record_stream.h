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

/// Bytes travel in records, each of which acknowledges how many bytes its sender has read so far; bytes that the other
/// end has not acknowledged are kept here. When a connection is lost, restart() goes on over the next one: each end
/// first says what it has, and only then is sent again what the other lacks. At most `window` bytes are on their way,
/// so that neither what is kept for sending nor what arrives while nobody reads grows beyond it. One thread.
///
/// A stream that is `checked` gives the reader nothing of a record before its checksum was found right; a wrong one is
/// the end of the connection, with the error EBADMSG, and restart() has the bytes sent again.
///
/// The stream that the calls name is always the present one. Results are those of its reads and writes; `ended` with
/// isMalformed(): the other end does not keep to the protocol, and there is nothing to be resumed.
class RecordStream {
 public:
  explicit RecordStream(std::size_t window = kWindowBytes, bool checked = false);

  /// As Stream::read and Stream::write. Fewer bytes than asked for: the connection would block, or the window is full.
  platform::StreamResult read(platform::Stream& stream, std::span<const iovec> to);
  platform::StreamResult write(platform::Stream& stream, std::span<const iovec> from);
  /// Sends what was written, or is to be said, as far as the connection has room.
  platform::StreamResult flush(platform::Stream& stream);
  /// Reads what is there although nobody asks for it: for what it says about bytes that went the other way.
  platform::StreamResult pull(platform::Stream& stream);
  /// Reads what a lost connection has delivered before its end.
  std::size_t readKept(std::span<const iovec> to);
  /// Acknowledges all that was read, however little, with the next flush().
  void tell() { tell_ = tell_ || used_ > told_; }
  /// Forgets what has come and was not read.
  void forgetInput();

  /// The next connection takes the place of the last one, of which nothing more will be read.
  void restart();
  /// With what error the connection was first found to be broken, if it was while something was written: the system
  /// says that once, and to whom reads it is an orderly end after that.
  [[nodiscard]] const std::optional<platform::StreamResult>& firstError() const { return first_error_; }
  /// restart() was called, and the other end has not said yet what it has.
  [[nodiscard]] bool isRestarting() const { return restarting_; }
  [[nodiscard]] bool isMalformed() const { return malformed_; }
  /// Whether bytes of the present connection were changed on their way.
  [[nodiscard]] bool isChanged() const { return changed_; }

  /// Whether read() returns bytes without reading from the connection.
  [[nodiscard]] bool hasInput() const;
  /// Whether bytes wait for room in the connection.
  [[nodiscard]] bool wantsRoom() const;
  /// Whether bytes were written that the other end has not acknowledged.
  [[nodiscard]] bool hasUnacknowledged() const { return acknowledged_ < written_; }
  /// How much the other end is known to have read, and what has gone to the present connection.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  /// How much was read here.
  [[nodiscard]] std::uint64_t used() const { return used_; }
  /// Whether bytes were written that have not gone to a connection yet.
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
  [[nodiscard]] std::size_t rawRoom() const;
  [[nodiscard]] std::size_t mostInRecord() const { return checked_ ? kMaxCheckedBytes : kMaxRecordBytes; }
  std::size_t takeKept(Pieces& to);
  void use(std::size_t bytes);
  bool beginRecord();
  [[nodiscard]] bool inRecord() const { return header_left_ + payload_left_ > 0; }
  [[nodiscard]] std::size_t raw() const { return raw_end_ - raw_at_; }

  static constexpr std::size_t kRawBytes = std::size_t{16} * 1024;
  /// Of a checked record the reader has nothing before all of it is there, so long messages come in several. One of
  /// 128 KiB still comes in one, with its frame.
  static constexpr std::size_t kMaxCheckedBytes = std::size_t{132} * 1024;

  const bool checked_;
  const std::size_t window_;
  const std::size_t tell_every_; ///< Used bytes after which the other end is told without being sent anything.
  bool restarting_ = false;
  bool malformed_ = false;
  bool changed_ = false; ///< Bytes from the present connection are not those that were sent.

  ByteRing ring_;                  ///< Bytes from acknowledged_ to written_.
  std::uint64_t acknowledged_ = 0; ///< These counts are of the whole stream.
  std::uint64_t sent_ = 0;         ///< To the present connection.
  std::uint64_t written_ = 0;
  RecordHeaderBytes header_{}; ///< Of the record under way.
  std::size_t header_left_ = 0;
  std::size_t payload_left_ = 0;

  std::unique_ptr<char[]> raw_; ///< From the connection: headers and payload.
  std::size_t raw_at_ = 0;
  std::size_t raw_end_ = 0;
  std::size_t unchecked_ = 0; ///< Payload of a record that waits in raw_ until it is whole, and has this checksum.
  std::uint32_t checksum_ = 0;
  std::size_t record_left_ = 0; ///< Payload of the record that is being read.
  std::string kept_;            ///< Payload that nobody has asked for yet.
  std::size_t kept_at_ = 0;
  std::uint64_t used_ = 0;  ///< Given to the reader.
  std::uint64_t told_ = 0;  ///< Of that, what the other end was told.
  bool tell_ = false;       ///< It is to be told now.
  bool tell_first_ = false; ///< Before anything else.
  std::optional<platform::StreamResult> first_error_;
  platform::StreamResult end_; ///< How the connection ended, when bytes came together with it.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_STREAM_RECORD_STREAM_H_

#include "transports/tcp/stream/record_stream.h"

#include <errno.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "platform/crc32c.h"

namespace goss::transports::tcp {

namespace {

constexpr std::size_t kMaxPieces = 16;
constexpr std::size_t kPullBytes = std::size_t{64} * 1024;
/// Reads of the connection in one call: the other end may send headers forever.
constexpr int kMaxFills = 64;
constexpr std::size_t kTellEvery = std::size_t{256} * 1024;

} // namespace

/// A list of memory pieces that is filled, or emptied, from the front.
class RecordStream::Pieces {
 public:
  explicit Pieces(std::span<const iovec> pieces) : pieces_(pieces) {
    for (const iovec& piece : pieces)
      left_ += piece.iov_len;
  }
  [[nodiscard]] std::size_t left() const { return left_; }
  [[nodiscard]] std::size_t done() const { return done_; }
  /// Copies `size` bytes, for which there is space, to the front.
  void put(const char* from, std::size_t size) {
    while (size > 0) {
      const iovec piece = front(size);
      std::memcpy(piece.iov_base, from, piece.iov_len);
      from += piece.iov_len;
      size -= piece.iov_len;
      skip(piece.iov_len);
    }
  }
  /// At most `size` bytes of the front piece; the list is not empty.
  [[nodiscard]] iovec front(std::size_t size) {
    while (pieces_.front().iov_len == at_)
      next();
    return {static_cast<char*>(pieces_.front().iov_base) + at_, std::min(size, pieces_.front().iov_len - at_)};
  }
  /// Lists the front, at most `size` bytes; returns the number of pieces and sets `size` to their bytes.
  std::size_t list(std::span<iovec> to, std::size_t& size) const {
    std::size_t count = 0;
    std::size_t listed = 0;
    std::size_t at = at_;
    for (const iovec& piece : pieces_) {
      if (count == to.size() || listed == size) break;
      const std::size_t length = std::min(piece.iov_len - at, size - listed);
      if (length > 0) to[count++] = {static_cast<char*>(piece.iov_base) + at, length};
      listed += length;
      at = 0;
    }
    size = listed;
    return count;
  }
  void skip(std::size_t size) {
    left_ -= size;
    done_ += size;
    while (size > 0) {
      const std::size_t step = std::min(size, pieces_.front().iov_len - at_);
      at_ += step;
      size -= step;
      if (at_ == pieces_.front().iov_len) next();
    }
  }

 private:
  void next() {
    pieces_ = pieces_.subspan(1);
    at_ = 0;
  }
  std::span<const iovec> pieces_;
  std::size_t at_ = 0; ///< Offset in the front piece.
  std::size_t left_ = 0;
  std::size_t done_ = 0;
};

RecordStream::RecordStream(std::size_t window, bool checked)
    : checked_(checked),
      window_(window),
      acknowledge_every_(std::min(window / 4, kTellEvery)),
      raw_(std::make_unique_for_overwrite<char[]>(kRawBytes + (checked ? kMaxRecordBytes : 0))) {}

platform::StreamResult RecordStream::read(platform::Stream& stream, std::span<const iovec> to) {
  Pieces pieces(to);
  takeKept(pieces);
  const platform::StreamResult result = pieces.left() > 0 ? readInto(stream, pieces) : platform::StreamResult{};
  use(pieces.done());
  if (pieces.done() > 0) return {pieces.done(), false, 0};
  return result;
}

platform::StreamResult RecordStream::readInto(platform::Stream& stream, Pieces& to) {
  bool dry = false;
  for (int fills = 0; fills < kMaxFills; ++fills) {
    if (!unpack(to)) return brokenEnd();
    if (to.left() == 0 || dry) return {};
    if (end_.ended) return end_;
    end_ = fill(stream, to, dry);
    if (end_.ended) {
      // Bytes that came together with the end count.
      return unpack(to) ? end_ : brokenEnd();
    }
  }
  return {};
}

/// The end that read() reports when unpack() has failed.
platform::StreamResult RecordStream::brokenEnd() const { return {0, true, corrupted_ ? EBADMSG : EPROTO}; }

/// Bytes that are read into raw_ at a time: the rest of a record that must be complete, and a little of the next one.
std::size_t RecordStream::rawSpace() const { return unchecked_ + kRawBytes - raw_end_; }

/// Reads once from the connection, straight into the destination as far as that is known. `dry`: the connection has no
/// more bytes.
platform::StreamResult RecordStream::fill(platform::Stream& stream, Pieces& to, bool& dry) {
  if (raw_at_ > 0) {
    std::memmove(raw_.get(), raw_.get() + raw_at_, raw());
    raw_end_ -= raw_at_;
    raw_at_ = 0;
  }
  std::array<iovec, kMaxPieces + 1> pieces;
  std::size_t straight = raw() == 0 && !checked_ ? record_left_ : 0;
  std::size_t count = to.list(std::span(pieces).first(kMaxPieces), straight);
  std::size_t asked = straight;
  if (straight == record_left_ || raw() > 0) {
    pieces[count++] = {raw_.get() + raw_end_, rawSpace()};
    asked += rawSpace();
  }
  const platform::StreamResult got = stream.read(std::span<const iovec>(pieces.data(), count));
  if (got.ended) return got;
  const std::size_t payload = std::min(got.bytes, straight);
  to.skip(payload);
  record_left_ -= payload;
  raw_end_ += got.bytes - payload;
  dry = got.bytes < asked;
  return {};
}

/// Parses raw_; payload goes to its destination as far as there is space. False: it is malformed, or is not what was
/// sent.
bool RecordStream::unpack(Pieces& to) {
  for (;;) {
    if (corrupted_ || malformed_) return false;
    if (unchecked_ > 0) {
      if (raw() < unchecked_) return true;
      if (!check()) return false;
    }
    if (record_left_ == 0) {
      if (raw() < kRecordHeaderBytes) return true;
      if (!handleHeader()) return false;
      continue;
    }
    const std::size_t size = std::min({record_left_, raw(), to.left()});
    if (size == 0) return true;
    to.put(raw_.get() + raw_at_, size);
    raw_at_ += size;
    record_left_ -= size;
  }
}

bool RecordStream::handleHeader() {
  RecordHeader header;
  const HeaderVerdict verdict = decodeRecordHeader({raw_.get() + raw_at_, kRecordHeaderBytes}, checked_, header);
  raw_at_ += kRecordHeaderBytes;
  corrupted_ = verdict == HeaderVerdict::changed;
  malformed_ =
      verdict == HeaderVerdict::malformed ||
      (!corrupted_ && (header.used < acknowledged_ || header.used > sent_ || (restarting_ && header.bytes > 0)));
  if (corrupted_ || malformed_) {
    raw_at_ = raw_end_ = 0; // None of these bytes can be trusted.
    return false;
  }
  ring_.discard(static_cast<std::size_t>(header.used - acknowledged_));
  acknowledged_ = header.used;
  (checked_ ? unchecked_ : record_left_) = header.bytes;
  checksum_ = header.checksum;
  if (restarting_) sent_ = header.used;
  restarting_ = false;
  return true;
}

/// Checks the complete record that waits in raw_.
bool RecordStream::check() {
  corrupted_ = platform::crc32c(raw_.get() + raw_at_, unchecked_) != checksum_;
  if (corrupted_) raw_at_ = raw_end_ = 0;
  record_left_ = corrupted_ ? 0 : unchecked_;
  unchecked_ = 0;
  return !corrupted_;
}

platform::StreamResult RecordStream::pull(platform::Stream& stream) {
  for (;;) {
    if (kept_at_ > kept_.size() / 2) {
      kept_.erase(0, kept_at_);
      kept_at_ = 0;
    }
    const std::size_t before = kept_.size();
    if (before - kept_at_ > window_) {
      malformed_ = true;
      return brokenEnd();
    }
    kept_.resize(before + kPullBytes);
    const iovec piece{kept_.data() + before, kPullBytes};
    Pieces pieces(std::span(&piece, 1));
    const platform::StreamResult result = readInto(stream, pieces);
    kept_.resize(before + pieces.done());
    if (result.ended) return result;
    if (pieces.done() < kPullBytes) return {};
  }
}

std::size_t RecordStream::takeKept(Pieces& to) {
  const std::size_t size = std::min(kept_.size() - kept_at_, to.left());
  if (size == 0) return 0;
  to.put(kept_.data() + kept_at_, size);
  kept_at_ += size;
  if (kept_at_ == kept_.size()) {
    kept_.clear();
    kept_at_ = 0;
  }
  return size;
}

std::size_t RecordStream::readKept(std::span<const iovec> to) {
  Pieces pieces(to);
  takeKept(pieces);
  if (pieces.left() > 0) unpack(pieces);
  use(pieces.done());
  return pieces.done();
}

void RecordStream::use(std::size_t bytes) {
  used_ += bytes;
  if (used_ - last_acknowledgement_ >= acknowledge_every_) acknowledge_now_ = true;
}

void RecordStream::dropInput() {
  kept_ = {};
  kept_at_ = 0;
}

platform::StreamResult RecordStream::write(platform::Stream& stream, std::span<const iovec> from) {
  Pieces pieces(from);
  while (pieces.left() > 0 && !restarting_) {
    if (hasUnsent()) {
      const platform::StreamResult flushed = flush(stream);
      // Bytes that this stream took are kept and will be sent again, so the connection's end is no result of this call.
      if (flushed.ended && pieces.done() == 0) return flushed;
      if (flushed.ended || hasUnsent()) break;
    }
    const std::size_t size = std::min({pieces.left(), maxInRecord(), window_ - ring_.size()});
    if (size == 0) break;
    for (std::size_t taken = 0; taken < size;) {
      const iovec piece = pieces.front(size - taken);
      ring_.append(piece.iov_base, piece.iov_len);
      pieces.skip(piece.iov_len);
      taken += piece.iov_len;
    }
    written_ += size;
  }
  if (hasUnsent()) flush(stream);
  return {pieces.done(), false, 0};
}

platform::StreamResult RecordStream::flush(platform::Stream& stream) {
  if (stream.hasOutput()) stream.flush();
  while (inRecord() || beginRecord()) {
    std::array<iovec, 3> pieces;
    std::size_t count = 0;
    if (header_left_ > 0) pieces[count++] = {header_.data() + (header_.size() - header_left_), header_left_};
    for (const iovec& piece : ring_.view(static_cast<std::size_t>(sent_ - acknowledged_), payload_left_))
      if (piece.iov_len > 0) pieces[count++] = piece;
    const std::size_t asked = header_left_ + payload_left_;
    const platform::StreamResult result = stream.write(std::span<const iovec>(pieces.data(), count));
    if (result.ended) {
      // EPIPE only says that an end has come, or that this end has closed.
      if (result.error != 0 && result.error != EPIPE && !first_error_) first_error_ = result;
      return result;
    }
    const std::size_t of_header = std::min(result.bytes, header_left_);
    header_left_ -= of_header;
    payload_left_ -= result.bytes - of_header;
    sent_ += result.bytes - of_header;
    if (result.bytes < asked) break;
  }
  return {};
}

/// False: there is nothing to send.
bool RecordStream::beginRecord() {
  const std::uint64_t unsent = restarting_ ? 0 : written_ - sent_;
  if (unsent == 0 && !acknowledge_now_) return false;
  // The first record of a connection that replaces another one only says how many bytes have arrived.
  const bool first = acknowledge_first_;
  payload_left_ = first ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(unsent, maxInRecord()));
  header_ = encodeRecordHeader({static_cast<std::uint32_t>(payload_left_), used_, payloadChecksum()}, checked_);
  header_left_ = header_.size();
  last_acknowledgement_ = used_;
  acknowledge_now_ = false;
  acknowledge_first_ = false;
  return true;
}

/// Checksum of the payload of the record that begins.
std::uint32_t RecordStream::payloadChecksum() const {
  std::uint32_t checksum = 0;
  if (!checked_) return checksum;
  for (const iovec& piece : ring_.view(static_cast<std::size_t>(sent_ - acknowledged_), payload_left_))
    checksum = platform::crc32c(piece.iov_base, piece.iov_len, checksum);
  return checksum;
}

void RecordStream::restart() {
  restarting_ = true;
  corrupted_ = false;
  header_left_ = payload_left_ = 0;
  raw_at_ = raw_end_ = unchecked_ = record_left_ = 0;
  dropInput();
  first_error_.reset();
  end_ = {};
  acknowledge_now_ = acknowledge_first_ = true;
}

bool RecordStream::hasInput() const {
  if (unchecked_ > 0) return kept_at_ < kept_.size() || raw() >= unchecked_;
  return kept_at_ < kept_.size() || (record_left_ > 0 && raw() > 0) || raw() >= kRecordHeaderBytes;
}

bool RecordStream::awaitsSpace() const { return inRecord() || acknowledge_now_ || (!restarting_ && sent_ < written_); }

} // namespace goss::transports::tcp

#include "transports/shm/ring.h"

#include <algorithm>
#include <cstring>

namespace goss::transports::shm {

namespace {

std::size_t padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t briefBytes(std::uint64_t bytes) { return padded(sizeof(RecordHeader) + static_cast<std::size_t>(bytes)); }

} // namespace

RingWriter::RingWriter(const Segment& segment)
    : control_(&segment.outControl()),
      bytes_(segment.outBytes()),
      mask_(segment.ringBytes() - 1),
      piece_bytes_(std::min(kMaxPieceBytes, segment.ringBytes() / 4)) {}

// Free bytes of the ring; looks at the consumer's position only when the one seen last does not give `wanted`.
std::size_t RingWriter::room(std::size_t wanted) {
  std::uint64_t free = mask_ + 1 - (tail_ - seen_head_);
  if (free >= wanted) return static_cast<std::size_t>(free);
  std::uint64_t head = control_->head.load(std::memory_order_seq_cst); // See RingReader::empty().
  // A head that is not between the last one and the tail is a broken peer's; then there is no room, ever.
  if (tail_ - head <= tail_ - seen_head_ && head % kLine == 0) seen_head_ = head;
  return static_cast<std::size_t>(mask_ + 1 - (tail_ - seen_head_));
}

// Records of less than a piece cost more than they carry, so a long message waits for room for one.
std::size_t RingWriter::wantedRoom(std::uint64_t left) const {
  return kLine + padded(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes_)));
}

bool RingWriter::hasRoomFor(std::uint64_t bytes, const Outgoing& progress) {
  bool brief = !progress.started && bytes <= kShortBytes;
  std::size_t wanted = brief ? briefBytes(bytes) : wantedRoom(bytes - progress.written);
  return room(wanted) >= wanted;
}

// The seq_cst store pairs with the sleeper's: either it sees the record, or we see that it sleeps.
void RingWriter::publish(std::size_t bytes) {
  tail_ += bytes;
  control_->tail.store(tail_, std::memory_order_seq_cst);
  published_ = true;
}

bool RingWriter::write(const MessageHeader& header, Outgoing& progress) {
  RecordHeader record{RecordKind::brief, 0, header.bytes, header.tag, header.envelope};
  if (!progress.started && header.bytes <= kShortBytes) {
    std::size_t bytes = briefBytes(header.bytes);
    if (room(bytes) < bytes) return false;
    record.piece_bytes = static_cast<std::uint32_t>(header.bytes);
    std::memcpy(at(), &record, sizeof record);
    progress.cursor.gather({at() + sizeof record, static_cast<std::size_t>(header.bytes)});
    publish(bytes);
    progress.started = true;
    progress.written = header.bytes;
    return true;
  }
  while (progress.written < header.bytes) {
    std::uint64_t left = header.bytes - progress.written;
    std::size_t wanted = wantedRoom(left);
    if (room(wanted) < wanted) return false;
    auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes_));
    record.kind = progress.started ? RecordKind::more : RecordKind::first;
    record.piece_bytes = static_cast<std::uint32_t>(piece);
    std::memcpy(at(), &record, sizeof record);
    progress.cursor.gather({at() + kLine, piece});
    publish(kLine + padded(piece));
    progress.started = true;
    progress.written += piece;
  }
  return true;
}

bool RingWriter::writeDirect(const MessageHeader& header, std::span<const std::byte> description) {
  const std::size_t bytes = kLine + padded(description.size());
  if (room(bytes) < bytes) return false;
  const RecordHeader record{RecordKind::direct, static_cast<std::uint32_t>(description.size()), header.bytes,
                            header.tag, header.envelope};
  std::memcpy(at(), &record, sizeof record);
  std::memcpy(at() + kLine, description.data(), description.size());
  publish(bytes);
  return true;
}

RingReader::RingReader(const Segment& segment)
    : control_(&segment.inControl()), bytes_(segment.inBytes()), mask_(segment.ringBytes() - 1) {}

RingReader::Peek RingReader::peek(Record& record) {
  if (seen_tail_ == head_) {
    std::uint64_t tail = control_->tail.load(std::memory_order_acquire);
    if (tail == head_) return Peek::none;
    if (tail - released_ > mask_ + 1 || tail - head_ > tail - released_ || tail % kLine != 0) return Peek::corrupt;
    seen_tail_ = tail;
  }
  const std::uint64_t present = seen_tail_ - head_;
  const std::byte* start = bytes_ + (head_ & mask_);
  std::memcpy(&record.header, start, sizeof record.header);
  const RecordHeader& header = record.header;
  bool brief = header.kind == RecordKind::brief;
  const bool longer = header.kind == RecordKind::first || header.kind == RecordKind::more;
  if (!brief && !longer && header.kind != RecordKind::direct) return Peek::corrupt;
  std::size_t offset = brief ? sizeof header : kLine;
  record.ring_bytes = padded(offset + header.piece_bytes);
  if (record.ring_bytes > present) return Peek::corrupt;
  if (brief ? header.bytes != header.piece_bytes : header.piece_bytes == 0) return Peek::corrupt;
  record.payload = {start + offset, header.piece_bytes};
  return Peek::record;
}

bool RingReader::release() {
  if (released_ == head_) return false;
  released_ = head_;
  control_->head.store(head_, std::memory_order_seq_cst);
  return true;
}

} // namespace goss::transports::shm

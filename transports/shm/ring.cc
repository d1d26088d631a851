#include "transports/shm/ring.h"

#include <algorithm>
#include <cstring>

namespace goss::transports::shm {

namespace {

std::size_t padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t briefBytes(std::uint64_t bytes) { return padded(sizeof(RecordHeader) + static_cast<std::size_t>(bytes)); }

} // namespace

RingWriter::RingWriter(const Segment& segment, bool fenced)
    : control_(&segment.outControl()),
      reader_side_(&segment.theirSide()),
      fenced_(fenced),
      bytes_(segment.outBytes()),
      mask_(segment.ringBytes() - 1),
      piece_bytes_(std::min(kMaxPieceBytes, segment.ringBytes() / 4)) {}

// Whether so many bytes are free, and the line behind them. Looks at the consumer's position only when the one seen
// last says no.
bool RingWriter::hasRoom(std::size_t wanted) {
  wanted += kLine;
  if (mask_ + 1 - (tail_ - seen_head_) >= wanted) return true;
  std::uint64_t head = control_->head.load(std::memory_order_seq_cst); // See RingReader::empty().
  // A head that is not between the last one and the tail is a broken peer's; then there is no room, ever.
  if (tail_ - head <= tail_ - seen_head_ && head % kLine == 0) seen_head_ = head;
  return mask_ + 1 - (tail_ - seen_head_) >= wanted;
}

// Records of less than a piece cost more than they carry, so a long message waits for room for one.
std::size_t RingWriter::wantedRoom(std::uint64_t left) const {
  return kLine + padded(static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes_)));
}

bool RingWriter::hasRoomFor(std::uint64_t bytes, const Outgoing& progress) {
  bool brief = !progress.started && bytes <= kShortBytes;
  return hasRoom(brief ? briefBytes(bytes) : wantedRoom(bytes - progress.written));
}

// All but the kind, which publish() writes. Field by field: what was just written in small parts would be read again in
// larger ones by a copy, and the processor forwards no such thing from one to the other.
template <typename Header>
void RingWriter::put(const Header& header, std::size_t piece_bytes) {
  RecordHeader& record = *reinterpret_cast<RecordHeader*>(at());
  record.piece_bytes = static_cast<std::uint32_t>(piece_bytes);
  record.bytes = header.bytes;
  record.tag = header.tag;
  record.envelope = header.envelope;
}

// A reader that sleeps must see the record, or we that it sleeps. Either it passes a fence on our behalf before it
// looks for the last time, or the kind is stored with one; a fence here waits until the line has come, which costs more
// than all the rest of a short message.
void RingWriter::publish(RecordKind kind, std::size_t bytes) {
  const auto kindAt = [this](std::uint64_t position) {
    return std::atomic_ref(*reinterpret_cast<RecordKind*>(bytes_ + (position & mask_)));
  };
  kindAt(tail_ + bytes).store(RecordKind::none, std::memory_order_relaxed);
  if (fenced_ && reader_side_->fences_all.load(std::memory_order_relaxed) != 0) {
    kindAt(tail_).store(kind, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst); // Nor may the compiler look at the sleeper first.
  } else {
    kindAt(tail_).store(kind, std::memory_order_seq_cst);
  }
  tail_ += bytes;
  published_ = true;
}

bool RingWriter::writeBrief(const SendOperation& message) {
  const std::size_t bytes = briefBytes(message.bytes);
  if (!hasRoom(bytes)) return false;
  put(message, message.bytes);
  std::byte* payload = at() + sizeof(RecordHeader);
  if (message.bytes > 0 && message.pieces.size() == 1) {
    std::memcpy(payload, message.pieces.front().iov_base, message.bytes);
  } else {
    PieceCursor(message.pieces).gather({payload, message.bytes});
  }
  publish(RecordKind::brief, bytes);
  return true;
}

bool RingWriter::write(const MessageHeader& header, Outgoing& progress) {
  if (!progress.started && header.bytes <= kShortBytes) {
    std::size_t bytes = briefBytes(header.bytes);
    if (!hasRoom(bytes)) return false;
    put(header, static_cast<std::size_t>(header.bytes));
    progress.cursor.gather({at() + sizeof(RecordHeader), static_cast<std::size_t>(header.bytes)});
    publish(RecordKind::brief, bytes);
    progress.started = true;
    progress.written = header.bytes;
    return true;
  }
  while (progress.written < header.bytes) {
    std::uint64_t left = header.bytes - progress.written;
    if (!hasRoom(wantedRoom(left))) return false;
    auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_bytes_));
    put(header, piece);
    progress.cursor.gather({at() + kLine, piece});
    publish(progress.started ? RecordKind::more : RecordKind::first, kLine + padded(piece));
    progress.started = true;
    progress.written += piece;
  }
  return true;
}

bool RingWriter::writeDirect(const MessageHeader& header, std::span<const std::byte> description) {
  const std::size_t bytes = kLine + padded(description.size());
  if (!hasRoom(bytes)) return false;
  put(header, description.size());
  std::memcpy(at() + kLine, description.data(), description.size());
  publish(RecordKind::direct, bytes);
  return true;
}

RingReader::RingReader(const Segment& segment)
    : control_(&segment.inControl()), bytes_(segment.inBytes()), mask_(segment.ringBytes() - 1) {}

RingReader::Peek RingReader::peek(Record& record) {
  const RecordKind kind = kindAt(head_, std::memory_order_acquire);
  if (kind == RecordKind::none) return Peek::none;
  const std::byte* start = bytes_ + (head_ & mask_);
  auto& header = *reinterpret_cast<RecordHeader*>(bytes_ + (head_ & mask_));
  const std::uint32_t piece_bytes = std::atomic_ref(header.piece_bytes).load(std::memory_order_relaxed); // Once.
  record.kind = kind;
  record.message.tag = header.tag;
  record.message.bytes = std::atomic_ref(header.bytes).load(std::memory_order_relaxed);
  record.message.envelope = header.envelope;
  bool brief = kind == RecordKind::brief;
  if (!brief && kind != RecordKind::first && kind != RecordKind::more && kind != RecordKind::direct) {
    return Peek::corrupt;
  }
  std::size_t offset = brief ? sizeof header : kLine;
  record.ring_bytes = padded(offset + piece_bytes);
  if (record.ring_bytes + kLine > mask_ + 1 - unreleased()) return Peek::corrupt; // There never was room for it.
  if (brief ? record.message.bytes != piece_bytes : piece_bytes == 0) return Peek::corrupt;
  record.payload = {start + offset, piece_bytes};
  return Peek::record;
}

bool RingReader::release() {
  if (released_ == head_) return false;
  released_ = head_;
  control_->head.store(head_, std::memory_order_seq_cst);
  return true;
}

} // namespace goss::transports::shm

#include "transports/shm/ring.h"

#include <algorithm>
#include <cstring>

namespace goss::transports::shm {

RingWriter::RingWriter(const Segment& segment, bool fenced)
    : control_(&segment.outControl()),
      reader_side_(&segment.theirSide()),
      fenced_(fenced),
      bytes_(segment.outBytes()),
      mask_(segment.ringBytes() - 1),
      piece_bytes_(std::min(kMaxPieceBytes, segment.ringBytes() / 4)) {}

bool RingWriter::hasSpaceNow(std::size_t wanted) const {
  std::uint64_t head = control_->head.load(std::memory_order_seq_cst); // See RingReader::empty().
  // A position that is not between the last one and the tail comes from a broken peer; then there never is space again.
  if (tail_ - head <= tail_ - seen_head_ && head % kUnit == 0) seen_head_ = head;
  return mask_ + 1 - (start() - seen_head_) >= wanted;
}

// Records of less than a piece cost more than they carry, so a long message waits for space for a whole one.
bool RingWriter::hasSpaceFor(std::uint64_t bytes) const {
  const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, std::max(piece_bytes_, kShortBytes)));
  return hasSpace(kLine + padded(piece) + kGapBytes);
}

void RingWriter::writeShort(const MessageHeader& header, PieceCursor from) {
  const std::size_t bytes = briefBytes(header.bytes);
  from.gather({at() + payloadAt(header.bytes), static_cast<std::size_t>(header.bytes)}, copy_);
  put(header, static_cast<std::size_t>(header.bytes), bytes);
  publish(start(), RecordKind::brief, bytes);
  if (header.bytes <= kMaxRepeatBytes) rememberForRepeat(header.tag, header.envelope);
}

std::size_t RingWriter::writePiece(RecordKind kind, const MessageHeader& header, PieceCursor& from,
                                   std::uint64_t allowed) {
  const std::size_t most = header.bytes <= kPipelinedBytes ? kPipelinedPieceBytes : piece_bytes_;
  const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(allowed, most));
  if (piece > 0) from.gather({at() + kLine, piece}, copy_);
  put(header, piece, kLine + padded(piece));
  if (kind == RecordKind::first) reinterpret_cast<FirstRecord*>(at())->ahead = allowed;
  publish(start(), kind, kLine + padded(piece));
  return piece;
}

void RingWriter::writeControl(RecordKind kind, Tag tag, std::uint64_t number) {
  put({tag, number, {}}, 0, kLine);
  publish(start(), kind, kLine);
}

bool RingWriter::writeDirect(const MessageHeader& header, std::span<const std::byte> description) {
  const std::size_t bytes = kLine + padded(description.size());
  if (!hasSpace(bytes)) return false;
  std::memcpy(at() + kLine, description.data(), description.size());
  put(header, description.size(), bytes);
  publish(start(), RecordKind::direct, bytes);
  return true;
}

RingReader::RingReader(const Segment& segment)
    : control_(&segment.inControl()), bytes_(segment.inBytes()), mask_(segment.ringBytes() - 1) {}

bool RingReader::release() {
  if (released_ == head_) return false;
  released_ = head_;
  control_->head.store(head_, std::memory_order_seq_cst);
  return true;
}

} // namespace goss::transports::shm

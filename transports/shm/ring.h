/// Records in a ring with one producer and one consumer, in two processes.
///
/// A message is one record or, where it goes in parts, a first record and any number of further ones, between which
/// records of other messages may be. A record starts at a multiple of 64 bytes and is padded to one, and to a gap
/// (kGapBytes) where it is of a few lines. The shortest messages are an exception: those that repeat the tag and the
/// envelope of the short message before them leave both out, and several share a line. Both ends are on one host, so
/// integers are in its byte order.
///
/// Messages above kShortBytes that are not described (direct.h) go in parts, and so do others, but for control
/// messages, while the receiver is oversubscribed: it keeps more than half of GOSS_UNEXPECTED_BYTES without a receive.
/// The other half is its room, the limit of credit for parts.
///
/// The reader polls the address where the next record will begin. The writer writes the record's kind last, so that a
/// short message transfers one cache line or less. Before the writer publishes a record it clears the kind of the next
/// one, for which it keeps a line of the ring free.
#ifndef GOSS_TRANSPORTS_SHM_RING_H_
#define GOSS_TRANSPORTS_SHM_RING_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "base/cache_lines.h"
#include "gossamer/message.h"
#include "platform/memory/adaptive_copy.h"
#include "transports/common/message_header.h"
#include "transports/common/piece_cursor.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// The kind is also the magic number: a consumer that finds any other value reports a corrupt ring.
enum class RecordKind : std::uint32_t {
  none = 0,            ///< No record is here yet.
  brief = 0x47530001,  ///< A whole message, its bytes where payloadAt() says.
  first = 0x47530002,  ///< A FirstRecord: the beginning of a message in parts, its bytes 64 behind the record's start.
  direct = 0x47530004, ///< A whole message, described by a DirectMessage 64 behind the record's start.
  more = 0x47530003,   ///< Further bytes of the message whose number, among those that began with `first`, is `tag`.
  /// A whole message of at most kMaxRepeatBytes with the tag and the envelope of the last brief message that was as
  /// short: only kind and piece_bytes, then its bytes.
  repeat = 0x47530005,
  align = 0x47530006, ///< Filler up to the next line, where a record begins. Only the kind is valid.
  // Records without payload: a ControlFrame each, its number in `bytes`.
  grant = 0x47530007,
  skip = 0x47530008,
  cut = 0x47530009,
  credit = 0x4753000a,
};

constexpr bool isControl(RecordKind kind) { return kind >= RecordKind::grant && kind <= RecordKind::credit; }
/// Whether records of this kind begin at a cache line and are padded to whole lines.
constexpr bool takesLines(RecordKind kind) {
  return (kind >= RecordKind::first && kind <= RecordKind::direct) || isControl(kind);
}

struct RecordHeader {
  RecordKind kind;
  std::uint32_t piece_bytes; ///< Payload in this record. A multiple of 64, except in the last record of a message.
  std::uint64_t bytes;       ///< Payload of the whole message.
  std::uint64_t tag;
  Envelope envelope;
};
static_assert(sizeof(RecordHeader) == 48); // 16 bytes of payload share the header's cache line, and stay aligned to 16.

struct FirstRecord {
  RecordHeader header;
  std::uint64_t ahead; ///< Bytes of the message that come without a grant.
};

inline constexpr std::size_t kLine = base::kCacheLineBytes;
inline constexpr std::size_t kHeaderLinePayloadBytes = kLine - sizeof(RecordHeader);
/// Records of kind `repeat` begin at multiples of kUnit.
inline constexpr std::size_t kUnit = 16;
inline constexpr std::size_t kRepeatHeaderBytes = offsetof(RecordHeader, bytes);
/// Two such records fit a line. A whole line for each was slower than the two lines that a brief record takes (32
/// bytes: 5.9 instead of 5.2 us a window), and a line and a half no faster.
inline constexpr std::size_t kMaxRepeatBytes = kLine / 2 - kRepeatHeaderBytes;
/// Longer messages may be cut into several records.
inline constexpr std::size_t kShortBytes = 16 * 1024;
/// Whole messages of up to this many bytes begin in the line of their header. Longer ones lose nothing by a line of
/// their own, and a reader that reduces out of the ring reads whole lines.
inline constexpr std::size_t kSharedLineBytes = 4096;
/// A reader prefetches all lines of a short message at once, before it knows what is in them: half of a round trip of
/// 256 bytes takes 0.16 instead of 0.17 us, of 2 KiB 0.29 instead of 0.30.
inline constexpr std::size_t kMinFetchedBytes = 128;
inline constexpr std::size_t kMaxFetchedBytes = 4096;
/// The writer leaves a gap of kGapBytes behind a whole message of at least kMinGapBytes, because the reader's processor
/// prefetches lines behind those that it reads (base::kPrefetchedBytes), and without the gap these would be lines of
/// the next record, which the writer is about to write. With gaps half of a round trip of 1, 2 and 4 KiB takes 0.22,
/// 0.29 and 0.49 us instead of 0.26, 0.36 and 0.64 us. Between the records of a long message gaps gain nothing, because
/// the writer has mostly written the lines ahead by then.
inline constexpr std::size_t kMinGapBytes = 512;
inline constexpr std::size_t kGapBytes = base::kPrefetchedBytes;
inline constexpr std::size_t kMaxPieceBytes = 64 * 1024;
/// Messages between kShortBytes and this are cut into pieces of kPipelinedPieceBytes, so that the reader copies one
/// while the next is written. Where more bytes follow anyway that gained nothing: all-reduces of 256 KiB to 1 MiB took
/// 3 % longer with short pieces at the beginning.
inline constexpr std::size_t kPipelinedBytes = 64 * 1024;
inline constexpr std::size_t kPipelinedPieceBytes = 8 * 1024;

/// Bytes of a record that takes whole lines.
inline std::size_t padded(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
/// Bytes of a record of kind `repeat`: a quarter of a line, or a half.
inline std::size_t repeatBytes(std::size_t bytes) { return std::bit_ceil(std::max(kRepeatHeaderBytes + bytes, kUnit)); }
/// Offset, from the beginning of its record, of the bytes of a message of at most kShortBytes.
inline std::size_t payloadAt(std::uint64_t bytes) { return bytes > kSharedLineBytes ? kLine : sizeof(RecordHeader); }
/// Bytes of the record of a message of at most kShortBytes.
inline std::size_t briefBytes(std::uint64_t bytes) {
  return padded(payloadAt(bytes) + static_cast<std::size_t>(bytes)) + (bytes >= kMinGapBytes ? kGapBytes : 0);
}

/// The producer's end. One thread of one process.
class RingWriter {
 public:
  RingWriter() = default;
  /// `fenced`: the fences that the reader passes on behalf of others also reach this process.
  explicit RingWriter(const Segment& segment, bool fenced = false);

  /// Writes a message of at most kShortBytes. False: there is no space.
  bool writeBrief(Tag tag, const Envelope& envelope, std::span<const std::byte> bytes);
  /// Writes a record of kind `direct` for a message that is described by `description`. False: there is no space.
  bool writeDirect(const MessageHeader& header, std::span<const std::byte> description);
  /// Whether there is space for any record with payload of so many bytes, or for a piece of it.
  [[nodiscard]] bool hasSpaceFor(std::uint64_t bytes) const;
  // Writes a message of at most kShortBytes for which hasSpaceFor() holds.
  void writeShort(const MessageHeader& header, PieceCursor from);
  /// Writes the first of `allowed` bytes from `from` on, which it moves; returns how many. `kind`: `first`, where all
  /// `allowed` bytes come without a grant, or `more`; then the tag is the message's number.
  std::size_t writePiece(RecordKind kind, const MessageHeader& header, PieceCursor& from, std::uint64_t allowed);
  void writeControl(RecordKind kind, Tag tag, std::uint64_t number);
  /// Whether the processors of both sides share no cache, as far as copies into the ring have shown.
  [[nodiscard]] bool isFar() const { return copy_.pastCaches(); }
  /// Whether a record was published since the last call.
  bool takePublished() { return std::exchange(published_, false); }

 private:
  [[nodiscard]] bool hasSpace(std::size_t wanted) const;
  [[nodiscard]] bool hasSpaceNow(std::size_t wanted) const;
  void put(Tag tag, const Envelope& envelope, std::uint64_t bytes, std::size_t piece_bytes, std::size_t record_bytes);
  void put(const MessageHeader& header, std::size_t piece_bytes, std::size_t record_bytes) {
    put(header.tag, header.envelope, header.bytes, piece_bytes, record_bytes);
  }
  void clearKindAt(std::uint64_t position) { kindAt(position).store(RecordKind::none, std::memory_order_relaxed); }
  bool writeRepeat(std::span<const std::byte> bytes);
  void rememberForRepeat(Tag tag, const Envelope& envelope) {
    repeatable_ = true;
    last_tag_ = tag;
    last_envelope_ = envelope;
  }
  void publish(std::uint64_t start, RecordKind kind, std::size_t bytes);
  [[nodiscard]] std::atomic_ref<RecordKind> kindAt(std::uint64_t position) const {
    return std::atomic_ref(*reinterpret_cast<RecordKind*>(bytes_ + (position & mask_)));
  }
  /// Where a record that takes whole lines begins.
  [[nodiscard]] std::uint64_t start() const { return padded(tail_); }
  [[nodiscard]] std::byte* at() const { return bytes_ + (start() & mask_); }

  RingControl* control_ = nullptr;
  const SideControl* reader_side_ = nullptr;
  bool fenced_ = false;
  std::byte* bytes_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t tail_ = 0;
  /// The last head that was read: reading the shared one costs a cache miss, and happens only when this one says full.
  mutable std::uint64_t seen_head_ = 0;
  std::size_t piece_bytes_ = 0;
  platform::AdaptiveCopy copy_;
  bool published_ = false;
  bool repeatable_ = false; ///< The next message may repeat the last one, whose tag and envelope follow.
  Tag last_tag_ = 0;
  Envelope last_envelope_{};
};

/// The consumer's end. One thread of one process. Trusts nothing that it reads.
class RingReader {
 public:
  struct Record {
    RecordKind kind = RecordKind::none;
    MessageHeader message;   ///< Copied out of the ring before it is checked.
    std::uint64_t ahead = 0; ///< For `first`: bytes that come without a grant.
    std::span<const std::byte> payload;
    std::size_t ring_bytes = 0;
  };
  enum class Peek { none, record, corrupt };

  RingReader() = default;
  explicit RingReader(const Segment& segment);

  /// Whether the ring is empty. seq_cst, because a rank asks that has just announced its sleep.
  [[nodiscard]] bool empty() const { return kindAt(head_, std::memory_order_seq_cst) == RecordKind::none; }
  /// Reads the oldest record. `corrupt`: the producer wrote something that is no record.
  Peek peek(Record& record);
  /// Takes the peeked record off; its payload is overwritten after release().
  void pop(const Record& record) { head_ += record.ring_bytes; }
  /// Prefetches the line in which the record behind the peeked one will be.
  void prefetchBehind(const Record& record) const {
    __builtin_prefetch(bytes_ + ((head_ + record.ring_bytes) & mask_));
  }
  /// Gives the popped bytes back to the producer. Returns whether there were any.
  bool release();
  /// Bytes popped and not released.
  [[nodiscard]] std::uint64_t unreleased() const { return head_ - released_; }

 private:
  [[nodiscard]] RecordKind kindAt(std::uint64_t position, std::memory_order order) const {
    return std::atomic_ref(*reinterpret_cast<RecordKind*>(bytes_ + (position & mask_))).load(order);
  }
  Peek peekRepeat(Record& record) const;

  RingControl* control_ = nullptr;
  std::byte* bytes_ = nullptr; ///< Only read; not const, because std::atomic_ref requires that.
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t released_ = 0;
  bool repeatable_ = false; ///< The reader's copy of the writer's state:
  Tag last_tag_ = 0;
  Envelope last_envelope_{};
};

// Inline, because these functions are most of the cost of a short message.

// Whether so many bytes are free, and the line behind them. Reads the consumer's position only when the last one that
// was read says no.
inline bool RingWriter::hasSpace(std::size_t wanted) const {
  return mask_ + 1 - (start() - seen_head_) >= wanted + kLine || hasSpaceNow(wanted + kLine);
}

// Writes the header without its kind, which publish() writes. It comes after the other lines of the record, because the
// reader polls this line, and would take it away from a writer that touches another line between two stores to it.
// Field by field: a copy would read in large parts what was just written in small ones, and processors do not forward
// such stores.
inline void RingWriter::put(Tag tag, const Envelope& envelope, std::uint64_t bytes, std::size_t piece_bytes,
                            std::size_t record_bytes) {
  clearKindAt(start() + record_bytes);
  RecordHeader& record = *reinterpret_cast<RecordHeader*>(at());
  record.piece_bytes = static_cast<std::uint32_t>(piece_bytes);
  record.bytes = bytes;
  record.tag = tag;
  record.envelope = envelope;
}

// A reader that sleeps must see the record, or this side must see that it sleeps. Either the reader passes a fence on
// behalf of this process before its last look, or the kind is stored with a fence; a fence here waits until the cache
// line has come, which costs more than the rest of a short message.
inline void RingWriter::publish(std::uint64_t start, RecordKind kind, std::size_t bytes) {
  if (start != tail_) kindAt(start).store(std::exchange(kind, RecordKind::align), std::memory_order_relaxed);
  if (fenced_ && reader_side_->fences_all.load(std::memory_order_relaxed) != 0) {
    kindAt(tail_).store(kind, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst); // Keeps the compiler from reading the sleeper's flag first.
  } else {
    kindAt(tail_).store(kind, std::memory_order_seq_cst);
  }
  tail_ = start + bytes;
  published_ = true;
}

inline bool RingWriter::writeRepeat(std::span<const std::byte> bytes) {
  const std::size_t record_bytes = repeatBytes(bytes.size());
  if (!hasSpace(record_bytes)) return false;
  clearKindAt(tail_ + record_bytes);
  RecordHeader& record = *reinterpret_cast<RecordHeader*>(bytes_ + (tail_ & mask_));
  record.piece_bytes = static_cast<std::uint32_t>(bytes.size());
  if (!bytes.empty()) std::memcpy(&record.bytes, bytes.data(), bytes.size());
  publish(tail_, RecordKind::repeat, record_bytes);
  return true;
}

inline bool RingWriter::writeBrief(Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) {
  const bool repeatable = bytes.size() <= kMaxRepeatBytes;
  // Envelopes are compared by operator==, byte by byte.
  const bool repeats = repeatable && repeatable_ && tag == last_tag_ &&
                       std::memcmp(envelope.data(), last_envelope_.data(), sizeof envelope) == 0;
  if (repeats) return writeRepeat(bytes);
  const std::size_t record_bytes = briefBytes(bytes.size());
  if (!hasSpace(record_bytes)) return false;
  std::byte* const to = at() + payloadAt(bytes.size());
  const std::size_t beside = bytes.size() > kSharedLineBytes ? 0 : std::min(bytes.size(), kHeaderLinePayloadBytes);
  const std::span<const std::byte> rest = bytes.subspan(beside);
  copy_.copy(to + beside, rest.data(), rest.size());
  put(tag, envelope, bytes.size(), bytes.size(), record_bytes);
  if (beside > 0) std::memcpy(to, bytes.data(), beside);
  publish(start(), RecordKind::brief, record_bytes);
  if (repeatable) rememberForRepeat(tag, envelope);
  return true;
}

inline RingReader::Peek RingReader::peekRepeat(Record& record) const {
  const std::byte* start = bytes_ + (head_ & mask_);
  auto& header = *reinterpret_cast<RecordHeader*>(bytes_ + (head_ & mask_));
  const std::uint32_t piece_bytes = std::atomic_ref(header.piece_bytes).load(std::memory_order_relaxed); // Loaded once.
  if (!repeatable_ || piece_bytes > kMaxRepeatBytes) return Peek::corrupt;
  record.kind = RecordKind::brief;
  record.message.tag = last_tag_;
  record.message.bytes = piece_bytes;
  record.message.envelope = last_envelope_;
  record.ring_bytes = repeatBytes(piece_bytes);
  if (record.ring_bytes + kLine > mask_ + 1 - unreleased()) return Peek::corrupt; // The ring never had space for it.
  record.payload = {start + kRepeatHeaderBytes, piece_bytes};
  return Peek::record;
}

inline RingReader::Peek RingReader::peek(Record& record) {
  RecordKind kind = kindAt(head_, std::memory_order_acquire);
  if (kind == RecordKind::none) return Peek::none;
  if (kind == RecordKind::repeat) return peekRepeat(record);
  if (kind == RecordKind::align && head_ % kLine != 0) {
    head_ = padded(head_);
    kind = kindAt(head_, std::memory_order_acquire);
  } else if (head_ % kLine != 0) {
    return Peek::corrupt;
  }
  const std::byte* start = bytes_ + (head_ & mask_);
  auto& header = *reinterpret_cast<RecordHeader*>(bytes_ + (head_ & mask_));
  const std::uint32_t piece_bytes = std::atomic_ref(header.piece_bytes).load(std::memory_order_relaxed); // Loaded once.
  if (piece_bytes >= kMinFetchedBytes && piece_bytes <= kMaxFetchedBytes) {
    for (std::size_t line = kLine; line < sizeof(RecordHeader) + piece_bytes; line += kLine)
      __builtin_prefetch(start + line);
  }
  record.kind = kind;
  record.message.tag = header.tag;
  record.message.bytes = std::atomic_ref(header.bytes).load(std::memory_order_relaxed);
  record.message.envelope = header.envelope;
  bool brief = kind == RecordKind::brief;
  if (!brief && !takesLines(kind)) return Peek::corrupt;
  std::size_t offset = brief ? payloadAt(piece_bytes) : kLine;
  record.ring_bytes = brief ? briefBytes(piece_bytes) : padded(offset + piece_bytes);
  if (record.ring_bytes + kLine > mask_ + 1 - unreleased()) return Peek::corrupt; // The ring never had space for it.
  if (brief ? record.message.bytes != piece_bytes : kind != RecordKind::first && isControl(kind) != (piece_bytes == 0))
    return Peek::corrupt;
  if (brief && piece_bytes <= kMaxRepeatBytes) {
    repeatable_ = true;
    last_tag_ = record.message.tag;
    last_envelope_ = record.message.envelope;
  }
  if (kind == RecordKind::first) record.ahead = reinterpret_cast<const FirstRecord*>(start)->ahead;
  record.payload = {start + offset, piece_bytes};
  return Peek::record;
}

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_RING_H_

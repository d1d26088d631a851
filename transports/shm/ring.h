/// Records in a ring with one producer and one consumer, in two processes.
///
/// A message is one record or, above kShortBytes, a first record and any number of further ones. A record starts at a
/// multiple of 64 bytes and is padded to one. Both ends are on one host, so integers are in its byte order.
///
/// The reader looks at the place where the next record will begin: its kind is written last, so a short message costs
/// one cache line to cross. The writer clears the kind of the record to come before it shows the current one, and keeps
/// a line of the ring free for that.
#ifndef GOSS_TRANSPORTS_SHM_RING_H_
#define GOSS_TRANSPORTS_SHM_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "gossamer/transport.h"
#include "transports/common/inflow.h"
#include "transports/common/piece_cursor.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// The kind is the magic: a consumer that meets anything else has lost the thread and says so.
enum class RecordKind : std::uint32_t {
  none = 0,            ///< Nothing is here yet.
  brief = 0x47530001,  ///< A whole message, its bytes right behind the header.
  first = 0x47530002,  ///< The beginning of a long message, its bytes 64 behind the record's start.
  direct = 0x47530004, ///< A whole message, described by a DirectMessage 64 behind the record's start.
  more = 0x47530003,   ///< Further bytes of it, 64 behind the record's start. Only kind and piece_bytes mean something.
};

struct RecordHeader {
  RecordKind kind;
  std::uint32_t piece_bytes; ///< Payload in this record. A multiple of 64, except in the last record of a message.
  std::uint64_t bytes;       ///< Payload of the whole message.
  std::uint64_t tag;
  Envelope envelope;
};
static_assert(sizeof(RecordHeader) == 48); // 16 bytes of payload share its cache line, and stay aligned to 16.

inline constexpr std::size_t kLine = 64;
/// Longer messages may be cut into several records.
inline constexpr std::size_t kShortBytes = 4096;
inline constexpr std::size_t kMaxPieceBytes = 64 * 1024;

/// How far a message that did not fit at once has come.
struct Outgoing {
  PieceCursor cursor;
  std::uint64_t written = 0;
  bool started = false;
};

/// The producer's end. One thread of one process.
class RingWriter {
 public:
  RingWriter() = default;
  /// `fenced`: fences that the reader passes on behalf of others reach this process.
  explicit RingWriter(const Segment& segment, bool fenced = false);

  /// Writes as much of the message as there is room for, publishes it and moves `progress` on. Returns whether the
  /// message is complete.
  bool write(const MessageHeader& header, Outgoing& progress);
  /// Writes a message of at most kShortBytes. False: no room.
  bool writeBrief(const SendOperation& message);
  /// Writes a record of kind `direct` for a message that is described by `description`. False: no room.
  bool writeDirect(const MessageHeader& header, std::span<const std::byte> description);
  /// Whether write() would do anything with a message of so many bytes.
  [[nodiscard]] bool hasRoomFor(std::uint64_t bytes, const Outgoing& progress);
  /// Whether anything was published since the last call.
  bool takePublished() { return std::exchange(published_, false); }

 private:
  [[nodiscard]] bool hasRoom(std::size_t wanted);
  [[nodiscard]] std::size_t wantedRoom(std::uint64_t left) const;
  template <typename Header>
  void put(const Header& header, std::size_t piece_bytes);
  void publish(RecordKind kind, std::size_t bytes);
  [[nodiscard]] std::byte* at() const { return bytes_ + (tail_ & mask_); }

  RingControl* control_ = nullptr;
  const SideControl* reader_side_ = nullptr;
  bool fenced_ = false;
  std::byte* bytes_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t seen_head_ = 0; ///< Reading the real one costs a cache miss, so only when this one says full.
  std::size_t piece_bytes_ = 0;
  bool published_ = false;
};

/// The consumer's end. One thread of one process. Trusts nothing that it reads.
class RingReader {
 public:
  struct Record {
    RecordKind kind = RecordKind::none;
    MessageHeader message; ///< Copied out of the ring before it was checked. Means nothing where `kind` is `more`.
    std::span<const std::byte> payload;
    std::size_t ring_bytes = 0;
  };
  enum class Peek { none, record, corrupt };

  RingReader() = default;
  explicit RingReader(const Segment& segment);

  /// seq_cst, because a rank that has just said that it sleeps asks.
  [[nodiscard]] bool empty() const { return kindAt(head_, std::memory_order_seq_cst) == RecordKind::none; }
  /// The oldest record. `corrupt`: the producer wrote something that is none.
  Peek peek(Record& record);
  /// Takes the peeked record off; its payload is overwritten after release().
  void pop(const Record& record) { head_ += record.ring_bytes; }
  /// Begins to fetch the line in which the record behind the peeked one will be.
  void prefetchBehind(const Record& record) const {
    __builtin_prefetch(bytes_ + ((head_ + record.ring_bytes) & mask_));
  }
  /// Gives what was popped back to the producer. Returns whether there was something.
  bool release();
  /// Popped and not released.
  [[nodiscard]] std::uint64_t unreleased() const { return head_ - released_; }

 private:
  [[nodiscard]] RecordKind kindAt(std::uint64_t position, std::memory_order order) const {
    return std::atomic_ref(*reinterpret_cast<RecordKind*>(bytes_ + (position & mask_))).load(order);
  }

  RingControl* control_ = nullptr;
  std::byte* bytes_ = nullptr; ///< Only read; std::atomic_ref wants it so.
  std::uint64_t mask_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t released_ = 0;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_RING_H_

/// Small collectives between ranks of one host without messages: each rank writes its bytes on its board once, and
/// reads those of the others (gossamer/board.h). It is the one part of the library that runs no schedule; its results
/// are those of the algorithm "flat" (collectives/flat.h), which the planner takes where boards cannot be used.
#ifndef GOSS_LIB_BOARDS_BOARD_CHANNEL_H_
#define GOSS_LIB_BOARDS_BOARD_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "call/call.h"
#include "gossamer/board.h"
#include "platform/memory/adaptive_copy.h"
#include "platform/thread_safety.h"

namespace goss {

class Operation;

/// A collective on the board, as one rank sees it. Filled in by BoardChannel::bind().
struct BoardCollective {
  Collective collective = Collective::barrier;
  DType dtype = GOSS_INT8;
  ReduceOp op = GOSS_SUM;
  double scale = 1;
  int root = -1;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::uint64_t count = 0; ///< Elements of the vector or of one rank's block.
  std::uint64_t bytes = 0; ///< Bytes of these elements.
  std::uint64_t posts = 0; ///< Bytes that this rank writes.
  int first = 0;           ///< This rank reads from the ranks first .. end - 1.
  int end = 0;
  bool gathers_first = false;      ///< This rank writes only after all others have written (barrier on rank 0).
  bool needs_copy = false;         ///< This rank's own bytes are to be read from its board, not from the input.
  std::uint32_t behind_stride = 0; ///< Bytes of a place behind the slots; 0: the bytes follow their slot.
  std::uint32_t behind_places = 0; ///< Number of such places in a part.
  std::uint64_t skipped = 0;       ///< Bytes of each other rank's contribution that this rank skips.
  Envelope envelope{};             ///< Signature that all ranks must have: set before the first advance().

  std::uint64_t number = 0; ///< Number among the communicator's collectives over boards, from 1; 0: not written yet.
  std::size_t at = 0;       ///< Offset in the lanes of the bytes of that number.
  int next = 0;             ///< The rank whose bytes are awaited.
};

/// The lanes of one communicator: lane c of every board, c being its context.
///
/// A lane holds kSlots slots; collective number n uses slot n % kSlots of every rank. A slot is a number (written last
/// and with release order, so that a rank that sees it also sees the rest), the call's signature, and the bytes; for
/// the smallest messages all in one cache line. In a wide lane contributions of more than a few lines lie behind the
/// slots, in five parts, of which number n uses part n % 5. Within a part successive collectives use successive places,
/// because a line can be written much sooner when it has left the cache of the core that read it last. The place
/// follows only from the number and the length of this collective, so ranks that called different collectives before
/// still find each other's bytes; the signature shows that they did (Signature::history).
///
/// Let L be the most bytes that any rank writes for number n. In a wide lane, with L above 1536, s is L rounded up to a
/// multiple of 64, plus 576, and k is the largest number up to floor(bytes of a part / s) that neither 2 nor 3 divides:
/// the place begins at byte s * (floor(n / 5) mod 2^32 mod k) of the part.
///
/// A rank writes number n only when it has ended n - 1, and writes in every collective, at least number and signature;
/// so a rank that has written n - kSlots + 1 has read what n overwrites, and no acknowledgement is needed. Collectives
/// in which a rank waits for nobody may therefore run ahead by kSlots - 1, and no further.
///
/// When ranks outnumber processors, rank 0 releases a barrier, after all others have written, so that no rank spins for
/// one that is not scheduled.
///
/// Reductions add in the order of the ranks, on all ranks: the same bits everywhere. Buffers may be in place, as
/// nothing is written to the output before the input is on the board. A rank reads its own bytes from its input where
/// it can, because lines of the board that other cores read must come back from there: all-reduces of up to 8 KiB take
/// 10 to 30 % longer with them. Guarded by the engine's lock; never blocks.
class BoardChannel {
 public:
  /// `ranks` are the world ranks of the communicator. All of its ranks must get the same answer; null when boards have
  /// no such lane, or `board` does not map that of a rank. `oversubscribed`: there are more ranks than processors.
  static std::unique_ptr<BoardChannel> create(Board* board, std::uint32_t lane, const std::vector<int>& ranks, int rank,
                                              bool oversubscribed = false);

  /// Whether boards can run the call: the same answer on all ranks that make the same call.
  [[nodiscard]] bool fits(const Call& call) const;
  /// Most bytes that a rank may write.
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  void bind(BoardCollective& work, const Call& call) const;
  /// Bytes that this rank writes from the start of its output on.
  [[nodiscard]] std::uint64_t outputBytes(const BoardCollective& work) const;

  enum class Outcome : std::uint8_t { waiting, done, mismatch };
  /// Makes progress without blocking, looking up to `looks` times for the bytes of a rank. Collectives take turns: only
  /// the one that enter() or leave() has named may advance.
  Outcome advance(BoardCollective& work, int looks = 1) GOSS_ON_LOOP;
  /// After a mismatch: the envelope of the call of rank work.next.
  [[nodiscard]] Envelope envelopeOf(const BoardCollective& work) const GOSS_ON_LOOP;
  /// Wakes the ranks that sleep, because this rank has written.
  void wakeOthers() GOSS_ON_LOOP { board_->wake(others_); }
  /// The first rank whose bytes (or, before this rank has written, whose progress) are awaited; -1: none.
  [[nodiscard]] int awaited(const BoardCollective& work) const GOSS_ON_LOOP;
  /// Appends all such ranks.
  void appendAwaited(const BoardCollective& work, std::vector<int>& ranks) const GOSS_ON_LOOP;

  /// Queues the operation. Returns whether its turn is now; otherwise the leave() that ends the previous turn returns
  /// it.
  bool enter(Operation& operation) GOSS_ON_LOOP;
  /// Whether it is the turn of an operation.
  [[nodiscard]] bool hasTurn(const Operation& operation) const GOSS_ON_LOOP {
    return !queue_.empty() && queue_.front() == &operation;
  }
  /// Ends the operation's turn. Returns the next operation, or null.
  Operation* leave(Operation& operation) GOSS_ON_LOOP;

 private:
  static constexpr std::uint64_t kSlots = 4;
  struct SlotHeader;
  BoardChannel() = default;
  [[nodiscard]] const SlotHeader& slotOf(int rank, std::uint64_t number) const;
  [[nodiscard]] const std::byte* bytesOf(const BoardCollective& work, int rank) const;
  void choosePlaces(BoardCollective& work, std::uint64_t longest) const;
  [[nodiscard]] std::size_t place(const BoardCollective& work) const;
  [[nodiscard]] const std::byte* operandOf(const BoardCollective& work, int rank) const;
  void chooseSources(BoardCollective& work) const;
  [[nodiscard]] bool hasWritten(int rank, std::uint64_t number) const;
  [[nodiscard]] bool awaits(const BoardCollective& work, int rank) const GOSS_ON_LOOP;
  bool hasRoom(std::uint64_t number) GOSS_ON_LOOP;
  void post(BoardCollective& work) GOSS_ON_LOOP;
  Outcome gather(BoardCollective& work, int looks) const GOSS_ON_LOOP;
  Outcome collect(BoardCollective& work, int looks) GOSS_ON_LOOP;
  void touchBehind(const BoardCollective& work, int rank) GOSS_ON_LOOP;
  [[nodiscard]] bool comes(const SlotHeader& slot, std::uint64_t number, int looks) const;
  void take(const BoardCollective& work, int rank) const;
  void finish(const BoardCollective& work) const;

  Board* board_ = nullptr;
  int rank_ = 0;
  bool oversubscribed_ = false;
  std::size_t stride_ = 0;
  std::size_t part_bytes_ = 0; ///< Bytes of each part behind the slots; 0: the lane is not wide.
  std::uint64_t capacity_ = 0;
  std::byte* mine_ = nullptr;
  std::vector<const std::byte*> lanes_; ///< By rank, this one's among them.
  /// By rank: whether this process has all pages behind the slots of its lane. Collectives go through all places there:
  /// the first hundred of 16 KiB took 12 to 20 us each, instead of 3 to 4, when each page was asked for by itself.
  std::vector<bool> touched_ GOSS_GUARDED;
  std::vector<int> others_;                    ///< World ranks of the other ranks.
  std::uint64_t written_ GOSS_GUARDED = 0;     ///< Number of the last collective that this rank has written.
  std::uint64_t all_written_ GOSS_GUARDED = 0; ///< Every rank has written at least this number.
  std::vector<Operation*> queue_ GOSS_GUARDED; ///< Operations that were started and have not ended, in order.
  platform::AdaptiveCopy copy_ GOSS_GUARDED;   ///< Copies into mine_.
};

} // namespace goss

#endif // GOSS_LIB_BOARDS_BOARD_CHANNEL_H_

#include "boards/board_channel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/cache_lines.h"
#include "boards/board_price.h"
#include "kernels/kernels.h"
#include "platform/memory/pages.h"
#include "platform/relax.h"
#include "schedule/contract.h"

namespace goss {

/// The header of a slot. The bytes follow at once: the first 32 share its cache line.
struct BoardChannel::SlotHeader {
  std::atomic<std::uint64_t> number;
  Envelope envelope;
};

namespace {

constexpr std::size_t kLine = base::kCacheLineBytes;
constexpr std::size_t kHeaderBytes = 32;
/// A reader prefetches the first kMaxFetchedBytes of each contribution of at least kFetchedBytes. A contribution of 8
/// KiB then takes 2.7 us instead of 5.2 us between processors that share no cache (250 ns a line), and 1.6 us instead
/// of 1.5 us between others. One of 4 KiB takes 2.0 us instead of 2.7 us, and 0.89 us instead of 0.79 us.
constexpr std::size_t kFetchedBytes = 4096;
constexpr std::size_t kMaxFetchedBytes = 8192;
/// Contributions of more bytes lie behind the slots.
constexpr std::uint64_t kMaxBesideBytes = 1536;
/// Number of parts of the area behind the slots. Any kSlots collectives in a row use different parts. If only every
/// second, third or fourth collective uses this area, all parts are still used, because 5 has no common divisor with 2,
/// 3 or 4.
constexpr std::uint64_t kParts = 5;
/// Limit of a contribution behind the slots; a part holds several of them.
constexpr std::uint64_t kMaxBehindBytes = kWideBoardBytes;
/// With more ranks, all lanes have too many pages to touch in one call, which holds the engine's lock meanwhile.
constexpr std::size_t kMaxTouchedRanks = 16;
constexpr std::size_t kMinBehindBytes = 16 * kMaxBehindBytes;
/// Lines that no rank writes: the reader's processor prefetches them when it comes near the end.
constexpr std::size_t kGapBytes = base::kPrefetchedBytes;

void fetch(const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(from + at);
}

void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
}

} // namespace

std::unique_ptr<BoardChannel> BoardChannel::create(Board* board, std::uint32_t lane, const std::vector<int>& ranks,
                                                   int rank, bool oversubscribed) {
  if (board == nullptr || lane >= board->lanes() || ranks.size() < 2) return nullptr;
  static_assert(sizeof(SlotHeader) == kHeaderBytes && std::atomic<std::uint64_t>::is_always_lock_free);
  std::unique_ptr<BoardChannel> channel(new BoardChannel);
  channel->board_ = board;
  channel->rank_ = rank;
  channel->oversubscribed_ = oversubscribed;
  const std::size_t slots_bytes = std::min(board->laneBytes(lane), kBoardSlotsBytes);
  channel->stride_ = slots_bytes / kSlots / kLine * kLine;
  if (channel->stride_ <= kHeaderBytes) return nullptr;
  const std::size_t behind_bytes = board->laneBytes(lane) - slots_bytes;
  if (behind_bytes >= kMinBehindBytes) channel->part_bytes_ = behind_bytes / kParts / kLine * kLine;
  channel->capacity_ = channel->part_bytes_ > 0 ? kMaxBehindBytes : channel->stride_ - kHeaderBytes;
  channel->mine_ = board->mine(lane);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool self = static_cast<int>(i) == rank;
    if (!self) channel->others_.push_back(ranks[i]);
    channel->lanes_.push_back(self ? channel->mine_ : board->of(ranks[i], lane));
    if (channel->lanes_.back() == nullptr) return nullptr;
  }
  return channel;
}

bool BoardChannel::fits(const Call& call) const {
  if (call.uneven || call.count > capacity_) return false;
  const std::uint64_t bytes = call.count * call.shape.element_bytes;
  return maxBytesWritten(call.collective, static_cast<int>(lanes_.size()), bytes) <= capacity_;
}

void BoardChannel::bind(BoardCollective& work, const Call& call) const {
  work.collective = call.collective;
  work.dtype = call.dtype;
  work.op = call.op;
  work.scale = call.scale;
  work.root = call.root;
  work.input = static_cast<const std::byte*>(call.input);
  work.output = static_cast<std::byte*>(call.output);
  work.count = call.count;
  work.bytes = call.count * call.shape.element_bytes;
  work.posts = bytesWritten(call.collective, static_cast<int>(lanes_.size()), call.root == rank_, work.bytes);
  choosePlaces(work, maxBytesWritten(call.collective, static_cast<int>(lanes_.size()), work.bytes));
  chooseSources(work);
  const bool of_blocks = call.collective == Collective::reduceScatter || call.collective == Collective::allToAll ||
                         call.collective == Collective::scatter;
  work.skipped = of_blocks ? static_cast<std::uint64_t>(rank_) * work.bytes : 0;
  // The first two operands are read before any of their bytes are overwritten.
  const bool reduces = schedule::reduces(work.collective);
  const bool overwritten = reduces && rank_ > 1 && work.output == work.input + work.skipped;
  work.needs_copy = reduces && (work.op == GOSS_PREMUL_SUM || overwritten);
}

std::uint64_t BoardChannel::outputBytes(const BoardCollective& work) const {
  if (work.first == work.end) return 0;
  const bool of_blocks = work.collective == Collective::allGather || work.collective == Collective::gather ||
                         work.collective == Collective::allToAll;
  return of_blocks ? work.bytes * lanes_.size() : work.bytes;
}

const BoardChannel::SlotHeader& BoardChannel::slotOf(int rank, std::uint64_t number) const {
  return *reinterpret_cast<const SlotHeader*>(lanes_[static_cast<std::size_t>(rank)] + number % kSlots * stride_);
}

const std::byte* BoardChannel::bytesOf(const BoardCollective& work, int rank) const {
  return lanes_[static_cast<std::size_t>(rank)] + work.at;
}

/// Chooses where contributions lie when no rank writes more than `longest` bytes.
void BoardChannel::choosePlaces(BoardCollective& work, std::uint64_t longest) const {
  work.behind_stride = work.behind_places = 0;
  if (part_bytes_ == 0 || longest <= kMaxBesideBytes) return;
  work.behind_stride = static_cast<std::uint32_t>((longest + kLine - 1) / kLine * kLine + kGapBytes);
  work.behind_places = static_cast<std::uint32_t>(part_bytes_ / work.behind_stride);
  // An odd number that 3 does not divide, so that every second or third collective still uses all places, as with the
  // parts.
  while (work.behind_places % 2 == 0 || work.behind_places % 3 == 0)
    --work.behind_places;
}

/// Offset, in its lane, of the bytes that every rank writes.
std::size_t BoardChannel::place(const BoardCollective& work) const {
  if (work.behind_places == 0) return work.number % kSlots * stride_ + kHeaderBytes;
  // A 32-bit division, because a 64-bit one is noticeably slower. Every 2^32 turns the places start again at 0.
  const std::uint32_t turn = static_cast<std::uint32_t>(work.number / kParts) % work.behind_places;
  return kBoardSlotsBytes + work.number % kParts * part_bytes_ + std::size_t{turn} * work.behind_stride;
}

/// The bytes that `rank` contributes to this rank's result.
const std::byte* BoardChannel::operandOf(const BoardCollective& work, int rank) const {
  return (rank == rank_ && !work.needs_copy ? work.input : bytesOf(work, rank)) + work.skipped;
}

bool BoardChannel::hasWritten(int rank, std::uint64_t number) const {
  return slotOf(rank, number).number.load(std::memory_order_acquire) >= number;
}

Envelope BoardChannel::envelopeOf(const BoardCollective& work) const {
  return slotOf(work.next, work.number != 0 ? work.number : written_ + 1).envelope;
}

void BoardChannel::chooseSources(BoardCollective& work) const {
  const bool is_root = work.root == rank_;
  work.first = 0;
  work.end = static_cast<int>(lanes_.size());
  work.gathers_first = false;
  switch (work.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      work.first = work.root;
      work.end = work.root + 1;
      break;
    case Collective::reduce:
    case Collective::gather:
      if (!is_root) work.end = 0;
      break;
    case Collective::scan:
      work.end = rank_ + 1;
      break;
    case Collective::exscan:
      work.end = rank_;
      break;
    case Collective::allReduce:
    case Collective::allGather:
    case Collective::reduceScatter:
    case Collective::allToAll:
      break;
    case Collective::barrier:
      if (oversubscribed_) work.end = rank_ == 0 ? 0 : 1;
      work.gathers_first = oversubscribed_ && rank_ == 0;
      break;
    case Collective::neighborAllReduce:
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      break; // not on boards
  }
}

bool BoardChannel::hasRoom(std::uint64_t number) {
  if (number < all_written_ + kSlots) return true;
  // Finds the number that the slowest rank has written. If it is above what is needed now, later calls need no search.
  std::uint64_t slowest = written_;
  for (int rank = 0; rank < static_cast<int>(lanes_.size()); ++rank) {
    std::uint64_t seen = written_;
    while (seen > all_written_ && !hasWritten(rank, seen))
      --seen;
    slowest = std::min(slowest, seen);
  }
  all_written_ = slowest;
  return number < all_written_ + kSlots;
}

/// Touches the pages behind the slots of the rank's lane before this process first uses them.
void BoardChannel::touchBehind(const BoardCollective& work, int rank) {
  if (work.behind_places == 0 || lanes_.size() > kMaxTouchedRanks) return;
  const auto index = static_cast<std::size_t>(rank);
  touched_.resize(lanes_.size());
  if (touched_[index]) return;
  touched_[index] = true;
  platform::touchPages(lanes_[index] + kBoardSlotsBytes, part_bytes_ * kParts, rank == rank_);
}

void BoardChannel::post(BoardCollective& work) {
  work.number = ++written_;
  work.next = work.first;
  work.at = place(work);
  auto* slot = reinterpret_cast<SlotHeader*>(mine_ + work.number % kSlots * stride_);
  std::byte* bytes = mine_ + work.at;
  if (work.posts > 0) {
    touchBehind(work, rank_);
    if (work.op == GOSS_PREMUL_SUM && schedule::reduces(work.collective)) {
      const std::uint64_t blocks = work.posts / work.bytes;
      kernels::scale(work.dtype, bytes, work.input, work.count * blocks, work.scale);
    } else {
      copy_.copy(bytes, work.input, work.posts);
    }
  }
  slot->envelope = work.envelope;
  slot->number.store(work.number, std::memory_order_release);
}

BoardChannel::Outcome BoardChannel::advance(BoardCollective& work, int looks) {
  if (work.number == 0) {
    if (!hasRoom(written_ + 1)) return Outcome::waiting;
    if (work.gathers_first) {
      if (const Outcome outcome = gather(work, looks); outcome != Outcome::done) return outcome;
    }
    post(work);
  }
  return collect(work, looks);
}

bool BoardChannel::comes(const SlotHeader& slot, std::uint64_t number, int looks) const {
  // The first looks do not pause: when all ranks are as fast, the line arrives before a pause would end.
  constexpr int kLooksAtFullSpeed = 32;
  for (int look = 1; slot.number.load(std::memory_order_acquire) < number; ++look) {
    if (look >= looks) return false;
    if (look > kLooksAtFullSpeed) platform::relaxProcessor();
  }
  return true;
}

/// For a barrier, on rank 0, before it writes: whether all other ranks have written.
BoardChannel::Outcome BoardChannel::gather(BoardCollective& work, int looks) const {
  for (work.next = 1; work.next < static_cast<int>(lanes_.size()); ++work.next) {
    const SlotHeader& slot = slotOf(work.next, written_ + 1);
    if (!comes(slot, written_ + 1, looks)) return Outcome::waiting;
    if (slot.envelope != work.envelope) return Outcome::mismatch;
  }
  return Outcome::done;
}

BoardChannel::Outcome BoardChannel::collect(BoardCollective& work, int looks) {
  for (; work.next < work.end; ++work.next) {
    if (work.next != rank_) {
      const SlotHeader& slot = slotOf(work.next, work.number);
      if (!comes(slot, work.number, looks)) return Outcome::waiting;
      if (slot.envelope != work.envelope) return Outcome::mismatch;
      touchBehind(work, work.next);
      if (work.bytes > kFetchedBytes) fetch(operandOf(work, work.next), std::min(work.bytes, kMaxFetchedBytes));
    }
    take(work, work.next);
  }
  finish(work);
  const bool heard_all = work.first == 0 && work.end == static_cast<int>(lanes_.size());
  if (heard_all || work.collective == Collective::barrier) all_written_ = work.number;
  return Outcome::done;
}

/// Processes the bytes of `rank`, after those of all ranks before it.
void BoardChannel::take(const BoardCollective& work, int rank) const {
  if (work.count == 0) return;
  const std::byte* from = operandOf(work, rank);
  switch (work.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      return copy(work.output, from, work.bytes);
    case Collective::allGather:
    case Collective::gather:
    case Collective::allToAll:
      return copy(work.output + static_cast<std::size_t>(rank) * work.bytes, from, work.bytes);
    case Collective::barrier:
    case Collective::neighborAllReduce:
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
      return;
    case Collective::allReduce:
    case Collective::reduce:
    case Collective::reduceScatter:
    case Collective::scan:
    case Collective::exscan:
      break;
  }
  if (rank == 0) return; // A sum needs two operands.
  const std::byte* before = rank == 1 ? operandOf(work, 0) : work.output;
  kernels::reduce(work.dtype, work.op, work.output, before, from, work.count);
}

void BoardChannel::finish(const BoardCollective& work) const {
  if (!schedule::reduces(work.collective) || work.count == 0) return;
  if (work.end - work.first == 1) copy(work.output, operandOf(work, 0), work.bytes);
  if (work.end > 0 && work.op == GOSS_AVG) {
    kernels::average(work.dtype, work.output, work.output, work.count, static_cast<int>(lanes_.size()));
  }
}

bool BoardChannel::awaits(const BoardCollective& work, int rank) const {
  if (rank == rank_) return false;
  if (work.number == 0) {
    const bool holds_back = written_ + 1 >= kSlots && !hasWritten(rank, written_ + 2 - kSlots);
    return holds_back || (work.gathers_first && !hasWritten(rank, written_ + 1));
  }
  return rank >= work.next && rank < work.end && !hasWritten(rank, work.number);
}

int BoardChannel::awaited(const BoardCollective& work) const {
  for (int rank = 0; rank < static_cast<int>(lanes_.size()); ++rank) {
    if (awaits(work, rank)) return rank;
  }
  return -1;
}

void BoardChannel::appendAwaited(const BoardCollective& work, std::vector<int>& ranks) const {
  for (int rank = 0; rank < static_cast<int>(lanes_.size()); ++rank) {
    if (awaits(work, rank)) ranks.push_back(rank);
  }
}

bool BoardChannel::enter(Operation& operation) {
  queue_.push_back(&operation);
  return queue_.front() == &operation;
}

Operation* BoardChannel::leave(Operation& operation) {
  std::erase(queue_, &operation);
  return queue_.empty() ? nullptr : queue_.front();
}

} // namespace goss

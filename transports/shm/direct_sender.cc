#include "transports/shm/direct_sender.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "platform/clock.h"
#include "platform/memory/cross_memory.h"
#include "transports/shm/packet.h"

namespace goss::transports::shm {

namespace {

/// How long the sender waits for a window, which takes the peer a tenth of a millisecond unless its process is stopped
/// in the middle.
constexpr std::chrono::milliseconds kWindow(50);

static_assert(kMaxDirectPieces <= platform::kMaxProbed);

bool isOver(DirectState state) { return state == DirectState::done || state == DirectState::replied; }

} // namespace

void DirectSender::attach(const Segment& segment, int socket) {
  side_ = &segment.mySide();
  their_side_ = &segment.theirSide();
  socket_ = socket;
}

void DirectSender::detach() {
  while (outstanding_ != 0)
    retire(static_cast<std::size_t>(std::countr_zero(outstanding_)));
  side_ = nullptr;
  their_side_ = nullptr;
}

std::size_t DirectSender::freeSlot() const { return static_cast<std::size_t>(std::countr_one(outstanding_)); }

DirectSender::Offer DirectSender::offer(SendOperation& operation, RingWriter& writer, bool is_far) {
  if (operation.bytes < least_bytes_ || operation.pieces.size() > kMaxDirectPieces) return Offer::unfit;
  const std::size_t slot = freeSlot();
  if (slot >= kDirectSlots || !describe(operation, is_far)) return Offer::unfit;
  message_.slot = slot;
  // Relaxed, because the record's release publishes it.
  state(slot).store(DirectState::offered, std::memory_order_relaxed);
  const std::span<const std::byte> payload(reinterpret_cast<const std::byte*>(&message_),
                                           DirectMessage::bytesFor(message_.piece_count));
  if (!writer.writeDirect({operation.tag, operation.bytes, operation.envelope}, payload)) {
    state(slot).store(DirectState::free, std::memory_order_relaxed);
    return Offer::full;
  }
  outstanding_ |= 1u << slot;
  Entry& entry = entries_[slot];
  entry.operation = &operation;
  entry.regions.clear();
  for (std::size_t i = 0; i < message_.piece_count; ++i) {
    if (message_.pieces[i].region == kAddressSpace) continue;
    entry.regions.push_back(message_.pieces[i].region);
    lending_.use(message_.pieces[i].region);
  }
  if (message_.reply.bytes > 0) {
    entry.reply_buffer = {operation.reply.buffer, operation.bytes};
    entry.regions.push_back(message_.reply.region);
    lending_.use(message_.reply.region);
  }
  return Offer::offered;
}

/// Whether the peer reads a message in this process's address space. For messages that are only stored that copies once
/// instead of twice. Where the processors share a cache two copies through the ring still take half as long: 26 GB/s,
/// with 9 by process_vm_readv.
bool DirectSender::isForAddresses(const SendOperation& operation, bool is_far) const {
  const AddressReading reads = their_side_->reads_addresses.load(std::memory_order_relaxed);
  return reads == AddressReading::all || (reads == AddressReading::stored && operation.is_stored_whole && is_far);
}

bool DirectSender::describe(const SendOperation& operation, bool is_far) {
  message_.piece_count = 0;
  message_.reply = {};
  bool lent = lends_ && !lending_.empty();
  for (const iovec& piece : operation.pieces) {
    if (piece.iov_len == 0) continue;
    const LentRegions::Region* region = lent ? lending_.holding(piece.iov_base, piece.iov_len) : nullptr;
    if (!region || !lend(*region)) {
      lent = false;
      break;
    }
    const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(piece.iov_base) - region->memory.data);
    message_.pieces[message_.piece_count++] = {region->id, at, piece.iov_len};
  }
  if (lent) {
    describeReply(operation);
    return true;
  }
  if (!isForAddresses(operation, is_far)) return false;
  message_.piece_count = 0;
  std::array<iovec, kMaxDirectPieces> pieces;
  for (const iovec& piece : operation.pieces) {
    if (piece.iov_len == 0) continue;
    pieces[message_.piece_count] = piece;
    message_.pieces[message_.piece_count++] = {kAddressSpace, reinterpret_cast<std::uintptr_t>(piece.iov_base),
                                               piece.iov_len};
  }
  return platform::isReadableByOthers({pieces.data(), message_.piece_count});
}

void DirectSender::describeReply(const SendOperation& operation) {
  if (operation.reply.buffer == nullptr) return;
  const LentRegions::Region* region = lending_.holding(operation.reply.buffer, operation.bytes);
  if (!region || !lend(*region)) return;
  message_.reply_tag = operation.reply.tag;
  message_.reply = {region->id, static_cast<std::uint64_t>(operation.reply.buffer - region->memory.data),
                    operation.bytes};
}

// The packet is in the peer's socket before any record that needs it is in the ring.
bool DirectSender::lend(const LentRegions::Region& region) {
  if (std::find(lent_.begin(), lent_.end(), region.id) != lent_.end()) return true;
  if (!sendRegion(socket_, region.id, region.memory.bytes, region.memory.fd)) return false;
  lent_.push_back(region.id);
  return true;
}

void DirectSender::forget(std::uint64_t region) {
  if (std::erase(lent_, region) > 0) to_forget_.push_back(region);
  tellForgotten();
}

void DirectSender::tellForgotten() {
  std::erase_if(to_forget_, [&](std::uint64_t id) { return socket_ < 0 || sendForget(socket_, id); });
}

// The memory belongs to the application again; the slot becomes free when the peer has said so.
void DirectSender::letGo(Entry& entry) {
  for (const std::uint64_t region : entry.regions)
    lending_.release(region);
  entry.regions.clear();
  entry.reply_buffer = {};
  entry.operation = nullptr;
}

void DirectSender::retire(std::size_t slot) {
  letGo(entries_[slot]);
  outstanding_ &= ~(1u << slot);
}

bool DirectSender::hasDone() const {
  for (std::uint32_t left = outstanding_; left != 0; left &= left - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(left));
    // seq_cst: the caller has just announced its sleep, and this load must not be ordered before that store.
    if (isOver(state(slot).load(std::memory_order_seq_cst))) return true;
  }
  return false;
}

bool DirectSender::collect() {
  bool any = false;
  for (std::uint32_t left = outstanding_; left != 0; left &= left - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(left));
    if ((outstanding_ & (1u << slot)) == 0 || side_ == nullptr) continue;
    const DirectState reached = state(slot).load(std::memory_order_acquire);
    if (!isOver(reached)) continue;
    state(slot).store(DirectState::free, std::memory_order_relaxed);
    SendOperation* operation = entries_[slot].operation;
    // Without a reply buffer the peer's claim to have replied means nothing.
    const bool asked = !entries_[slot].reply_buffer.empty();
    retire(slot);
    if (operation == nullptr) continue;
    operation->reply.is_written = asked && reached == DirectState::replied;
    if (operation->reply.is_written) matcher_.statistics().countReceived(operation->bytes);
    operation->onSent(Status::ok());
    any = true;
  }
  return any;
}

DirectSender::Cancel DirectSender::cancel(const SendOperation& operation) {
  for (std::size_t slot = 0; slot < kDirectSlots; ++slot) {
    if (entries_[slot].operation != &operation) continue;
    const Cancel back = takeBack(slot);
    letGo(entries_[slot]);
    return back;
  }
  return Cancel::absent;
}

// Prevents the peer from beginning a further window. beingRead: the peer is in the middle of a window and does not
// finish it. It may still read the message then, which harms nobody, but it must not write into memory that the
// application owns again. Where its pages cannot be replaced the sender waits as long once more, and then the
// application must know.
DirectSender::Cancel DirectSender::takeBack(std::size_t slot) {
  DirectState seen = DirectState::offered;
  if (state(slot).compare_exchange_strong(seen, DirectState::withdrawn)) return Cancel::withdrawn;
  const platform::Deadline deadline = platform::Deadline::after(kWindow);
  const platform::Deadline last = platform::Deadline::after(2 * kWindow);
  bool keeps = false; // The peer's writes no longer reach this process.
  for (;;) {
    const bool expired = last.expired(); // Evaluated before the last look at the state.
    seen = DirectState::taken;
    if (state(slot).compare_exchange_strong(seen, DirectState::revoked)) return Cancel::withdrawn;
    if (seen == DirectState::ending) {
      // Fails if the peer has left the window just now.
      state(slot).compare_exchange_strong(seen, DirectState::recalled);
    } else if (seen != DirectState::recalled) {
      return Cancel::withdrawn;
    }
    if (keeps) return Cancel::beingRead;
    // Tried at least once, even if this thread has had no processor until now.
    if (deadline.expired())
      keeps = entries_[slot].reply_buffer.empty() || lending_.replacePages(entries_[slot].reply_buffer);
    if (expired && !keeps) return Cancel::beingWritten;
    ::sched_yield();
  }
}

bool DirectSender::withdrawAll() {
  bool all = true;
  for (std::uint32_t left = outstanding_; left != 0; left &= left - 1) {
    const auto slot = static_cast<std::size_t>(std::countr_zero(left));
    const SendOperation* operation = entries_[slot].operation;
    if (operation != nullptr && cancel(*operation) != Cancel::withdrawn) all = false;
  }
  return all;
}

void DirectSender::fail(const Status& status, const Status& stuck, bool ended) {
  for (std::size_t slot = 0; slot < kDirectSlots; ++slot) {
    const bool written = !ended && !entries_[slot].reply_buffer.empty() && takeBack(slot) == Cancel::beingWritten;
    SendOperation* operation = entries_[slot].operation;
    if ((outstanding_ & (1u << slot)) != 0) retire(slot);
    if (operation != nullptr) operation->onSent(written ? stuck : status);
  }
}

} // namespace goss::transports::shm

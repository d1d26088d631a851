#include "transports/shm/direct_receiver.h"

#include <errno.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "platform/memory/cross_memory.h"
#include "transports/common/matcher.h"

namespace goss::transports::shm {

namespace {

// Bytes that are read at a time: the peer's bytes, this rank's and the result of a window fit the second-level cache
// together.
constexpr std::size_t kWindowBytes = 256 * 1024;
// Bytes that are read from one peer in one call of progress(): some hundred microseconds.
constexpr std::size_t kBudgetBytes = 1024 * 1024;
constexpr std::size_t kMaxEntries = 16;

} // namespace

void DirectReceiver::attach(const Segment& segment, int process) {
  their_side_ = &segment.theirSide();
  process_ = process;
  order_.reserve(kDirectSlots);
}

void DirectReceiver::detach() {
  their_side_ = nullptr;
  for (const std::uint8_t slot : order_) {
    fetches_[slot]->pieces.clear();
    fetches_[slot]->reply = {};
  }
  order_.clear();
  borrowed_.clear();
}

bool DirectReceiver::handle(Packet packet) {
  if (packet.kind == Packet::Kind::region) return borrowed_.add(packet.id, packet.bytes, std::move(packet.fd));
  borrowed_.forget(packet.id);
  return true;
}

DirectReceiver::Accept DirectReceiver::accept(const RingReader::Record& record) {
  DirectMessage message; // Copied before it is checked, because the peer could change it meanwhile.
  if (record.payload.size() < DirectMessage::bytesFor(1) || record.payload.size() > sizeof message)
    return Accept::corrupt;
  std::memcpy(&message, record.payload.data(), record.payload.size());
  if (message.slot >= kDirectSlots || message.piece_count > kMaxDirectPieces ||
      record.payload.size() != DirectMessage::bytesFor(message.piece_count))
    return Accept::corrupt;
  const std::size_t slot = message.slot;
  auto& made = fetches_[slot];
  if (!made) made = std::make_unique<Fetch>(matcher_);
  Fetch& fetch = *made;
  if (fetch.busy) return Accept::corrupt;
  const Accept resolved = resolve(message, record.message.bytes, fetch);
  if (resolved == Accept::unknown && state(slot).load(std::memory_order_acquire) == DirectState::withdrawn) {
    // Memory whose message was cancelled may be unmapped before this rank comes to the message.
    finish(fetch, slot, DirectState::done);
    return Accept::taken;
  }
  if (resolved != Accept::taken) return resolved;
  fetch.sink.offerReply(message.reply_tag, fetch.reply.pages ? fetch.reply.pages->data() + fetch.reply.at : nullptr);
  if (!fetch.sink.beginAbsent(record.message, [this, slot] { return take(slot); })) return Accept::exhausted;
  fetch.busy = true;
  order_.push_back(static_cast<std::uint8_t>(slot));
  return Accept::taken;
}

// Finds the pieces in memory that this rank may read: taken, unknown or corrupt.
DirectReceiver::Accept DirectReceiver::resolve(const DirectMessage& message, std::uint64_t bytes, Fetch& fetch) const {
  fetch.pieces.clear();
  fetch.piece = 0;
  fetch.done = 0;
  fetch.reply = {};
  if (message.reply.bytes > 0) {
    if (message.reply.bytes != bytes || message.reply.region == kAddressSpace) return Accept::corrupt;
    if (const Accept found = resolve(message.reply, bytes, fetch.reply); found != Accept::taken) return found;
  }
  for (std::size_t i = 0; i < message.piece_count; ++i) {
    if (fetch.reply.pages && message.pieces[i].region == kAddressSpace) return Accept::corrupt;
    Piece piece;
    if (const Accept found = resolve(message.pieces[i], bytes, piece); found != Accept::taken) return found;
    bytes -= piece.bytes;
    fetch.pieces.push_back(std::move(piece));
  }
  return bytes == 0 ? Accept::taken : Accept::corrupt;
}

// `bytes`: the most bytes that the piece may have.
DirectReceiver::Accept DirectReceiver::resolve(const DirectPiece& from, std::uint64_t bytes, Piece& piece) const {
  if (from.bytes == 0 || from.bytes > bytes) return Accept::corrupt;
  piece = {nullptr, from.at, from.bytes};
  if (from.region == kAddressSpace) return process_ < 0 ? Accept::corrupt : Accept::taken;
  piece.pages = borrowed_.find(from.region);
  if (!piece.pages) return Accept::unknown;
  const std::uint64_t room = piece.pages->bytes();
  return from.at > room || from.bytes > room - from.at ? Accept::corrupt : Accept::taken;
}

bool DirectReceiver::hasWork() const {
  return std::any_of(order_.begin(), order_.end(), [&](std::uint8_t slot) { return !fetches_[slot]->sink.waits(); });
}

DirectReceiver::Step DirectReceiver::progress() {
  std::size_t budget = kBudgetBytes;
  bool finished = false;
  for (std::size_t i = 0; i < order_.size() && budget > 0;) {
    const std::size_t slot = order_[i];
    Fetch& fetch = *fetches_[slot];
    DirectState with = DirectState::done;
    if (fetch.sink.waits()) {
      if (state(slot).load(std::memory_order_relaxed) == DirectState::offered) {
        ++i;
        continue;
      }
      fetch.sink.revoke();
    } else if (!read(fetch, slot, budget, with)) {
      return Step::failed;
    }
    if (!fetch.sink.isIdle()) continue; // The budget is spent.
    order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(fetch, slot, with);
    finished = true;
  }
  if (finished) return Step::finished;
  return budget < kBudgetBytes ? Step::moved : Step::idle;
}

// False: the sender has cancelled the message.
bool DirectReceiver::take(std::size_t slot) {
  DirectState expected = DirectState::offered;
  return state(slot).compare_exchange_strong(expected, DirectState::taken, std::memory_order_acq_rel);
}

// Whether the receiver may read the next window of `bytes` bytes. The sender may cancel as long as more than that is to
// come, because nothing of a message counts before all of it was read; but not while this rank writes into its memory.
bool DirectReceiver::mayRead(Fetch& fetch, std::size_t slot, std::size_t bytes) {
  DirectState seen = DirectState::taken;
  const bool alone = fetch.sink.isReplying() || bytes >= fetch.sink.remaining();
  const bool ours = alone ? state(slot).compare_exchange_strong(seen, DirectState::ending)
                          : (seen = state(slot).load(std::memory_order_acquire)) == DirectState::taken;
  if (ours || seen == DirectState::ending) return true;
  fetch.sink.restart();
  return false;
}

// Reads the next windows. False: the memory cannot be read. Callbacks may cancel the receive at any window. `with`: how
// the message ended, if it did.
bool DirectReceiver::read(Fetch& fetch, std::size_t slot, std::size_t& budget, DirectState& with) {
  while (budget > 0 && !fetch.sink.isIdle()) {
    if (fetch.sink.isDropped()) {
      fetch.sink.finishDropped();
      return true;
    }
    const Piece& piece = fetch.pieces[fetch.piece];
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>({piece.bytes - fetch.done, kWindowBytes, budget}));
    if (!mayRead(fetch, slot, wanted)) return true;
    std::size_t got = wanted;
    // The cursor moves first: with its last byte the message is complete, and a callback may post or cancel anything.
    if (piece.pages) {
      const std::byte* from = piece.pages->data() + piece.at + fetch.done;
      fetch.done += wanted;
      const bool replying = fetch.sink.isReplying();
      const bool last = wanted == fetch.sink.remaining();
      const std::uint64_t bytes = fetch.sink.total();
      fetch.sink.deliver({from, wanted});
      if (replying && last) {
        with = DirectState::replied;
        matcher_.statistics().countSent(bytes);
      } else if (replying) {
        DirectState seen = DirectState::ending;
        if (!state(slot).compare_exchange_strong(seen, DirectState::taken)) state(slot).store(DirectState::revoked);
      }
    } else {
      const std::ptrdiff_t read = readAddresses(fetch, piece, wanted);
      if (read <= 0 && state(slot).load(std::memory_order_acquire) == DirectState::revoked) continue;
      if (read <= 0) return false;
      got = static_cast<std::size_t>(read);
      fetch.done += got;
      fetch.sink.commit(got);
    }
    if (fetch.done == piece.bytes) {
      ++fetch.piece;
      fetch.done = 0;
    }
    budget -= got;
  }
  return true;
}

std::ptrdiff_t DirectReceiver::readAddresses(Fetch& fetch, const Piece& piece, std::size_t bytes) {
  std::array<iovec, kMaxEntries> entries;
  const std::size_t count = fetch.sink.space(entries, bytes);
  std::size_t room = 0;
  for (std::size_t i = 0; i < count; ++i)
    room += entries[i].iov_len;
  const std::span<const iovec> to(entries.data(), count);
  return platform::readProcess(process_, piece.at + fetch.done, std::min(room, bytes), to);
}

void DirectReceiver::finish(Fetch& fetch, std::size_t slot, DirectState with) {
  fetch.pieces.clear();
  fetch.reply = {};
  fetch.busy = false;
  // seq_cst pairs with a sender that is about to sleep: it sees this state, or this rank sees that the sender sleeps.
  state(slot).store(with, std::memory_order_seq_cst);
}

} // namespace goss::transports::shm

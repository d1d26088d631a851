#include "transports/shm/link.h"

#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "transports/common/errors.h"
#include "transports/common/process_identity.h"
#include "transports/shm/packet.h"
#include "transports/shm/rendezvous.h"

namespace goss::transports::shm {

namespace {

/// Number of receives that are always posted: the communicator keeps one for its control messages, which nobody waits
/// for. If more receives are posted, somebody waits for the next message. This is a guess: without a permanent receive,
/// progress() looks for one more message after the last awaited one.
constexpr int kPermanentReceives = 1;

/// The limit of credit for messages in parts: half of the bytes of unexpected messages that this side keeps. The other
/// half is for short messages.
std::uint64_t roomFor(const LinkOptions& options) { return options.unexpected_bytes / 2; }

constexpr std::string_view kStuckInMemory =
    "it is stuck while it writes into the result of a call that is over, and no memory is left to put in its place: do "
    "not use that buffer as long as its process lives";

} // namespace

Link::Link(int rank, const LinkOptions& options, LentRegions& lending, Deferred& deferred)
    : rank_(rank),
      options_(options),
      matcher_(rank, deferred),
      sink_(matcher_),
      recvs_(matcher_, roomFor(options), false),
      doorbell_(segment_, socket_),
      direct_sender_(lending, matcher_, options.direct_bytes, options.maps),
      direct_receiver_(matcher_),
      outbox_(writer_, direct_sender_) {}

void Link::attach(Segment segment, platform::UniqueFd socket) {
  segment_ = std::move(segment);
  socket_ = std::move(socket);
  writer_ = RingWriter(segment_, options_.fences);
  outbox_.open(segment_);
  segment_.mySide().room.store(roomFor(options_), std::memory_order_relaxed);
  segment_.mySide().fences_all.store(options_.fences ? 1 : 0, std::memory_order_relaxed);
  reader_ = RingReader(segment_);
  direct_sender_.attach(segment_, socket_.get());
  direct_receiver_.attach(segment_, processOf(socket_.get()));
}

void Link::becomeReady() {
  if (is_ready_) return;
  is_ready_ = true;
  // The other side has mapped the segment, and said at which address.
  segment_.mySide().reads_addresses.store(testCrossMemory(segment_, processOf(socket_.get()), options_.addresses),
                                          std::memory_order_relaxed);
}

bool Link::readPackets() {
  for (;;) {
    Packet packet = readPacket(socket_.get());
    switch (packet.kind) {
      case Packet::Kind::again:
        return false;
      case Packet::Kind::ended:
        return true;
      case Packet::Kind::bell:
        break;
      case Packet::Kind::welcome:
        if (!is_ready_) board_ = std::move(packet.fd);
        break;
      case Packet::Kind::region:
      case Packet::Kind::forget:
        if (direct_receiver_.handle(std::move(packet))) break;
        [[fallthrough]];
      case Packet::Kind::corrupt:
        breakOff(protocolError(rank_, "a packet that makes no sense beside shared memory"));
        return false;
    }
  }
}

// Sends a message that fits the ring and has no other one before it.
bool Link::trySend(Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) {
  if (!outbox_.isIdle() || bytes.size() > kShortBytes || bytes.size() >= options_.direct_bytes) return false;
  if (outbox_.isOversubscribed() && tag != kUrgentTag) return false;
  if (!writer_.writeBrief(tag, envelope, bytes)) return false;
  matcher_.statistics().countSent(bytes.size());
  if (writer_.takePublished()) doorbell_.wakeFor(kWakeForData);
  return true;
}

// Receives the message at the head of the ring if it can only match this receive.
TryResult Link::tryRecv(Tag tag, const Envelope& envelope, std::span<std::byte> room, std::size_t& bytes) {
  if (!sink_.mayOvertake(tag)) {
    if (matcher_.keepsAny()) return TryResult::refused;
    return reader_.empty() ? TryResult::notYet : TryResult::queued;
  }
  RingReader::Record record;
  const RingReader::Peek found = reader_.peek(record);
  if (found == RingReader::Peek::none) return TryResult::notYet;
  if (record.message.tag != tag) return TryResult::queued;
  if (found == RingReader::Peek::corrupt || record.kind != RecordKind::brief || record.payload.size() > room.size() ||
      std::memcmp(&record.message.envelope, &envelope, sizeof envelope) != 0) {
    return TryResult::refused;
  }
  bytes = record.payload.size();
  if (bytes > 0) std::memcpy(room.data(), record.payload.data(), bytes);
  matcher_.statistics().countReceived(bytes);
  consume(record);
  return TryResult::done;
}

// Returns space early enough that the producer of a long message never waits, seldom enough that the cache line of its
// counter stays with the producer. The rest is returned before this rank sleeps: an eighth of the ring cannot hold the
// producer up.
void Link::consume(const RingReader::Record& record) {
  reader_.pop(record);
  if (reader_.unreleased() >= segment_.ringBytes() / 8) release();
}

bool Link::send(SendOperation& operation) {
  operation.hook.extra = 0;
  if (operation.pieces.size() <= 1) {
    const std::span<const std::byte> bytes =
        operation.pieces.empty()
            ? std::span<const std::byte>()
            : std::span(static_cast<const std::byte*>(operation.pieces.front().iov_base), operation.bytes);
    if (trySend(operation.tag, operation.envelope, bytes)) return true;
  }
  matcher_.statistics().countSent(operation.bytes);
  const bool sent = outbox_.post(operation, true);
  if (writer_.takePublished()) doorbell_.wakeFor(kWakeForData);
  return sent;
}

void Link::cancel(SendOperation& operation) {
  if (!Outbox::isDescribed(operation)) return outbox_.cancel(operation);
  operation.hook.extra = 0;
  const DirectSender::Cancel back = direct_sender_.cancel(operation);
  if (back == DirectSender::Cancel::beingRead) {
    breakOff(peerLostError(rank_, "we cancelled a message that it was reading, which ends the connection"));
  } else if (back == DirectSender::Cancel::beingWritten) {
    breakOff(peerLostError(rank_, kStuckInMemory));
  }
}

bool Link::progress() {
  bool any = matcher_.hasWork() && matcher_.drain();
  if (!segment_.valid() || end_.isOver()) return any;
  any |= read();
  any |= readDirect();
  any |= direct_sender_.collect();
  any |= recvs_.settle();
  if (oversubscribed_) updateOversubscribed();
  if (!end_.isLeaving()) return writePending() || any;
  const Status why = end_.whyLeaving(rank_);
  failSends(why);
  if (end_.isOver()) return true;
  if (end_.hasDeparted() && !reader_.empty()) return any;
  breakOff(why);
  return true;
}

bool Link::read() {
  bool any = false;
  bool awaited = false; // A receive was posted for the message that was read.
  RingReader::Record record;
  while (!end_.isOver()) {
    RingReader::Peek found = reader_.peek(record);
    if (found == RingReader::Peek::none) break;
    if (found == RingReader::Peek::corrupt) {
      breakOff(protocolError(rank_, "a corrupt record through shared memory"));
      break;
    }
    // A long message without a posted receive must be kept, in memory of its own. A rank that waits for other messages
    // is likely to post its receive next, so the message may wait until the next call. (In windows of messages of 1 MiB
    // the receiver sometimes kept nearly all of them, at a fifth of the speed.)
    if (awaited && !end_.isLeaving() && record.kind == RecordKind::first && !matcher_.isPosted(record.message.tag))
      break;
    if (matcher_.expects(kPermanentReceives + 2)) reader_.prefetchBehind(record);
    awaited = awaited || matcher_.expects(kPermanentReceives + 1);
    if (!accept(record)) break;
    consume(record);
    any = true;
    // After an awaited message the call returns: a look for the next one would wait for a cache line that the sender
    // still holds. Messages that nobody awaits are read to the end, because a probe may be behind them, and a rank that
    // computes calls seldom. When the peer is gone everything is read: what it wrote before counts, and progress() does
    // not look again.
    const bool goes_on = (record.kind == RecordKind::first || record.kind == RecordKind::more) && recvs_.goesOn();
    if (awaited && !end_.isLeaving() && !matcher_.expects(kPermanentReceives + 1) && !goes_on) break;
  }
  return any;
}

void Link::release() {
  if (reader_.release()) doorbell_.wakeFor(kWakeForSpace);
}

// False: nothing was taken, and the link is over.
bool Link::accept(const RingReader::Record& record) {
  Status taken;
  switch (record.kind) {
    case RecordKind::brief:
      if (!sink_.takeWhole(record.message, record.payload)) taken = memoryError(rank_);
      if (sink_.wasKept()) updateOversubscribed();
      break;
    case RecordKind::first:
      taken = recvs_.begin(record.message, record.ahead, record.payload);
      break;
    case RecordKind::more:
      taken = recvs_.more(record.message.tag, record.payload);
      break;
    case RecordKind::direct:
      return acceptDirect(record);
    default:
      acceptControl(record);
  }
  if (!taken.isOk()) breakOff(taken);
  return taken.isOk();
}

void Link::acceptControl(const RingReader::Record& record) {
  const std::uint64_t number = record.message.bytes;
  if (record.kind == RecordKind::cut) {
    recvs_.withdraw(number);
  } else if (record.kind == RecordKind::credit) {
    outbox_.onReturned(record.message.tag, number);
  } else {
    outbox_.onAnswer(number, record.kind == RecordKind::grant);
  }
}

bool Link::acceptDirect(const RingReader::Record& record) {
  DirectReceiver::Accept result = direct_receiver_.accept(record);
  if (result == DirectReceiver::Accept::unknown) {
    readPackets(); // A peer lends memory before it names the memory; the poller reports the end of the socket again.
    result = direct_receiver_.accept(record);
  }
  if (result == DirectReceiver::Accept::taken) return true;
  breakOff(result == DirectReceiver::Accept::exhausted
               ? memoryError(rank_)
               : protocolError(rank_, "a description of a message that makes no sense"));
  return false;
}

bool Link::readDirect() {
  if (end_.isOver()) return false;
  const DirectReceiver::Step step = direct_receiver_.progress();
  if (step == DirectReceiver::Step::finished) doorbell_.wakeFor(kWakeForSpace);
  if (step == DirectReceiver::Step::failed) {
    end_.setUnreadable();
    breakOff(peerLostError(rank_, "its memory cannot be read, as if its process had ended"));
  }
  reading_directly_ = step != DirectReceiver::Step::idle;
  return reading_directly_;
}

bool Link::writePending() {
  outbox_.tellOf(recvs_);
  const bool any = !outbox_.isIdle() && outbox_.run();
  if (writer_.takePublished()) doorbell_.wakeFor(kWakeForData);
  return any;
}

// Updates the flag that the sender reads before each short message. Messages that it has written until then still come
// whole.
void Link::updateOversubscribed() {
  const bool oversubscribed = matcher_.keptBytes() > roomFor(options_);
  if (oversubscribed == oversubscribed_) return;
  oversubscribed_ = oversubscribed;
  segment_.mySide().oversubscribed.store(oversubscribed ? 1 : 0, std::memory_order_relaxed);
}

void Link::socketEnded() {
  if (end_.isLeaving() || !segment_.valid()) return;
  end_.socketEnded(segment_.theirSide().goodbye.load(std::memory_order_acquire));
}

void Link::fail() {
  if (segment_.valid()) segment_.mySide().goodbye.store(kGivesUp, std::memory_order_release);
  if (socket_.valid()) ::shutdown(socket_.get(), SHUT_RDWR);
  matcher_.fail(end_.reason());
  direct_receiver_.detach();
  failSends(end_.reason());
  direct_sender_.detach();
  socket_.reset();
  segment_ = Segment();
}

void Link::failSends(const Status& status) {
  direct_sender_.fail(status, peerLostError(rank_, kStuckInMemory), end_.isLeaving());
  outbox_.fail(status);
}

bool Link::hasWork() {
  if (matcher_.hasWork() || end_.isOver()) return matcher_.hasWork() || segment_.valid();
  if (!segment_.valid()) return false;
  if (!reader_.empty() || recvs_.hasWork()) return true;
  return direct_receiver_.hasWork() || direct_sender_.hasDone() || outbox_.hasWork();
}

void Link::announceSleep() {
  if (!segment_.valid()) return;
  release();
  doorbell_.announceSleep(kWakeForData | (outbox_.isIdle() && !direct_sender_.isOutstanding() ? 0 : kWakeForSpace));
}

void Link::leave() {
  if (!segment_.valid()) return;
  bool half_sent = outbox_.isInMessage();
  if (!direct_sender_.withdrawAll()) half_sent = true;
  // A peer that leaves in the middle of a message is treated as dead.
  if (!half_sent) segment_.mySide().goodbye.store(kLeaves, std::memory_order_release);
  ::shutdown(socket_.get(), SHUT_RDWR);
}

} // namespace goss::transports::shm

#include "transports/shm/peer.h"

#include <sys/socket.h>

#include <utility>

#include "transports/common/errors.h"

namespace goss::transports::shm {

namespace {

constexpr std::uint64_t kNotQueued = 0;
constexpr std::uint64_t kQueued = 1;

} // namespace

Peer::Peer(int rank, std::size_t unexpected_limit, Deferred& deferred)
    : rank_(rank), matcher_(rank, unexpected_limit, deferred), inflow_(matcher_) {}

void Peer::attach(Segment segment, platform::UniqueFd socket) {
  segment_ = std::move(segment);
  socket_ = std::move(socket);
  writer_ = RingWriter(segment_);
  reader_ = RingReader(segment_);
}

bool Peer::send(SendOperation& operation) {
  PeerStatistics& statistics = matcher_.statistics();
  ++statistics.messages_sent;
  statistics.bytes_sent += operation.bytes;
  operation.hook.extra = kNotQueued;
  if (sends_.empty()) {
    outgoing_ = Outgoing{PieceCursor(operation.pieces), 0, false};
    bool complete = writer_.write(headerOf(operation), outgoing_);
    if (writer_.takePublished()) wakeFor(kWakeForData);
    if (complete) return true;
  }
  operation.hook.extra = kQueued;
  sends_.pushBack(operation);
  return false;
}

void Peer::cancel(SendOperation& operation) {
  if (operation.hook.extra != kQueued) return;
  bool half_sent = sends_.front() == &operation && outgoing_.started;
  sends_.remove(operation);
  operation.hook.extra = kNotQueued;
  if (half_sent) {
    breakOff(peerLostError(rank_, "we cancelled a message to it half way, which ends the connection"));
  } else if (SendOperation* next = sends_.front()) {
    if (!outgoing_.started) outgoing_ = Outgoing{PieceCursor(next->pieces), 0, false};
  }
}

bool Peer::progress() {
  bool any = matcher_.hasWork() && matcher_.drain();
  if (!segment_.valid() || isOver()) return any;
  any |= read();
  if (!socket_ended_) return writePending() || any;
  failSends(departed_ ? peerDepartedError(rank_) : peerLostError(rank_, "its process ended"));
  if (isOver()) return true;
  if (!departed_) {
    breakOff(peerLostError(rank_, "its process ended or its connection broke"));
  } else if (!reader_.empty()) {
    return any; // Held back until receives are posted.
  } else {
    departed_ = inflow_.isIdle();
    breakOff(departed_ ? peerDepartedError(rank_) : peerLostError(rank_, "it left in the middle of a message"));
  }
  return true;
}

bool Peer::read() {
  bool any = false;
  RingReader::Record record;
  while (!inflow_.isStalled() && !isOver()) {
    RingReader::Peek found = reader_.peek(record);
    if (found == RingReader::Peek::none) break;
    if (found == RingReader::Peek::corrupt) {
      breakOff(protocolError(rank_, "a corrupt record through shared memory"));
      break;
    }
    if (!accept(record)) break;
    reader_.pop(record);
    any = true;
    // Early enough that the producer of a long message never waits, seldom enough that its line stays where it is.
    if (reader_.unreleased() >= segment_.ringBytes() / 8) release();
  }
  // The rest goes back when there is nothing better to do: an eighth of the ring cannot hold the producer up.
  if (!any) release();
  return any;
}

void Peer::release() {
  if (reader_.release()) wakeFor(kWakeForRoom);
}

// False: nothing was taken, because the message must wait or the record makes no sense here.
bool Peer::accept(const RingReader::Record& record) {
  const RecordHeader& header = record.header;
  bool begins = header.kind != RecordKind::more;
  if (begins != inflow_.isIdle() || header.piece_bytes > (begins ? header.bytes : inflow_.remaining())) {
    breakOff(protocolError(rank_, "a record of shared memory out of order"));
    return false;
  }
  if (begins && !inflow_.begin({header.tag, header.bytes, header.envelope})) return false;
  inflow_.deliver(record.payload);
  return true;
}

bool Peer::writePending() {
  bool any = false;
  while (SendOperation* operation = sends_.front()) {
    std::uint64_t before = outgoing_.written;
    bool complete = writer_.write(headerOf(*operation), outgoing_);
    any |= complete || outgoing_.written != before;
    if (!complete) break;
    sends_.popFront();
    operation->hook.extra = kNotQueued;
    if (SendOperation* next = sends_.front()) outgoing_ = Outgoing{PieceCursor(next->pieces), 0, false};
    operation->onSent(Status::ok());
    if (isOver()) break;
  }
  if (writer_.takePublished()) wakeFor(kWakeForData);
  return any;
}

// The seq_cst load pairs with the store of prepareToSleep(), after our own seq_cst store of what we published.
void Peer::wakeFor(std::uint32_t reason) {
  std::atomic<std::uint32_t>& sleeping = segment_.theirSide().sleeping;
  if ((sleeping.load(std::memory_order_seq_cst) & reason) == 0) return;
  if (sleeping.exchange(0, std::memory_order_seq_cst) == 0) return;
  const char bell = 1;
  // When the socket is full the peer has bells enough; when it is closed its end will be seen.
  [[maybe_unused]] ssize_t rung = ::send(socket_.get(), &bell, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Peer::socketEnded() {
  if (socket_ended_ || !segment_.valid()) return;
  socket_ended_ = true;
  departed_ = segment_.theirSide().goodbye.load(std::memory_order_acquire) != 0;
}

void Peer::breakOff(const Status& reason) {
  if (!isOver()) reason_ = reason;
}

void Peer::fail() {
  if (socket_.valid()) ::shutdown(socket_.get(), SHUT_RDWR);
  matcher_.fail(reason_);
  failSends(reason_);
  socket_.reset();
  segment_ = Segment();
}

void Peer::failSends(const Status& status) {
  while (SendOperation* operation = sends_.popFront()) {
    operation->hook.extra = kNotQueued;
    operation->onSent(status);
  }
}

bool Peer::hasWork() {
  if (matcher_.hasWork() || isOver()) return matcher_.hasWork() || segment_.valid();
  if (!segment_.valid()) return false;
  if (!reader_.empty() && !inflow_.isStalled()) return true;
  SendOperation* next = sends_.front();
  return next && writer_.hasRoomFor(next->bytes, outgoing_);
}

bool Peer::prepareToSleep() {
  if (segment_.valid()) {
    release();
    std::uint32_t reasons = kWakeForData | (sends_.empty() ? 0 : kWakeForRoom);
    segment_.mySide().sleeping.store(reasons, std::memory_order_seq_cst);
  }
  return !hasWork();
}

void Peer::sleepEnded() {
  if (segment_.valid()) segment_.mySide().sleeping.store(0, std::memory_order_relaxed);
}

void Peer::sayGoodbye() {
  if (!segment_.valid()) return;
  bool half_sent = !sends_.empty() && outgoing_.started;
  if (!half_sent) segment_.mySide().goodbye.store(1, std::memory_order_release);
  ::shutdown(socket_.get(), SHUT_RDWR);
}

} // namespace goss::transports::shm

#include "transports/mpi/outbox.h"

#include <algorithm>
#include <utility>

#include "transports/common/parted_recvs.h"
#include "transports/mpi/session.h"

namespace goss::transports::mpi {

namespace {

// SendOperation::hook.extra says where the operation is: nowhere, in the queue, or the address of its Open.
constexpr std::uint64_t kNowhere = 0;
constexpr std::uint64_t kQueued = 1;
// A peer keeps up to so many bytes of messages that have no receive, GOSS_UNEXPECTED_BYTES permitting, and up to so
// many of one in parts: what is sent while a grant is on its way.
constexpr std::size_t kWindowBytes = 4u << 20;
constexpr std::size_t kAheadBytes = 256u << 10;

} // namespace

Outbox::Outbox(int peer, std::size_t unexpected_limit, std::uint64_t& movements, FlowBytes& owed)
    : peer_(peer), movements_(movements), owed_(owed) {
  sends_.setLimit(std::min(unexpected_limit, kWindowBytes), kAheadBytes);
}

void Outbox::open(MPI_Comm comm, const std::array<std::byte, 16>& job) {
  comm_ = comm;
  slots_ = SlotsPointer(new Slots);
  FrameHeader hello;
  hello.kind = FrameHeader::Kind::hello;
  std::copy(job.begin(), job.end(), hello.message.envelope.begin());
  send(hello, nullptr, 0);
}

void Outbox::start(MPI_Request& request, std::span<const std::byte> frame) {
  ++movements_;
  const int code =
      MPI_Issend(frame.data(), static_cast<int>(frame.size()), MPI_BYTE, peer_, kFrameTag, comm_, &request);
  if (code == MPI_SUCCESS) return;
  request = MPI_REQUEST_NULL;
  if (trouble_.isOk()) trouble_ = mpiError(peer_, "MPI_Issend failed", code);
}

void Outbox::send(const FrameHeader& header, PieceCursor* payload, std::size_t bytes) {
  const auto slot = std::find_if(slots_->frames.begin(), slots_->frames.end(),
                                 [](const auto& one) { return one.request == MPI_REQUEST_NULL; });
  const std::span<std::byte> frame = std::span(slot->bytes).first(FrameHeader::kBytes + bytes);
  encodeFrame(header, frame.first<FrameHeader::kBytes>());
  if (bytes > 0) payload->gather(frame.subspan(FrameHeader::kBytes));
  start(slot->request, frame);
  if (slot->request != MPI_REQUEST_NULL) ++busy_;
}

bool Outbox::post(SendOperation& operation, bool now) {
  operation.hook.extra = kNowhere;
  if (now && queue_.empty() && hasRoom()) return launch(operation);
  operation.hook.extra = kQueued;
  queue_.pushBack(operation);
  return false;
}

bool Outbox::launch(SendOperation& operation) {
  operation.hook.extra = kNowhere;
  if (operation.bytes > kMostPayloadBytes || !sends_.mayGo(operation.tag, operation.bytes)) {
    auto* open = new Open;
    open_.insert(open);
    open->operation = &operation;
    operation.hook.extra = reinterpret_cast<std::uintptr_t>(open);
    sends_.begin(*open, operation);
    if (!sendPart(*open, FrameHeader::Kind::first)) return false;
    operation.hook.extra = kNowhere;
    forget(*open);
    return true;
  }
  FrameHeader header;
  header.message = {operation.tag, operation.bytes, operation.envelope};
  header.returned = takeOwed(owed_, operation.tag);
  PieceCursor cursor(operation.pieces);
  send(header, &cursor, operation.bytes);
  return true;
}

bool Outbox::sendPart(Open& open, FrameHeader::Kind kind) {
  const SendOperation& operation = *open.operation;
  const std::size_t bytes = std::min<std::size_t>(open.allowed_bytes, kMostPayloadBytes);
  FrameHeader header;
  header.kind = kind;
  header.message = {operation.tag, operation.bytes, operation.envelope};
  header.extra = kind == FrameHeader::Kind::first ? open.allowed_bytes : open.number;
  header.returned = takeOwed(owed_, operation.tag);
  send(header, &open.rest, bytes);
  if (bytes > 0) sends_.advance(open, bytes);
  return open.rest_bytes == 0;
}

void Outbox::onAnswer(FrameHeader::Kind kind, std::uint64_t number) {
  if (kind == FrameHeader::Kind::grant) {
    sends_.grant(number);
  } else if (PartedSend* open = sends_.skip(number)) {
    skipped_.push_back(static_cast<Open*>(open));
  }
}

void Outbox::forget(Open& open) {
  open_.erase(&open);
  delete &open;
}

void Outbox::complete(Open& open, const Status& status) {
  SendOperation& operation = *open.operation;
  operation.hook.extra = kNowhere;
  forget(open);
  operation.onSent(status);
}

void Outbox::cancel(SendOperation& operation) {
  const std::uint64_t where = std::exchange(operation.hook.extra, kNowhere);
  if (where == kQueued) queue_.remove(operation);
  if (where <= kQueued) return;
  Open& open = *reinterpret_cast<Open*>(where);
  std::erase(skipped_, &open);
  if (open.rest_bytes > 0) {
    FrameHeader cut;
    cut.kind = FrameHeader::Kind::cut;
    cut.extra = open.number;
    tell(cut);
    sends_.end(open);
  }
  forget(open);
}

bool Outbox::test(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return false;
  int done = 0;
  const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) return done != 0;
  request = MPI_REQUEST_NULL;
  if (trouble_.isOk()) trouble_ = mpiError(peer_, "sending to it failed", code);
  return true;
}

bool Outbox::reap() {
  if (!slots_) return false;
  bool any = test(slots_->extra.request);
  for (auto& slot : slots_->frames) {
    if (busy_ == 0 || !test(slot.request)) continue;
    --busy_;
    any = true;
  }
  return any;
}

bool Outbox::sendNext() {
  // Headers before the other bytes of messages: none is to wait for those of another one.
  if (!controls_.empty()) {
    send(controls_.front(), nullptr, 0);
    controls_.pop_front();
  } else if (!queue_.empty()) {
    SendOperation& operation = *queue_.popFront();
    if (launch(operation)) operation.onSent(Status::ok());
  } else if (PartedSend* next = sends_.next()) {
    Open& open = static_cast<Open&>(*next);
    if (sendPart(open, FrameHeader::Kind::more)) complete(open, Status::ok());
  } else {
    return false;
  }
  return true;
}

bool Outbox::run() {
  bool any = reap();
  while (!skipped_.empty()) {
    Open& open = *skipped_.back();
    skipped_.pop_back();
    complete(open, Status::ok());
    any = true;
  }
  while (hasRoom() && trouble_.isOk() && sendNext())
    any = true;
  return any;
}

void Outbox::end(FrameHeader::Kind kind) {
  if (!slots_ || ended_) return;
  ended_ = true;
  FrameHeader header;
  header.kind = kind;
  encodeFrame(header, std::span(slots_->extra.bytes));
  start(slots_->extra.request, slots_->extra.bytes);
}

void Outbox::fail(const Status& status) {
  controls_.clear();
  sends_.clear();
  skipped_.clear();
  while (!open_.empty())
    complete(**open_.begin(), status);
  while (SendOperation* operation = queue_.popFront()) {
    operation->hook.extra = kNowhere;
    operation->onSent(status);
  }
}

} // namespace goss::transports::mpi

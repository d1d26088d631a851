#include "transports/mpi/outbox.h"

#include <algorithm>

#include "transports/mpi/session.h"

namespace goss::transports::mpi {

namespace {

// SendOperation::hook.extra: whether the operation is in the queue.
constexpr std::uint64_t kNowhere = 0;
constexpr std::uint64_t kQueued = 1;

} // namespace

void Outbox::open(MPI_Comm comm, const std::array<std::byte, 16>& job) {
  comm_ = comm;
  slots_ = SlotsPointer(new Slots);
  FrameHeader hello;
  hello.kind = FrameHeader::Kind::hello;
  std::copy(job.begin(), job.end(), hello.message.envelope.begin());
  send(hello, nullptr);
}

void Outbox::start(MPI_Request& request, std::span<const std::byte> frame) {
  ++movements_;
  const int code =
      MPI_Issend(frame.data(), static_cast<int>(frame.size()), MPI_BYTE, peer_, kFrameTag, comm_, &request);
  if (code == MPI_SUCCESS) return;
  request = MPI_REQUEST_NULL;
  if (trouble_.isOk()) trouble_ = mpiError(peer_, "MPI_Issend failed", code);
}

void Outbox::send(const FrameHeader& header, PieceCursor* payload) {
  const auto slot = std::find_if(slots_->frames.begin(), slots_->frames.end(),
                                 [](const auto& one) { return one.request == MPI_REQUEST_NULL; });
  const std::span<std::byte> bytes(slot->bytes);
  encodeFrame(header, bytes.first<FrameHeader::kBytes>());
  const std::size_t carried = payload == nullptr ? 0 : payload->gather(bytes.subspan(FrameHeader::kBytes));
  left_ -= carried;
  start(slot->request, bytes.first(FrameHeader::kBytes + carried));
  if (slot->request != MPI_REQUEST_NULL) ++busy_;
}

void Outbox::begin(SendOperation& operation) {
  begun_ = &operation;
  cursor_ = PieceCursor(operation.pieces);
  left_ = operation.bytes;
}

bool Outbox::sendFrame() {
  FrameHeader header;
  header.kind = left_ == begun_->bytes ? FrameHeader::Kind::first : FrameHeader::Kind::more;
  header.message = {begun_->tag, begun_->bytes, begun_->envelope};
  send(header, &cursor_);
  if (left_ > 0) return false;
  begun_ = nullptr;
  return true;
}

bool Outbox::post(SendOperation& operation, bool now) {
  operation.hook.extra = kNowhere;
  if (now && queue_.empty() && operation.bytes <= kMostPayloadBytes && hasRoom()) {
    begin(operation);
    return sendFrame();
  }
  operation.hook.extra = kQueued;
  queue_.pushBack(operation);
  return false;
}

bool Outbox::cancel(SendOperation& operation) {
  if (operation.hook.extra != kQueued) return true;
  queue_.remove(operation);
  operation.hook.extra = kNowhere;
  if (begun_ != &operation) return true;
  begun_ = nullptr;
  remainder_ = Remainder::of(operation, cursor_, left_);
  if (!remainder_) return false;
  queue_.pushFront(*remainder_);
  begun_ = remainder_.get();
  cursor_ = PieceCursor(remainder_->pieces);
  return true;
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

bool Outbox::run(bool remainder_alone) {
  bool any = reap();
  while (!queue_.empty() && hasRoom() && trouble_.isOk()) {
    SendOperation& operation = *queue_.front();
    if (begun_ == nullptr) begin(operation);
    any = true;
    if (!sendFrame()) continue;
    queue_.remove(operation);
    if (&operation == remainder_.get()) {
      remainder_.reset();
      if (remainder_alone) break;
      continue;
    }
    operation.hook.extra = kNowhere;
    operation.onSent(Status::ok());
  }
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

void Outbox::alarm() {
  if (!slots_) return;
  // Of no bytes: MPI needs nothing of ours for it, so its request may be forgotten.
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Isend(nullptr, 0, MPI_BYTE, peer_, kAlarmTag, comm_, &request) == MPI_SUCCESS) MPI_Request_free(&request);
}

void Outbox::fail(const Status& status) {
  begun_ = nullptr;
  while (SendOperation* operation = queue_.popFront()) {
    operation->hook.extra = kNowhere;
    operation->onSent(status);
  }
  remainder_.reset();
}

} // namespace goss::transports::mpi

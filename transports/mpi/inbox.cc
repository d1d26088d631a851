#include "transports/mpi/inbox.h"

#include <algorithm>

#include "platform/host.h"
#include "transports/common/errors.h"
#include "transports/mpi/session.h"

namespace goss::transports::mpi {

void Inbox::open(MPI_Comm comm, const std::array<std::byte, 16>& job) {
  comm_ = comm;
  job_ = job;
  buffers_ = FrameBuffersPointer(new FrameBuffers);
  for (auto& buffer : buffers_->frames)
    post(buffer);
}

void Inbox::post(FrameBuffer<kMaxFrameBytes>& buffer) {
  const int code = MPI_Irecv(buffer.bytes.data(), static_cast<int>(buffer.bytes.size()), MPI_BYTE, matcher_.peer(),
                             kFrameTag, comm_, &buffer.request);
  if (code == MPI_SUCCESS) return;
  buffer.request = MPI_REQUEST_NULL;
  fail(mpiError(matcher_.peer(), "MPI_Irecv failed", code));
}

bool Inbox::receive() {
  int done = 0;
  MPI_Status status;
  MPI_Request& request = buffers_->frames[next_].request;
  const int code = MPI_Test(&request, &done, &status);
  if (code != MPI_SUCCESS) {
    request = MPI_REQUEST_NULL;
    fail(mpiError(matcher_.peer(), "receiving from it failed", code));
    return false;
  }
  if (done == 0) return false;
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  held_bytes_ = static_cast<std::size_t>(bytes);
  if (held_bytes_ == 0) fail(protocolError(matcher_.peer(), "a frame without a header"));
  ++matcher_.statistics().movements;
  return held_bytes_ > 0;
}

void Inbox::advance() {
  held_bytes_ = 0;
  post(buffers_->frames[next_]);
  next_ = (next_ + 1) % buffers_->frames.size();
}

bool Inbox::run() {
  // Takes one round of the buffers, so that other links get their turn.
  for (std::size_t i = 0; i < buffers_->frames.size(); ++i) {
    if (ended_ || !trouble_.isOk() || (held_bytes_ == 0 && !receive())) return i > 0;
    take(held());
    advance();
  }
  return true;
}

void Inbox::take(std::span<const std::byte> frame) {
  const auto header = decodeFrame(frame);
  if (!header || greeted_ != (header->kind != FrameHeader::Kind::hello)) {
    fail(protocolError(matcher_.peer(), "a frame that makes no sense"));
    return;
  }
  if (header->returned > 0) outbox_.onReturned(header->message.tag, header->returned);
  if (header->kind < FrameHeader::Kind::message || header->kind > FrameHeader::Kind::more) {
    takeControl(*header);
  } else if (Status taken = takePayload(*header, frame.subspan(FrameHeader::kBytes)); !taken.isOk()) {
    fail(taken);
  }
}

Status Inbox::takePayload(const FrameHeader& header, std::span<const std::byte> payload) {
  if (header.kind == FrameHeader::Kind::more) return recvs_.more(header.extra, payload);
  if (header.kind == FrameHeader::Kind::first) return recvs_.begin(header.message, header.extra, payload);
  if (header.message.bytes != payload.size())
    return protocolError(matcher_.peer(), "a message that is not as long as it says");
  return recvs_.message(header.message, payload);
}

void Inbox::takeControl(const FrameHeader& header) {
  using Kind = FrameHeader::Kind;
  if (header.kind == Kind::hello) {
    const std::span<const std::byte> shown(header.message.envelope.data(), job_.size());
    greeted_ = platform::equalInConstantTime(shown, job_);
    if (!greeted_) fail(protocolError(matcher_.peer(), "the secret of another world"));
  } else if (header.kind == Kind::cut) {
    recvs_.withdraw(header.extra);
  } else if (header.kind == Kind::grant || header.kind == Kind::skip) {
    outbox_.onAnswer(header.extra, header.kind == Kind::grant);
  } else if (header.kind != Kind::credit) {
    ended_ = true;
    departed_ = header.kind == Kind::goodbye;
    if (!departed_) fail(peerLostError(matcher_.peer(), "it has given up the link to this rank"));
  }
}

void Inbox::drop() {
  for (std::size_t i = 0; buffers_ && i < buffers_->frames.size(); ++i) {
    if (ended_) return;
    if (held_bytes_ == 0 && (buffers_->frames[next_].request == MPI_REQUEST_NULL || !receive())) return;
    const auto header = decodeFrame(held());
    ended_ = header && (header->kind == FrameHeader::Kind::goodbye || header->kind == FrameHeader::Kind::broken);
    advance();
  }
}

bool Inbox::close() {
  if (!buffers_) return true;
  const auto withdraw = [](MPI_Request& request) {
    if (request == MPI_REQUEST_NULL) return;
    int done = 0;
    MPI_Cancel(&request);
    // A cancelled receive that has matched completes only when its message has arrived, which may never happen.
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) request = MPI_REQUEST_NULL;
  };
  for (auto& buffer : buffers_->frames)
    withdraw(buffer.request);
  return buffers_->isIdle();
}

} // namespace goss::transports::mpi

#include "transports/mpi/outbox.h"

#include <algorithm>

#include "transports/common/multipart_recvs.h"
#include "transports/mpi/session.h"

namespace goss::transports::mpi {

namespace {

// Bytes of a message in parts that are sent before the peer has granted it: they travel while the grant comes back.
constexpr std::size_t kAheadBytes = 256u << 10;

} // namespace

Outbox::Outbox(int peer, std::size_t unexpected_limit, std::uint64_t& movements, FlowBytes& owed)
    : peer_(peer), movements_(movements), owed_(owed) {
  sends_.setLimit(std::min(unexpected_limit, kWindowBytes), kAheadBytes);
}

void Outbox::open(MPI_Comm comm, const std::array<std::byte, 16>& job) {
  comm_ = comm;
  buffers_ = FrameBuffersPointer(new FrameBuffers);
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
  const auto buffer = std::find_if(buffers_->frames.begin(), buffers_->frames.end(),
                                   [](const auto& one) { return one.request == MPI_REQUEST_NULL; });
  const std::span<std::byte> frame = std::span(buffer->bytes).first(FrameHeader::kBytes + bytes);
  encodeFrame(header, frame.first<FrameHeader::kBytes>());
  if (bytes > 0) payload->gather(frame.subspan(FrameHeader::kBytes));
  start(buffer->request, frame);
  if (buffer->request != MPI_REQUEST_NULL) ++busy_;
}

void Outbox::write(const ControlFrame& frame) {
  using Kind = ControlFrame::Kind;
  FrameHeader header;
  header.kind = frame.kind == Kind::grant  ? FrameHeader::Kind::grant
                : frame.kind == Kind::skip ? FrameHeader::Kind::skip
                : frame.kind == Kind::cut  ? FrameHeader::Kind::cut
                                           : FrameHeader::Kind::credit;
  if (frame.kind == Kind::credit) {
    header.message.tag = frame.tag;
    header.returned = frame.number;
  } else {
    header.extra = frame.number;
  }
  send(header, nullptr, 0);
}

void Outbox::writeWhole(const SendOperation& operation) {
  FrameHeader header;
  header.message = {operation.tag, operation.bytes, operation.envelope};
  header.returned = takeOwed(owed_, operation.tag);
  PieceCursor cursor(operation.pieces);
  send(header, &cursor, operation.bytes);
}

std::size_t Outbox::writePart(const SendOperation& operation, MultipartSend& part, bool first) {
  const std::size_t bytes = std::min<std::size_t>(part.allowed_bytes, kMaxPayloadBytes);
  FrameHeader header;
  header.kind = first ? FrameHeader::Kind::first : FrameHeader::Kind::more;
  header.message = {operation.tag, operation.bytes, operation.envelope};
  header.extra = first ? part.allowed_bytes : part.number;
  header.returned = takeOwed(owed_, operation.tag);
  send(header, &part.rest, bytes);
  return bytes;
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
  if (!buffers_) return false;
  bool any = test(buffers_->extra.request);
  for (auto& buffer : buffers_->frames) {
    if (busy_ == 0 || !test(buffer.request)) continue;
    --busy_;
    any = true;
  }
  return any;
}

void Outbox::end(FrameHeader::Kind kind) {
  if (!buffers_ || ended_) return;
  ended_ = true;
  FrameHeader header;
  header.kind = kind;
  encodeFrame(header, std::span(buffers_->extra.bytes));
  start(buffers_->extra.request, buffers_->extra.bytes);
}

} // namespace goss::transports::mpi

#include "transports/shm/outbox.h"

namespace goss::transports::shm {

MultipartOutbox::Elsewhere Outbox::sendElsewhere(SendOperation& operation) {
  switch (direct_.offer(operation, writer_, writer_.isFar())) {
    case DirectSender::Offer::full:
      return Elsewhere::full;
    case DirectSender::Offer::offered:
      return Elsewhere::taken;
    case DirectSender::Offer::unfit:
      break;
  }
  return Elsewhere::no;
}

bool Outbox::goesWhole(const SendOperation& operation) {
  if (operation.bytes <= kShortBytes && (operation.tag == kUrgentTag || !isOversubscribed())) return true;
  // The peer wrote its limit before it read or wrote anything; until it is visible here, nothing is sent without a
  // grant.
  if (sends_.limit() == 0) sends_.setLimit(their_side_->room.load(std::memory_order_relaxed), ring_bytes_);
  return false;
}

void Outbox::write(const ControlFrame& frame) {
  using Kind = ControlFrame::Kind;
  const RecordKind kind = frame.kind == Kind::grant  ? RecordKind::grant
                          : frame.kind == Kind::skip ? RecordKind::skip
                          : frame.kind == Kind::cut  ? RecordKind::cut
                                                     : RecordKind::credit;
  writer_.writeControl(kind, frame.tag, frame.number);
}

void Outbox::writeWhole(const SendOperation& operation) {
  writer_.writeShort({operation.tag, operation.bytes, operation.envelope}, PieceCursor(operation.pieces));
}

std::size_t Outbox::writePart(const SendOperation& operation, MultipartSend& send, bool first) {
  const RecordKind kind = first ? RecordKind::first : RecordKind::more;
  return writer_.writePiece(kind, {first ? operation.tag : send.number, operation.bytes, operation.envelope}, send.rest,
                            send.allowed_bytes);
}

} // namespace goss::transports::shm

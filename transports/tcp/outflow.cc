#include "transports/tcp/outflow.h"

#include <algorithm>
#include <array>

#include "platform/stream.h"

namespace goss::transports::tcp {

namespace {

constexpr std::size_t kMostPieces = 16;
/// Most bytes in one system call: the system copies them while they are warm, and reading gets its turn.
constexpr std::size_t kMostPerWrite = 512 * 1024;
/// Most bytes in one turn: a reader that keeps up must not keep the writer from its other work.
constexpr std::size_t kMostPerTurn = 4 * 1024 * 1024;
/// Below this one connection is as fast as many.
constexpr std::uint64_t kStripeFrom = 2 * kStripeBytes;

/// So many bytes without a pace of their own, one after the other, end that of before; fewer are not worth telling the
/// system.
constexpr std::uint64_t kUnpacedFrom = 32 * 1024;

/// SendOperation::hook.cursor while it is in the queue, and 0 elsewhere.
constexpr std::uint64_t kWaiting = 1;
constexpr std::uint64_t kUnderWay = 2;

} // namespace

bool Outflow::post(SendOperation& operation) {
  const bool first = queue_.empty();
  operation.hook.cursor = first ? kUnderWay : kWaiting;
  queue_.pushBack(operation);
  if (!first) return false;
  begin(operation);
  // A broken connection stays readable, so progress() finds out why and whose fault it is.
  if (writeHead() != Progress::done) return false;
  queue_.popFront();
  operation.hook.cursor = 0;
  return true;
}

bool Outflow::flush() {
  moved_ = false;
  for (Connection& connection : connections_)
    connection.flush();
  while (SendOperation* head = queue_.front()) {
    if (writeHead() != Progress::done) break;
    queue_.popFront();
    head->hook.cursor = 0;
    if (SendOperation* next = queue_.front()) {
      next->hook.cursor = kUnderWay;
      begin(*next);
    }
    moved_ = true;
    if (head == remainder_.get()) {
      remainder_.reset();
    } else {
      head->onSent(Status::ok());
    }
  }
  return moved_;
}

bool Outflow::cancel(SendOperation& operation) {
  if (operation.hook.cursor == 0) return true;
  const bool untouched =
      operation.hook.cursor == kWaiting || (frame_left_ == kFrameBytes && payload_left_ == operation.bytes);
  const bool was_head = queue_.front() == &operation;
  queue_.remove(operation);
  operation.hook.cursor = 0;
  if (!untouched) return continueAsCopy(operation);
  if (was_head && untouched && !queue_.empty()) {
    queue_.front()->hook.cursor = kUnderWay;
    begin(*queue_.front());
  }
  return true;
}

bool Outflow::continueAsCopy(SendOperation& operation) {
  // The payload connections are at different places; a copy of everything serves them all.
  remainder_ = striped_ ? Remainder::of(operation, PieceCursor(operation.pieces), operation.bytes)
                        : Remainder::of(operation, cursor_, payload_left_);
  if (!remainder_) return false;
  cursor_ = PieceCursor(remainder_->pieces);
  for (Share& share : shares_) {
    if (!striped_ || share.left == 0) continue;
    share.cursor = cursor_;
    share.cursor.advance(static_cast<std::size_t>(share.at));
  }
  remainder_->hook.cursor = kUnderWay;
  queue_.pushFront(*remainder_);
  return true;
}

void Outflow::fail(const Status& status) {
  while (SendOperation* operation = queue_.popFront()) {
    operation->hook.cursor = 0;
    operation->onSent(status);
  }
  remainder_.reset();
}

bool Outflow::probe() {
  // What waits for an acknowledgement probes by itself, and so do bytes that are not written yet.
  if (!queue_.empty() || connections_[0].hasOutput() || platform::unacknowledgedBytes(connections_[0].fd()) > 0)
    return true;
  const FrameBytes frame = encodeFrame(FrameKind::probe, {});
  const std::size_t written = connections_[0].write(frame.data(), frame.size()).bytes;
  return written == 0 || written == frame.size();
}

void Outflow::goodbye() {
  if (hasSaidGoodbye() || !queue_.empty()) return;
  if (!said_goodbye_) {
    frame_ = encodeFrame(FrameKind::goodbye, {});
    frame_left_ = kFrameBytes;
  }
  // A full socket swallows it: the peer then reads an end without goodbye, from a process that closed with much unread.
  const std::size_t written = connections_[0].write(frame_.data() + (kFrameBytes - frame_left_), frame_left_).bytes;
  frame_left_ -= written;
  said_goodbye_ = said_goodbye_ || written > 0;
}

void Outflow::begin(const SendOperation& operation) {
  striped_ = connections_.size() > 1 && operation.bytes >= kStripeFrom;
  frame_ = encodeFrame(striped_ ? FrameKind::striped : FrameKind::message,
                       {operation.tag, operation.bytes, operation.envelope});
  frame_left_ = kFrameBytes;
  payload_left_ = operation.bytes;
  cursor_ = PieceCursor(operation.pieces);
  pace(operation);
  if (striped_) beginShares(operation);
}

/// The connections that carry the payload share it.
void Outflow::pace(const SendOperation& operation) {
  const std::uint64_t pace = operation.pace_bytes_per_s;
  unpaced_bytes_ = pace > 0 ? 0 : unpaced_bytes_ + operation.bytes;
  if (pace == 0 && unpaced_bytes_ < kUnpacedFrom) return;
  const std::size_t first = striped_ ? 1 : 0;
  const std::size_t end = striped_ ? connections_.size() : 1;
  const std::uint64_t share = pace == 0 ? 0 : std::max<std::uint64_t>(pace / (end - first), 1);
  for (std::size_t index = first; index < end; ++index)
    connections_[index].pace(share);
}

void Outflow::beginShares(const SendOperation& operation) {
  const std::size_t count = connections_.size() - 1;
  const std::uint64_t stripes = (operation.bytes + kStripeBytes - 1) / kStripeBytes;
  shares_.assign(count, {});
  for (std::uint64_t turn = 0; turn < std::min<std::uint64_t>(count, stripes); ++turn) {
    Share& share = shares_[(next_share_ + turn) % count];
    share.cursor = PieceCursor(operation.pieces);
    share.at = turn * kStripeBytes;
    share.cursor.advance(static_cast<std::size_t>(share.at));
    // Full rounds, and of the last round as much as falls to this one.
    const std::uint64_t round = count * kStripeBytes;
    const std::uint64_t rest = operation.bytes % round;
    const std::uint64_t before = turn * kStripeBytes;
    share.left = operation.bytes / round * kStripeBytes;
    if (rest > before) share.left += std::min<std::uint64_t>(rest - before, kStripeBytes);
    share.left_in_piece = static_cast<std::size_t>(std::min<std::uint64_t>(share.left, kStripeBytes));
  }
  next_share_ = static_cast<std::size_t>((next_share_ + stripes) % count);
}

Outflow::Progress Outflow::writeHead() {
  Progress worst = writeFrame();
  if (striped_ && frame_left_ == 0) {
    for (std::size_t index = 0; index < shares_.size() && worst != Progress::broken; ++index) {
      const Progress share = writeShare(index);
      if (share != Progress::done) worst = share;
    }
  }
  return worst;
}

Outflow::Progress Outflow::writeFrame() {
  std::size_t turn = 0;
  while (frame_left_ > 0 || (!striped_ && payload_left_ > 0)) {
    std::array<iovec, kMostPieces> pieces;
    std::size_t count = 0;
    std::size_t wanted = frame_left_;
    if (frame_left_ > 0) pieces[count++] = {frame_.data() + (kFrameBytes - frame_left_), frame_left_};
    if (!striped_) {
      const std::size_t listed = cursor_.list(std::span(pieces).subspan(count), kMostPerWrite);
      for (std::size_t i = 0; i < listed; ++i)
        wanted += pieces[count + i].iov_len;
      count += listed;
    }
    const platform::StreamResult result = connections_[0].write(std::span<const iovec>(pieces.data(), count));
    if (result.ended) return Progress::broken;
    moved_ = moved_ || result.bytes > 0;
    const std::size_t of_frame = std::min(result.bytes, frame_left_);
    frame_left_ -= of_frame;
    cursor_.advance(result.bytes - of_frame);
    payload_left_ -= result.bytes - of_frame;
    turn += result.bytes;
    const bool more = frame_left_ > 0 || (!striped_ && payload_left_ > 0);
    if (result.bytes < wanted || (more && turn >= kMostPerTurn)) {
      connections_[0].watchWrites(true);
      return Progress::blocked;
    }
  }
  connections_[0].watchWrites(false);
  return Progress::done;
}

Outflow::Progress Outflow::writeShare(std::size_t index) {
  Share& share = shares_[index];
  Connection& connection = connections_[index + 1];
  while (share.left > 0) {
    std::array<iovec, kMostPieces> pieces;
    const std::size_t count = share.cursor.list(pieces, share.left_in_piece);
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < count; ++i)
      wanted += pieces[i].iov_len;
    const platform::StreamResult result = connection.write(std::span<const iovec>(pieces.data(), count));
    if (result.ended) return Progress::broken;
    moved_ = moved_ || result.bytes > 0;
    payload_left_ -= result.bytes;
    share.left -= result.bytes;
    share.left_in_piece -= result.bytes;
    share.cursor.advance(result.bytes);
    share.at += result.bytes;
    if (share.left_in_piece == 0 && share.left > 0) {
      share.cursor.advance((shares_.size() - 1) * kStripeBytes);
      share.at += (shares_.size() - 1) * kStripeBytes;
      share.left_in_piece = static_cast<std::size_t>(std::min<std::uint64_t>(share.left, kStripeBytes));
    }
    if (result.bytes < wanted) {
      connection.watchWrites(true);
      return Progress::blocked;
    }
  }
  connection.watchWrites(false);
  return Progress::done;
}

} // namespace goss::transports::tcp

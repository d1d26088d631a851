#include "transports/tcp/intake.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "platform/stream.h"

namespace goss::transports::tcp {

namespace {

constexpr std::size_t kMostPieces = 16;
constexpr std::size_t kMostPerRead = 256 * 1024;
/// Steps in one turn, a frame or a read each: sending and the other peers get theirs.
constexpr int kMostSteps = 32;

} // namespace

Intake::Intake(std::vector<Connection>& connections, Matcher& matcher)
    : connections_(connections),
      matcher_(matcher),
      inflow_(matcher),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

bool Intake::run() {
  bool any = false;
  dry_ = false;
  for (int steps = 0; steps < kMostSteps && end_ == End::none; ++steps) {
    const Step done = step();
    any = any || done == Step::moved;
    if (done != Step::moved) break;
  }
  // When the turn ended before the bytes did, the poller calls again.
  if (striped_ && end_ == End::none) connections_[turn_ + 1].watchReads(true);
  return any;
}

bool Intake::salvage() {
  std::string rest(buffer_.get() + taken_, buffered());
  std::array<char, 16384> bytes;
  platform::StreamResult got;
  do {
    got = connections_[0].read(bytes.data(), bytes.size());
    rest.append(bytes.data(), got.bytes);
  } while (got.bytes > 0);
  Frame last;
  const bool goodbye = rest.size() >= kFrameBytes &&
                       decodeFrame(std::string_view(rest).substr(rest.size() - kFrameBytes), last) &&
                       last.kind == FrameKind::goodbye;
  if (!goodbye) {
    finish(End::closed, connections_[0].reason(got));
    return false;
  }
  // Messages that the peer had completed are still to be delivered; nothing more comes from the socket.
  capacity_ = rest.size();
  buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
  std::memcpy(buffer_.get(), rest.data(), rest.size());
  taken_ = 0;
  filled_ = rest.size();
  connections_[0].close();
  return true;
}

bool Intake::hasWork() const {
  if (end_ != End::none) return false;
  if (inflow_.isIdle()) return hasFrame() ? !inflow_.isStalled() : connections_[0].hasInput();
  if (striped_) return connections_[turn_ + 1].hasInput();
  return buffered() > 0 || connections_[0].hasInput();
}

Intake::Step Intake::step() {
  if (inflow_.isIdle()) return hasFrame() ? handleFrame() : readFrames();
  return striped_ ? readStripe() : readPayload();
}

Intake::Step Intake::readFrames() {
  if (dry_) return Step::blocked;
  if (taken_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + taken_, buffered());
    filled_ -= std::exchange(taken_, 0);
  }
  const platform::StreamResult got = connections_[0].read(buffer_.get() + filled_, capacity_ - filled_);
  if (got.ended) return finish(End::closed, connections_[0].reason(got));
  filled_ += got.bytes;
  dry_ = filled_ < capacity_;
  return got.bytes > 0 ? Step::moved : Step::blocked;
}

Intake::Step Intake::handleFrame() {
  // A refused message would be refused again: nothing has changed.
  if (inflow_.isStalled()) return Step::stalled;
  Frame frame;
  const bool valid = decodeFrame({buffer_.get() + taken_, kFrameBytes}, frame);
  if (!valid || (frame.kind == FrameKind::striped && connections_.size() == 1)) {
    return finish(End::malformed, "bytes that are no frame of the TCP protocol");
  }
  if (frame.kind == FrameKind::goodbye) return finish(End::goodbye, {});
  if (frame.kind == FrameKind::probe) {
    taken_ += kFrameBytes;
    return Step::moved;
  }
  if (patience_ > 0 && frame.header.bytes >= kPatientBytes && !matcher_.isPosted(frame.header.tag)) {
    --patience_;
    return Step::stalled;
  }
  if (!inflow_.begin(frame.header)) {
    // Bytes stay in the socket, and the peer's send blocks: that is how it learns to wait.
    connections_[0].watchReads(false);
    return Step::stalled;
  }
  patience_ = kPatience;
  taken_ += kFrameBytes;
  striped_ = frame.kind == FrameKind::striped;
  stripe_left_ = kStripeBytes;
  // While stripes come, connection 0 may have the next frame already; its turn comes after this message.
  connections_[0].watchReads(!striped_);
  return Step::moved;
}

Intake::Step Intake::readPayload() {
  if (buffered() == 0) return dry_ ? Step::blocked : readInto(connections_[0], kMostPerRead, true);
  const std::size_t here = static_cast<std::size_t>(std::min<std::uint64_t>(buffered(), inflow_.remaining()));
  const auto* from = reinterpret_cast<const std::byte*>(buffer_.get() + taken_);
  taken_ += here;
  inflow_.deliver({from, here});
  return Step::moved;
}

Intake::Step Intake::readStripe() { return readInto(connections_[turn_ + 1], stripe_left_, false); }

Intake::Step Intake::readInto(Connection& connection, std::size_t limit, bool ahead) {
  std::array<iovec, kMostPieces + 1> pieces;
  std::size_t count = inflow_.space(std::span(pieces).first(kMostPieces), limit);
  std::size_t room = 0;
  for (std::size_t i = 0; i < count; ++i)
    room += pieces[i].iov_len;
  std::size_t asked = room;
  if (ahead && room == inflow_.remaining()) {
    taken_ = filled_ = 0;
    pieces[count++] = {buffer_.get(), capacity_};
    asked += capacity_;
  }
  const platform::StreamResult got = connection.read(std::span<const iovec>(pieces.data(), count));
  if (got.ended) return finish(End::closed, connection.reason(got));
  const std::size_t payload = std::min(got.bytes, room);
  if (got.bytes == 0) return Step::blocked;
  filled_ += got.bytes - payload;
  dry_ = ahead && got.bytes < asked;
  if (striped_) countStripe(connection, payload);
  inflow_.commit(payload);
  return Step::moved;
}

void Intake::countStripe(Connection& connection, std::size_t bytes) {
  stripe_left_ -= bytes;
  const bool last = bytes == inflow_.remaining();
  if (stripe_left_ > 0 && !last) return;
  connection.watchReads(false);
  turn_ = (turn_ + 1) % (connections_.size() - 1);
  stripe_left_ = kStripeBytes;
  if (!last) return;
  striped_ = false;
  connections_[0].watchReads(true);
}

Intake::Step Intake::finish(End end, std::string reason) {
  end_ = end;
  end_reason_ = std::move(reason);
  return Step::moved;
}

} // namespace goss::transports::tcp

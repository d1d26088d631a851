#include "transports/tcp/link/frame_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "platform/stream.h"

namespace goss::transports::tcp {

namespace {

constexpr std::size_t kMaxPieces = 16;
constexpr std::size_t kMaxPerRead = 256 * 1024;
/// Steps in one turn, a frame or a read each, so that sending and the other peers get their turns.
constexpr int kMaxSteps = 32;
/// The reader returns released credit to the sender when it is this part of the whole credit.
constexpr std::uint64_t kReleasedPart = 8;

/// Whether all of the message comes without being asked for.
bool comesWhole(const Arrivals::Arrival& arrival) { return arrival.held > 0 && arrival.held == arrival.header.bytes; }

} // namespace

FrameReader::FrameReader(std::vector<Connection>& connections, Matcher& matcher, FrameWriter& writer, std::size_t room)
    : connections_(connections),
      matcher_(matcher),
      writer_(writer),
      room_(room),
      short_(matcher),
      arrivals_(matcher, true),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
  writer_.sendControl(FrameKind::room, 0, room_);
}

bool FrameReader::run() {
  bool any = settle();
  dry_ = false;
  for (int steps = 0; steps < kMaxSteps && end_ == End::none; ++steps) {
    if (step() != Step::moved) break;
    any = true;
  }
  for (int steps = 0; steps < kMaxSteps && end_ == End::none && !stripes_.empty(); ++steps) {
    if (stepStripes() != Step::moved) break;
    any = true;
  }
  if (end_ != End::none) return any;
  // When the turn ended before the bytes did, the poller reports the socket again.
  connections_[0].watchReads(!goodbye_);
  if (!stripes_.empty()) connections_[turn_ + 1].watchReads(true);
  return settle() || any;
}

bool FrameReader::hasWork() const {
  if (end_ != End::none) return false;
  if (matcher_.hasReleased()) return true;
  if (!stripes_.empty() && connections_[turn_ + 1].hasInput()) return true;
  if (goodbye_) return false;
  return hasFrame() || (part_.left > 0 && buffered() > 0) || connections_[0].hasInput();
}

FrameReader::Step FrameReader::step() {
  if (part_.left > 0) return readPayload();
  if (goodbye_) return Step::blocked;
  return hasFrame() ? handleFrame() : readFrames();
}

FrameReader::Step FrameReader::readFrames() {
  if (dry_) return Step::blocked;
  if (taken_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + taken_, buffered());
    filled_ -= std::exchange(taken_, 0);
  }
  const platform::StreamResult got = connections_[0].read(buffer_.get() + filled_, kBufferBytes - filled_);
  if (got.ended) return finish(End::closed, connections_[0].reason(got));
  filled_ += got.bytes;
  dry_ = filled_ < kBufferBytes;
  return got.bytes > 0 ? Step::moved : Step::blocked;
}

// ---- Frames ----

FrameReader::Step FrameReader::handleFrame() {
  Frame frame;
  if (!decodeFrame({buffer_.get() + taken_, kFrameBytes}, frame)) return malformed();
  const Step done = handle(frame);
  if (done != Step::moved || end_ != End::none) return done;
  patience_ = kPatience;
  taken_ += kFrameBytes;
  return done;
}

FrameReader::Step FrameReader::handle(const Frame& frame) {
  bool sensible = true;
  switch (frame.kind) {
    case FrameKind::message:
      return beginMessage(frame.header);
    case FrameKind::announce:
      return announce(frame);
    case FrameKind::chunk:
    case FrameKind::stripe:
      return beginPart(frame);
    case FrameKind::advance:
      return handleAdvance(frame);
    case FrameKind::withdraw:
      return handleWithdraw(frame.header.tag);
    case FrameKind::goodbye:
      return handleGoodbye();
    case FrameKind::grant:
      sensible = writer_.handleGrant(frame.header.tag);
      break;
    case FrameKind::drop:
      sensible = writer_.handleDrop(frame.header.tag);
      break;
    case FrameKind::credit:
      sensible = writer_.handleCredit(frame.header.tag, frame.header.bytes);
      break;
    case FrameKind::room:
      sensible = writer_.handleRoom(frame.header.bytes);
      break;
  }
  return sensible ? Step::moved : malformed();
}

bool FrameReader::isPatient(std::uint64_t bytes) {
  if (reads_all_ || patience_ == 0 || bytes < kPatientBytes) return false;
  --patience_;
  return true;
}

FrameReader::Step FrameReader::beginMessage(const MessageHeader& header) {
  if (!matcher_.isPosted(header.tag) && isPatient(header.bytes)) return Step::blocked;
  const std::uint64_t cost = kMessageCost + header.bytes;
  if (!charge(cost)) return malformed();
  if (!short_.begin(header)) return finish(End::exhausted, "no memory is left for a message from it");
  if (!short_.wasKept()) release(header.tag, cost);
  part_ = {&short_, nullptr, static_cast<std::size_t>(header.bytes)};
  return Step::moved;
}

FrameReader::Step FrameReader::announce(const Frame& frame) {
  const MessageHeader& header = frame.header;
  const std::uint64_t cost = costOfHeld(frame.eager);
  // The sender does not count messages that are complete for it, of which as many may be on the way.
  if (arrivals_.size() >= 2 * kMaxAnnounced || !charge(cost)) return malformed();
  Arrival* arrival = arrivals_.add(header, frame.eager);
  if (arrival == nullptr) return finish(End::exhausted, "no memory is left for a message from it");
  if (arrival->sink.wasKept()) return Step::moved;
  release(header.tag, cost);
  answer(*arrival);
  return Step::moved;
}

FrameReader::Step FrameReader::handleAdvance(const Frame& frame) {
  const std::uint64_t number = frame.header.tag;
  const std::uint64_t cost = costOfHeld(frame.header.bytes);
  Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr) return malformed();
  if (arrival->held > 0 || frame.header.bytes > arrival->header.bytes || !charge(cost)) return malformed();
  if (!arrival->sink.waits()) { // It has matched a receive, or is dropped.
    release(arrival->header.tag, cost);
    return Step::moved;
  }
  arrival->held = frame.header.bytes;
  if (!arrival->sink.hold(arrival->held)) return finish(End::exhausted, "no memory is left for a message from it");
  return Step::moved;
}

FrameReader::Step FrameReader::beginPart(const Frame& frame) {
  Arrival* arrival = arrivals_.find(frame.header.tag);
  const bool striped = frame.kind == FrameKind::stripe;
  const std::uint64_t bytes = frame.header.bytes;
  if (arrival == nullptr || arrival->withdrawn || (striped && connections_.size() == 1) ||
      stripes_.size() >= kMaxStripesAhead)
    return malformed();
  // A message that has matched its receive may not have been granted yet.
  const bool met = arrival->granted || arrival->dropped || !arrival->sink.waits();
  const std::uint64_t allowed = met ? arrival->header.bytes : arrival->held;
  if (bytes > allowed - arrival->come) return malformed();
  if (!striped && arrival->sink.waits() && isPatient(bytes)) return Step::blocked;
  answer(*arrival); // Its receive may have been cancelled in the middle.
  arrival->come += bytes;
  ++arrival->parts;
  const Part part{&arrival->sink, arrival, static_cast<std::size_t>(bytes)};
  if (striped)
    stripes_.push_back(part);
  else
    part_ = part;
  return Step::moved;
}

FrameReader::Step FrameReader::handleWithdraw(std::uint64_t number) {
  Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr) return number > 0 && number <= arrivals_.count() ? Step::moved : malformed();
  arrival->withdrawn = true;
  if (arrival->parts == 0) arrivals_.withdraw(*arrival);
  return Step::moved;
}

FrameReader::Step FrameReader::handleGoodbye() {
  if (stripes_.empty()) return finish(End::goodbye, {});
  goodbye_ = true;
  return Step::moved;
}

// ---- Payload ----

FrameReader::Step FrameReader::readPayload() {
  if (buffered() == 0) return dry_ ? Step::blocked : readInto(connections_[0], part_, true);
  const std::size_t here = std::min(buffered(), part_.left);
  const auto* from = reinterpret_cast<const std::byte*>(buffer_.get() + taken_);
  taken_ += here;
  part_.sink->deliver({from, here});
  count(part_, here);
  return Step::moved;
}

FrameReader::Step FrameReader::stepStripes() {
  Connection& connection = connections_[turn_ + 1];
  const Step done = readInto(connection, stripes_.front(), false);
  if (done != Step::moved || stripes_.front().left > 0) return done;
  connection.watchReads(false);
  turn_ = (turn_ + 1) % (connections_.size() - 1);
  stripes_.pop_front();
  if (stripes_.empty() && goodbye_) return finish(End::goodbye, {});
  return done;
}

FrameReader::Step FrameReader::readInto(Connection& connection, Part& part, bool ahead) {
  std::array<iovec, kMaxPieces + 1> pieces;
  std::size_t count = part.sink->space(std::span(pieces).first(kMaxPieces), std::min(part.left, kMaxPerRead));
  std::size_t room = 0;
  for (std::size_t i = 0; i < count; ++i)
    room += pieces[i].iov_len;
  std::size_t asked = room;
  if (ahead && room == part.left) {
    taken_ = filled_ = 0;
    pieces[count++] = {buffer_.get(), kBufferBytes};
    asked += kBufferBytes;
  }
  const platform::StreamResult got = connection.read(std::span<const iovec>(pieces.data(), count));
  if (got.ended) return finish(End::closed, connection.reason(got));
  const std::size_t payload = std::min(got.bytes, room);
  if (got.bytes == 0) return Step::blocked;
  filled_ += got.bytes - payload;
  dry_ = ahead && got.bytes < asked;
  part.sink->commit(payload);
  this->count(part, payload);
  return Step::moved;
}

void FrameReader::count(Part& part, std::size_t bytes) {
  part.left -= bytes;
  if (part.left > 0 || part.arrival == nullptr) return;
  --part.arrival->parts;
  endIfWhole(*part.arrival);
}

void FrameReader::endIfWhole(Arrival& arrival) {
  if (arrival.parts > 0) return;
  if (arrival.come == arrival.header.bytes)
    arrivals_.end(arrival);
  else if (arrival.withdrawn)
    arrivals_.withdraw(arrival);
}

// ---- Control frames to the sender ----

bool FrameReader::settle() {
  if (!matcher_.hasReleased()) return false;
  for (const Released& one : matcher_.takeReleased()) {
    release(one.tag, one.ticket == 0 ? kMessageCost + one.bytes : costOfHeld(one.held));
    if (Arrival* arrival = arrivals_.find(one.ticket)) answer(*arrival);
  }
  return true;
}

/// Answers a message that has matched a receive, or is dropped.
void FrameReader::answer(Arrival& arrival) {
  MessageSink& sink = arrival.sink;
  if (comesWhole(arrival) || arrival.dropped || sink.waits()) return;
  if (sink.isDropped()) {
    arrival.dropped = true;
    writer_.sendControl(FrameKind::drop, arrival.number);
  } else if (!arrival.granted) {
    arrival.granted = true;
    writer_.sendControl(FrameKind::grant, arrival.number);
    // A sender that had to ask has no credit to spare.
    if (arrival.held == 0)
      for (const auto& [flow, bytes] : released_.takeAll())
        writer_.sendControl(FrameKind::credit, flow, bytes);
    if (arrival.header.bytes == 0) arrivals_.end(arrival);
  }
}

bool FrameReader::charge(std::uint64_t cost) {
  if (cost > room_ - charged_) return false;
  charged_ += cost;
  return true;
}

void FrameReader::release(Tag tag, std::uint64_t cost) {
  if (cost == 0) return;
  released_.add(tag, cost);
  charged_ -= cost;
  if (released_.total() < room_ / kReleasedPart) return;
  for (const auto& [flow, bytes] : released_.takeAll())
    writer_.sendControl(FrameKind::credit, flow, bytes);
}

FrameReader::Step FrameReader::finish(End end, std::string reason) {
  end_ = end;
  end_reason_ = std::move(reason);
  return Step::moved;
}

} // namespace goss::transports::tcp

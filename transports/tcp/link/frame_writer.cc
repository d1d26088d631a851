#include "transports/tcp/link/frame_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "platform/stream.h"

namespace goss::transports::tcp {

namespace {

constexpr std::size_t kMaxPieces = 16;
/// Most bytes in one turn: a reader that keeps up must not keep this thread from its other work.
constexpr std::size_t kMaxPerTurn = 4 * 1024 * 1024;
/// Below this one connection is as fast as many.
constexpr std::uint64_t kStripeFrom = 2 * kStripeBytes;
/// Stripes that wait for one payload connection: enough that none runs out of bytes while another one is slow.
constexpr std::size_t kMaxQueuedStripes = 4;

/// When so many bytes without a pace of their own were sent, the earlier pace ends; for fewer a system call is not
/// worth its time.
constexpr std::uint64_t kUnpacedFrom = 32 * 1024;

// SendOperation::hook.cursor says where the operation is.
constexpr std::uint64_t kNowhere = 0;
constexpr std::uint64_t kQueued = 1;    ///< The operation is in urgent_ or queue_.
constexpr std::uint64_t kUnderWay = 2;  ///< The operation is in main_, as a short message.
constexpr std::uint64_t kAnnounced = 3; ///< The operation is announced; hook.extra is its number.
constexpr std::uint64_t kFinished = 4;

} // namespace

void FrameWriter::add(SendOperation& operation) {
  operation.hook.cursor = kQueued;
  (operation.tag == kUrgentTag ? urgent_ : queue_).pushBack(operation);
}

bool FrameWriter::post(SendOperation& operation) {
  const bool idle = !hasMessages() && control_frames_.empty() && finished_.empty();
  add(operation);
  if (!idle) return false;
  posting_ = &operation;
  // A broken connection stays readable, so progress() finds out why it broke.
  writeMain();
  writePayloadConnections();
  return std::exchange(posting_, nullptr) == nullptr;
}

bool FrameWriter::flush() {
  moved_ = false;
  for (Connection& connection : connections_)
    connection.flush();
  writeMain();
  writePayloadConnections();
  while (SendOperation* operation = finished_.popFront()) {
    operation->hook.cursor = kNowhere;
    moved_ = true;
    operation->onSent(Status::ok());
  }
  return moved_;
}

bool FrameWriter::hasMessages() const {
  return main_.isUnderWay() || !urgent_.empty() || !queue_.empty() || !sending_.empty() || !striping_.empty() ||
         std::any_of(payload_chunks_.begin(), payload_chunks_.end(),
                     [](const auto& chunks) { return !chunks.empty(); });
}

bool FrameWriter::stripes(std::uint64_t bytes) const { return !payload_chunks_.empty() && bytes >= kStripeFrom; }

// ---- Choice of the next frame ----

bool FrameWriter::beginNext() {
  main_.at = main_.end = 0;
  beginStripes();
  if (!control_frames_.empty()) {
    beginControlFrames();
  } else if (SendOperation* urgent = urgent_.popFront()) {
    beginMessage(*urgent);
  } else if (!queue_.empty() && announced_.size() < kMaxAnnounced && (sending_.empty() || !message_was_last_)) {
    message_was_last_ = true;
    beginMessage(*queue_.popFront());
  } else if (!sending_.empty()) {
    message_was_last_ = false;
    beginChunk(*sending_.front());
  } else {
    return false;
  }
  main_.active = true;
  return true;
}

void FrameWriter::beginControlFrames() {
  main_.control_frames.swap(control_frames_);
  control_frames_.clear();
  main_.end = main_.control_frames.size();
}

void FrameWriter::beginMessage(SendOperation& operation) {
  const bool striped = stripes(operation.bytes);
  pace(operation, striped);
  const bool fits = !striped && operation.bytes <= kMaxChunkBytes;
  if (!fits || !credit_.take(operation.tag, kMessageCost + operation.bytes)) return announce(operation);
  main_.add(encodeFrame(FrameKind::message, {operation.tag, operation.bytes, operation.envelope}));
  operation.hook.cursor = kUnderWay;
  main_.chunk = {nullptr, &operation, PieceCursor(operation.pieces), operation.bytes, nullptr};
}

void FrameWriter::announce(SendOperation& operation) {
  std::uint64_t eager = std::min<std::uint64_t>(operation.bytes, eager_bytes_);
  if (eager > 0 && !credit_.take(operation.tag, kMessageCost + eager)) eager = 0;
  const std::uint64_t number = ++last_number_;
  main_.add(encodeFrame(
      {FrameKind::announce, {operation.tag, operation.bytes, operation.envelope}, static_cast<std::uint32_t>(eager)}));
  operation.hook.cursor = kAnnounced;
  operation.hook.extra = number;
  Announced& announced = announced_[number];
  announced = {&operation,      number, PieceCursor(operation.pieces), 0, eager,
               operation.bytes, 0,      stripes(operation.bytes)};
  if (eager == 0) {
    if (announced.bytes > 0) without_credit_.emplace(flowOf(operation.tag), number);
    return;
  }
  enqueue(announced);
  // The first chunk goes with its header, where nothing else waits.
  if (!announced.striped && sending_.front() == &announced) beginChunk(announced);
}

void FrameWriter::beginChunk(Announced& announced) {
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(announced.allowed - announced.at, kMaxChunkBytes));
  main_.add(encodeFrame(FrameKind::chunk, {announced.number, bytes, {}}));
  main_.chunk = {&announced, nullptr, announced.cursor, bytes, nullptr};
  ++announced.chunks;
  announced.cursor.advance(bytes);
  announced.at += bytes;
  if (announced.at == announced.allowed) dequeue(announced);
}

/// Returns whether there was space for one.
bool FrameWriter::beginStripes() {
  bool any = false;
  while (!striping_.empty() && payload_chunks_[turn_].size() < kMaxQueuedStripes) {
    Announced& announced = *striping_.front();
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(announced.allowed - announced.at, kStripeBytes));
    sendControl(FrameKind::stripe, announced.number, bytes);
    payload_chunks_[turn_].push_back({&announced, nullptr, announced.cursor, bytes, nullptr});
    turn_ = (turn_ + 1) % payload_chunks_.size();
    ++announced.chunks;
    announced.cursor.advance(bytes);
    announced.at += bytes;
    if (announced.at == announced.allowed) dequeue(announced);
    any = true;
  }
  return any;
}

void FrameWriter::enqueue(Announced& announced) {
  if (announced.queued || announced.at == announced.allowed) return;
  announced.queued = true;
  (announced.striped ? striping_ : sending_).push_back(&announced);
}

void FrameWriter::dequeue(Announced& announced) {
  if (!announced.queued) return;
  announced.queued = false;
  std::erase(announced.striped ? striping_ : sending_, &announced);
}

/// The connections that carry the payload share its pace.
void FrameWriter::pace(const SendOperation& operation, bool striped) {
  const std::uint64_t pace = operation.pace_bytes_per_s;
  unpaced_bytes_ = pace > 0 ? 0 : unpaced_bytes_ + operation.bytes;
  if (pace == 0 && unpaced_bytes_ < kUnpacedFrom) return;
  const std::size_t first = striped ? 1 : 0;
  const std::size_t end = striped ? connections_.size() : 1;
  const std::uint64_t share = pace == 0 ? 0 : std::max<std::uint64_t>(pace / (end - first), 1);
  for (std::size_t index = first; index < end; ++index)
    connections_[index].pace(share);
}

// ---- Writing ----

FrameWriter::Progress FrameWriter::writeMain() {
  std::size_t turn = 0;
  if (broken_) return Progress::broken;
  while (main_.isUnderWay() || beginNext()) {
    std::array<iovec, kMaxPieces> pieces;
    std::size_t count = 0;
    std::size_t wanted = main_.end - main_.at;
    char* head = main_.control_frames.empty() ? main_.frames.data() : main_.control_frames.data();
    if (wanted > 0) pieces[count++] = {head + main_.at, wanted};
    const std::size_t listed = main_.chunk.cursor.list(std::span(pieces).subspan(count), main_.chunk.left);
    for (std::size_t i = 0; i < listed; ++i)
      wanted += pieces[count + i].iov_len;
    const platform::StreamResult result = connections_[0].write(std::span<const iovec>(pieces.data(), count + listed));
    if (result.ended) return Progress::broken;
    moved_ = moved_ || result.bytes > 0;
    const std::size_t of_head = std::min(result.bytes, main_.end - main_.at);
    main_.at += of_head;
    main_.chunk.cursor.advance(result.bytes - of_head);
    main_.chunk.left -= result.bytes - of_head;
    if (main_.at == main_.end && main_.chunk.left == 0) finishMain();
    turn += result.bytes;
    if (result.bytes < wanted || turn >= kMaxPerTurn) {
      connections_[0].watchWrites(true);
      return Progress::blocked;
    }
  }
  connections_[0].watchWrites(false);
  return Progress::done;
}

void FrameWriter::writePayloadConnections() {
  if (payload_chunks_.empty() || broken_) return;
  std::size_t turn = 0;
  for (bool more = true; more && turn < kMaxPerTurn;) {
    for (std::size_t index = 0; index < payload_chunks_.size(); ++index)
      turn += writePayloadConnection(index);
    // If a payload connection has space, the next stripes begin, which must be announced to the peer.
    more = !main_.isUnderWay() && beginStripes();
    if (more) writeMain();
  }
  for (std::size_t index = 0; index < payload_chunks_.size(); ++index)
    connections_[index + 1].watchWrites(!payload_chunks_[index].empty());
}

/// Returns how many bytes were written.
std::size_t FrameWriter::writePayloadConnection(std::size_t index) {
  std::size_t written = 0;
  while (!payload_chunks_[index].empty()) {
    Chunk& chunk = payload_chunks_[index].front();
    const std::size_t before = chunk.left;
    const Progress progress = writeChunk(connections_[index + 1], chunk);
    written += before - chunk.left;
    if (progress != Progress::done) break;
    finishChunk(chunk);
    payload_chunks_[index].pop_front();
  }
  return written;
}

FrameWriter::Progress FrameWriter::writeChunk(Connection& connection, Chunk& chunk) {
  while (chunk.left > 0) {
    std::array<iovec, kMaxPieces> pieces;
    const std::size_t count = chunk.cursor.list(pieces, chunk.left);
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < count; ++i)
      wanted += pieces[i].iov_len;
    const platform::StreamResult result = connection.write(std::span<const iovec>(pieces.data(), count));
    if (result.ended) return Progress::broken;
    moved_ = moved_ || result.bytes > 0;
    chunk.cursor.advance(result.bytes);
    chunk.left -= result.bytes;
    if (result.bytes < wanted) return Progress::blocked;
  }
  return Progress::done;
}

void FrameWriter::finishMain() {
  main_.active = false;
  main_.control_frames.clear();
  main_.at = main_.end = 0;
  finishChunk(main_.chunk);
}

void FrameWriter::finishChunk(Chunk& chunk) {
  const Chunk done = std::exchange(chunk, {});
  if (done.message != nullptr) finish(*done.message);
  if (done.announced == nullptr) return;
  Announced& announced = *done.announced;
  if (--announced.chunks > 0) return;
  if (announced.operation != nullptr && announced.at < announced.bytes) return;
  if (announced.operation != nullptr) finish(*announced.operation);
  announced_.erase(announced.number);
}

void FrameWriter::finish(SendOperation& operation) {
  operation.hook.cursor = kNowhere;
  if (&operation == posting_) {
    posting_ = nullptr;
    return;
  }
  operation.hook.cursor = kFinished;
  finished_.pushBack(operation);
}

void FrameWriter::sendControl(FrameKind kind, Tag tag, std::uint64_t bytes) {
  if (said_goodbye_) return;
  const FrameBytes frame = encodeFrame(kind, {tag, bytes, {}});
  control_frames_.append(frame.data(), frame.size());
}

void FrameWriter::goodbye() {
  if (hasSaidGoodbye() || (hasMessages() && !said_goodbye_)) return;
  sendControl(FrameKind::goodbye, 0);
  said_goodbye_ = true;
  // A full socket drops the goodbye: the peer then reads an end of stream without goodbye, from a process that closed
  // with much unread.
  writeMain();
}

// ---- Control frames from the peer ----

bool FrameWriter::handleRoom(std::uint64_t bytes) {
  if (std::exchange(has_limit_, true)) return false;
  credit_.setLimit(bytes);
  advance();
  return true;
}

bool FrameWriter::handleCredit(Tag flow, std::uint64_t bytes) {
  if (!credit_.giveBack(flow, bytes)) return false;
  advance();
  return true;
}

/// Messages that were announced without credit need not wait for a grant when there is credit again: the oldest of each
/// flow first, until the flow has too little.
void FrameWriter::advance() {
  for (auto at = without_credit_.begin(); at != without_credit_.end();) {
    const auto [flow, number] = *at;
    Announced& announced = announced_.at(number);
    const std::uint64_t eager = std::min<std::uint64_t>(announced.bytes, eager_bytes_);
    if (!credit_.take(flow, kMessageCost + eager)) {
      at = without_credit_.lower_bound({flow + 1, 0});
      continue;
    }
    sendControl(FrameKind::advance, number, eager);
    allow(announced, eager);
    at = without_credit_.lower_bound({flow, number});
  }
}

void FrameWriter::allow(Announced& announced, std::uint64_t bytes) {
  without_credit_.erase({flowOf(announced.operation->tag), announced.number});
  announced.allowed = bytes;
  enqueue(announced);
}

bool FrameWriter::handleGrant(std::uint64_t number) {
  const auto found = announced_.find(number);
  if (found == announced_.end() || found->second.operation == nullptr) return number > 0 && number <= last_number_;
  Announced& announced = found->second;
  allow(announced, announced.bytes);
  if (announced.bytes > 0) return true;
  finish(*announced.operation);
  announced_.erase(found);
  return true;
}

bool FrameWriter::handleDrop(std::uint64_t number) {
  const auto found = announced_.find(number);
  if (found == announced_.end() || found->second.operation == nullptr) return number > 0 && number <= last_number_;
  SendOperation& operation = *found->second.operation;
  // Without memory for a copy the message is sent as if the peer had not dropped it.
  if (!withdraw(found->second)) return handleGrant(number);
  finish(operation);
  return true;
}

// ---- Cancelling ----

bool FrameWriter::cancel(SendOperation& operation) {
  switch (std::exchange(operation.hook.cursor, kNowhere)) {
    case kQueued:
      (operation.tag == kUrgentTag ? urgent_ : queue_).remove(operation);
      break;
    case kUnderWay:
      main_.chunk.message = nullptr;
      if (!continueAsCopy(main_.chunk, operation)) broken_ = true;
      break;
    case kAnnounced: {
      Announced& announced = announced_.at(operation.hook.extra);
      if (withdraw(announced)) break;
      broken_ = true;
      without_credit_.erase({flowOf(operation.tag), announced.number});
      announced.operation = nullptr;
      break;
    }
    case kFinished:
      finished_.remove(operation);
      break;
    default:
      break;
  }
  return !broken_;
}

bool FrameWriter::withdraw(Announced& announced) {
  const SendOperation& operation = *announced.operation;
  bool copied = main_.chunk.announced != &announced || continueAsCopy(main_.chunk, operation);
  for (auto& chunks : payload_chunks_)
    for (Chunk& chunk : chunks)
      if (chunk.announced == &announced) copied = copied && continueAsCopy(chunk, operation);
  if (!copied) return false;
  without_credit_.erase({flowOf(operation.tag), announced.number});
  announced.operation = nullptr;
  dequeue(announced);
  if (announced.at < announced.bytes || announced.bytes == 0) sendControl(FrameKind::withdraw, announced.number);
  if (announced.chunks == 0) announced_.erase(announced.number);
  return true;
}

bool FrameWriter::continueAsCopy(Chunk& chunk, const SendOperation& operation) {
  if (chunk.left == 0 || chunk.copy) return true;
  chunk.copy = Remainder::of(operation, chunk.cursor, chunk.left);
  if (!chunk.copy) return false;
  chunk.cursor = PieceCursor(chunk.copy->pieces);
  return true;
}

void FrameWriter::fail(const Status& status) {
  while (SendOperation* operation = finished_.popFront()) {
    operation->hook.cursor = kNowhere;
    operation->onSent(Status::ok());
  }
  const auto add = [this](SendOperation* operation) {
    if (operation == nullptr) return;
    operation->hook.cursor = kFinished; // A callback may cancel another one.
    finished_.pushBack(*operation);
  };
  add(std::exchange(main_.chunk.message, nullptr));
  for (auto* list : {&urgent_, &queue_})
    while (SendOperation* operation = list->popFront())
      add(operation);
  for (auto& [number, announced] : announced_)
    add(announced.operation);
  main_ = {};
  for (auto& chunks : payload_chunks_)
    chunks.clear();
  sending_.clear();
  striping_.clear();
  announced_.clear();
  without_credit_.clear();
  while (SendOperation* operation = finished_.popFront()) {
    operation->hook.cursor = kNowhere;
    operation->onSent(status);
  }
}

} // namespace goss::transports::tcp

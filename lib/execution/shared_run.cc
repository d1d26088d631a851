#include "execution/shared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "call/tag.h"
#include "mesh/mesh.h"
#include "schedule/contract.h"

namespace goss {

class SharedRun::Out final : public SendOperation {
 public:
  Out(SharedRun& run, std::uint32_t step) : run_(run), step_(step) {}
  void onSent(const Status& status) GOSS_ON_LOOP override {
    posted = false;
    run_.ended(step_, status);
  }
  bool posted = false;

 private:
  SharedRun& run_;
  const std::uint32_t step_;
};

class SharedRun::In final : public RecvOperation {
 public:
  In(SharedRun& run, std::uint32_t step) : run_(run), step_(step) {}
  Status onMatched(const Envelope& received, std::size_t bytes) override {
    came = bytes;
    if (received == *run_.context_.envelope && bytes <= capacity && bytes % SharedMemory::kPieceBytes == 0)
      return Status::ok();
    const Group& group = run_.environment_.group;
    return Status::error(GOSS_ERR_MISMATCH,
                         fmt::format("{}: {} sends what this rank does not expect", run_.context_.signature->describe(),
                                     group.nameOf(group.rankOfWorld(peer))),
                         ErrorScope::communicator, peer);
  }
  void onReceived(const Status& status) GOSS_ON_LOOP override {
    posted = false;
    run_.ended(step_, status);
  }
  bool posted = false;
  std::size_t came = 0; ///< Bytes of the message.

 private:
  SharedRun& run_;
  const std::uint32_t step_;
};

/// What a step that sends or receives exchanges with its peer: addresses one way, the answer the other way.
struct SharedRun::Message {
  Message(SharedRun& run, std::uint32_t step, std::size_t most)
      : out(run, step), in(run, step), pieces(most), wire(most * SharedMemory::kPieceBytes) {}
  [[nodiscard]] std::span<std::byte, SharedMemory::kPieceBytes> wireOf(std::size_t piece) {
    return std::span(wire).subspan(piece * SharedMemory::kPieceBytes).first<SharedMemory::kPieceBytes>();
  }

  Out out;
  In in;
  std::vector<DevicePiece> pieces; ///< Pieces of the sender, at this rank's addresses.
  std::vector<std::byte> wire;     ///< How messages name them.
  iovec memory{};                  ///< The bytes of `wire`, as a message.
  bool is_read = false;            ///< The receiver's device has read them.
};

SharedRun::SharedRun(Operation& operation, const RunEnvironment& environment, const RunContext& context,
                     const SharedMemory& memory, DeviceStation& station)
    : operation_(operation),
      environment_(environment),
      context_(context),
      memory_(memory),
      station_(station),
      messages_(context.schedule->steps.size()),
      missing_(context.schedule->steps.size()),
      job_(station.watch) {
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    const Step& step = stepAt(i);
    if (step.peer < 0) continue;
    messages_[i] = std::make_unique<Message>(*this, i, step.targets.count);
    messages_[i]->out.peer = messages_[i]->in.peer = environment.group.worldRank(step.peer);
  }
}

SharedRun::~SharedRun() {
  withdraw();
  job_.await(); // A run that never left gives nothing back: its device may read on.
}

bool SharedRun::serves(const Schedule& schedule, const Call& call) {
  const auto onDevice = [&](const Slot& slot) {
    if (slot.space == Space::input) return call.device.input;
    return slot.space == Space::output ? call.device.output : slot.space == Space::scratch;
  };
  const auto fits = [](const Step& step) {
    return static_cast<int>(step.kind) <= static_cast<int>(StepKind::finish) && 2 * step.ordinal + 2 < kMaxOrdinals;
  };
  return std::all_of(schedule.slots.begin(), schedule.slots.end(), onDevice) &&
         std::all_of(schedule.steps.begin(), schedule.steps.end(), fits);
}

void SharedRun::begin(std::uint32_t fragment, std::byte* scratch, std::uint64_t sequence, Tag loan) {
  fragment_ = fragment;
  layout_.emplace(schedule(), context_.call->shape, fragment, context_.fragments);
  scratch_ = scratch;
  sequence_ = sequence;
  loan_ = loan;
  active_ = true;
  failure_ = {};
  ready_.clear();
  ready_head_ = 0;
  jobs_.clear();
  steps_left_ = schedule().steps.size();
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i] != nullptr) messages_[i]->is_read = false;
    missing_[i] = stepAt(i).dependencies.count;
    if (missing_[i] == 0) ready_.push_back(i);
  }
}

Status SharedRun::advance() {
  while (active_ && failure_.isOk()) {
    while (ready_head_ < ready_.size()) {
      if (Status status = runStep(ready_[ready_head_++]); !status.isOk()) return status;
    }
    if (steps_left_ == 0) {
      active_ = false;
    } else if (!batch_.empty()) {
      const Result<bool> done = job_.isDone();
      if (!done.isOk()) return ofDevice(done.status(), environment_.group, *context_.signature);
      if (!done.value()) break;
      endBatch();
    } else if (!jobs_.empty()) {
      startBatch();
    } else {
      break;
    }
  }
  return failure_;
}

bool SharedRun::hasCome() const {
  if (!isUnderWay()) return false;
  const Result<bool> done = job_.isDone();
  return !done.isOk() || done.value();
}

void SharedRun::withdraw() {
  active_ = false;
  for (const auto& message : messages_) {
    if (message == nullptr) continue;
    Transport* transport = environment_.mesh.transport(message->out.peer);
    if (std::exchange(message->out.posted, false)) transport->cancel(message->out);
    if (std::exchange(message->in.posted, false)) transport->cancel(message->in);
  }
  job_.withdraw();
}

bool SharedRun::tryLeave() {
  if (job_.isBusy()) return false;
  giveBackAll();
  return true;
}

void SharedRun::giveBackAll() {
  for (const std::uint32_t index : std::exchange(batch_, {}))
    (void)tryGiveBack(index);
}

void SharedRun::appendWaitingFor(std::vector<int>& ranks) const {
  for (std::uint32_t i = 0; i < messages_.size(); ++i) {
    const bool waits = messages_[i] != nullptr && (messages_[i]->in.posted || messages_[i]->out.posted);
    const int rank = stepAt(i).peer;
    if (waits && std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
}

// ---- Steps ---------------------------------------------------------------------------------------------------------

DevicePiece SharedRun::placeOf(Slot slot) const {
  const schedule::Extent extent = layout_->extentOf(slot);
  const Call& call = *context_.call;
  const std::size_t element = call.shape.element_bytes;
  auto* base = scratch_;
  if (slot.space == Space::input) base = static_cast<std::byte*>(const_cast<void*>(call.input)); // Only read.
  if (slot.space == Space::output) base = static_cast<std::byte*>(call.output);
  const std::size_t bytes = extent.count_elems * element;
  return {bytes == 0 ? nullptr : base + extent.offset_elems * element, bytes};
}

std::size_t SharedRun::bytesOf(PoolRange slots) const {
  std::size_t bytes = 0;
  for (const Slot slot : schedule().slotsOf(slots))
    bytes += placeOf(slot).bytes;
  return bytes;
}

Tag SharedRun::tagOf(const Step& step, bool answers) const {
  return collectiveTag(environment_.context, sequence_, fragment_, 2 * step.ordinal + (answers ? 1 : 0));
}

Status SharedRun::runStep(std::uint32_t index) {
  const Step& step = stepAt(index);
  if (bytesOf(step.targets) == 0) { // Both ends know it.
    stepDone(index);
  } else if (step.peer >= 0) {
    return post(index);
  } else {
    jobs_.push_back(index);
  }
  return Status::ok();
}

Status SharedRun::post(std::uint32_t index) {
  const Step& step = stepAt(index);
  Message& message = *messages_[index];
  if (Status status = environment_.mesh.linkStatus(message.out.peer); !status.isOk()) {
    if (step.kind == StepKind::send || status.scope() != ErrorScope::peer) return status;
  }
  message.memory = {message.wire.data(), message.wire.size()};
  if (step.kind == StepKind::send) {
    const std::span<const Slot> slots = schedule().slotsOf(step.targets);
    for (std::size_t i = 0; i < slots.size(); ++i)
      memory_.write(slots[i].space, placeOf(slots[i]), message.wireOf(i));
    environment_.operations.counters().wire_bytes_sent += bytesOf(step.targets);
  }
  postIn(index);
  if (step.kind == StepKind::send) postOut(index);
  return Status::ok();
}

/// Posts the outgoing message of a step: the addresses if the step sends, the answer if it receives.
void SharedRun::postOut(std::uint32_t index) {
  const Step& step = stepAt(index);
  Message& message = *messages_[index];
  const bool answers = step.kind != StepKind::send;
  message.out.tag = tagOf(step, answers);
  message.out.envelope = *context_.envelope;
  message.out.pieces = answers ? std::span<const iovec>() : std::span<const iovec>(&message.memory, 1);
  message.out.bytes = answers ? 0 : message.memory.iov_len;
  message.out.posted = true;
  if (!environment_.mesh.transport(message.out.peer)->send(message.out)) return;
  message.out.posted = false;
  settle(index);
}

void SharedRun::postIn(std::uint32_t index) {
  const Step& step = stepAt(index);
  Message& message = *messages_[index];
  const bool answers = step.kind == StepKind::send;
  message.in.tag = tagOf(step, answers);
  message.in.pieces = answers ? std::span<const iovec>() : std::span<const iovec>(&message.memory, 1);
  message.in.capacity = answers ? 0 : message.memory.iov_len;
  message.in.posted = true;
  environment_.mesh.transport(message.in.peer)->recv(message.in);
}

/// In a transport's callback.
void SharedRun::ended(std::uint32_t index, const Status& status) {
  if (status.isOk()) {
    settle(index);
  } else if (failure_.isOk()) {
    failure_ = status;
  }
  environment_.engine.active().markDirty(operation_);
}

/// Called when a message of the step has ended. A step that sends is done when both of its messages have ended, a step
/// that receives when the device has also read the peer's memory.
void SharedRun::settle(std::uint32_t index) {
  const Message& message = *messages_[index];
  if (message.in.posted || message.out.posted) return;
  if (stepAt(index).kind == StepKind::send || message.is_read) {
    stepDone(index);
  } else if (Status status = readPieces(index); status.isOk()) {
    jobs_.push_back(index);
  } else if (failure_.isOk()) {
    failure_ = status;
  }
}

void SharedRun::stepDone(std::uint32_t index) {
  --steps_left_;
  for (const std::uint32_t dependent : (*context_.dependents)[index]) {
    if (--missing_[dependent] == 0) ready_.push_back(dependent);
  }
}

// ---- On the device -------------------------------------------------------------------------------------------------

void SharedRun::startBatch() {
  batch_.clear();
  for (const std::uint32_t index : std::exchange(jobs_, {})) {
    const Message* message = messages_[index].get();
    if (message != nullptr && !environment_.lending->tryBorrow(message->in.peer, loan_)) continue;
    batch_.push_back(index);
  }
  if (!batch_.empty()) job_.start(*station_.in, [this] { return enqueueBatch(); });
}

Status SharedRun::enqueueBatch() {
  for (const std::uint32_t index : batch_)
    if (Status status = enqueue(*station_.in, index); !status.isOk()) return status;
  return Status::ok();
}

void SharedRun::endBatch() {
  for (const std::uint32_t index : std::exchange(batch_, {})) {
    if (messages_[index] == nullptr) {
      stepDone(index);
      continue;
    }
    if (!tryGiveBack(index)) continue; // The sender's call has failed.
    messages_[index]->is_read = true;
    environment_.operations.counters().wire_bytes_received += bytesOf(stepAt(index).targets);
    postOut(index);
  }
}

/// Gives back the loan from which a step of the batch has read. False: the bytes that it has read may be wrong.
bool SharedRun::tryGiveBack(std::uint32_t index) {
  return messages_[index] == nullptr || environment_.lending->tryGiveBack(messages_[index]->in.peer, loan_);
}

/// Decodes the addresses that the peer has sent. They must cover as many bytes as this rank expects.
Status SharedRun::readPieces(std::uint32_t index) {
  Message& message = *messages_[index];
  const std::size_t element = context_.call->shape.element_bytes;
  std::size_t bytes = 0;
  bool whole = message.in.came == message.memory.iov_len;
  for (std::size_t i = 0; i < message.pieces.size() && whole; ++i) {
    const std::optional<DevicePiece> piece = memory_.read(stepAt(index).peer, message.wireOf(i));
    whole = piece.has_value() && piece->bytes % element == 0;
    message.pieces[i] = piece.value_or(DevicePiece());
    bytes += message.pieces[i].bytes;
  }
  const std::size_t expected = bytesOf(stepAt(index).targets);
  if (whole && bytes == expected) return Status::ok();
  return Status::error(
      GOSS_ERR_MISMATCH,
      fmt::format("{}: rank {} sends {} bytes where rank {} expects {}; check the counts of both",
                  context_.signature->describe(), stepAt(index).peer, bytes, environment_.group.rank(), expected),
      ErrorScope::communicator, message.in.peer);
}

Status SharedRun::enqueue(DeviceQueue& queue, std::uint32_t index) {
  copies_.clear();
  const Status status =
      messages_[index] != nullptr ? enqueueReceived(queue, index) : enqueueLocal(queue, stepAt(index));
  return status.isOk() && !copies_.empty() ? queue.copy(copies_) : status;
}

/// The peer's pieces follow each other as the targets do, but may be cut elsewhere.
Status SharedRun::enqueueReceived(DeviceQueue& queue, std::uint32_t index) {
  const Step& step = stepAt(index);
  const Call& call = *context_.call;
  const bool reduces = step.kind == StepKind::recvReduce;
  auto piece = messages_[index]->pieces.begin();
  std::size_t used = 0; // Bytes of it.
  for (std::uint32_t i = 0; i < step.targets.count; ++i) {
    const DevicePiece target = placeOf(schedule().slotsOf(step.targets)[i]);
    for (std::size_t at = 0; at < target.bytes;) {
      const std::size_t bytes = std::min(target.bytes - at, piece->bytes - used);
      std::byte* from = piece->data + used;
      if (!reduces && bytes > 0) copies_.push_back({target.data + at, from, bytes});
      if (reduces && bytes > 0) {
        const DevicePiece source = placeOf(schedule().slotsOf(step.sources)[i]);
        const ReduceJob job{call.dtype,       call.op, target.data + at,
                            source.data + at, from,    bytes / call.shape.element_bytes};
        if (Status status = queue.reduce(job); !status.isOk()) return status;
      }
      at += bytes;
      used += bytes;
      if (used < piece->bytes) continue;
      ++piece;
      used = 0;
    }
  }
  return Status::ok();
}

Status SharedRun::enqueueLocal(DeviceQueue& queue, const Step& step) {
  const Call& call = *context_.call;
  const std::size_t element = call.shape.element_bytes;
  const std::span<const Slot> targets = schedule().slotsOf(step.targets);
  const std::span<const Slot> sources = schedule().slotsOf(step.sources);
  if (step.kind == StepKind::reduce) {
    const DevicePiece target = placeOf(targets[0]);
    return queue.reduce(
        {call.dtype, call.op, target.data, placeOf(sources[0]).data, placeOf(sources[1]).data, target.bytes / element});
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const DevicePiece target = placeOf(targets[i]);
    const DevicePiece source = placeOf(sources[i]);
    if (target.bytes == 0) continue;
    if (step.kind == StepKind::finish && call.op == GOSS_AVG) {
      const AverageJob job{call.dtype, target.data, source.data, target.bytes / element, environment_.group.size()};
      if (Status status = queue.average(job); !status.isOk()) return status;
    } else if (target.data != source.data) {
      copies_.push_back({target.data, source.data, target.bytes});
    }
  }
  return Status::ok();
}

} // namespace goss

#include "execution/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "call/tag.h"
#include "kernels/kernels.h"
#include "mesh/mesh.h"
#include "platform/thread_safety.h"
#include "schedule/contract.h"

namespace goss {

namespace {

constexpr std::size_t kScratchAlignment = 64;
constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

} // namespace

std::vector<std::vector<std::uint32_t>> dependentsOf(const Schedule& schedule) {
  std::vector<std::vector<std::uint32_t>> dependents(schedule.steps.size());
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    for (const std::uint32_t needed : schedule.dependenciesOf(schedule.steps[i]))
      dependents[needed].push_back(i);
  }
  return dependents;
}

class Run::SendStep final : public SendOperation {
 public:
  SendStep(Run& run, std::uint32_t step) : run_(run), step_(step) {}
  void onSent(const Status& status) GOSS_ON_LOOP override {
    posted = false;
    if (status.isOk()) {
      if (reply.is_written) {
        run_.done_ahead_[reply_step] = true;
        run_.counters().wire_bytes_received += bytes;
      }
      run_.stepDoneInCallback(step_);
    } else {
      run_.failInCallback(status);
    }
  }
  bool posted = false;
  std::uint32_t reply_step = kNoStep; ///< The step that receives the reply to this chunk, from the same peer.

 private:
  Run& run_;
  const std::uint32_t step_;
};

class Run::RecvStep final : public RecvOperation {
 public:
  RecvStep(Run& run, std::uint32_t step) : run_(run), step_(step) {}

  Status onMatched(const Envelope& received, std::size_t bytes) GOSS_ON_LOOP override {
    slot_ = 0;
    done_elems_ = 0;
    if (received == envelope && (bytes == capacity || (takes_payload && bytes < capacity))) {
      if (takes_payload) run_.payload_bytes_[run_.context_.schedule->slots[first_target].index] = bytes;
      run_.counters().wire_bytes_received += bytes;
      return Status::ok();
    }
    const Group& group = run_.environment_.group;
    const int rank = group.rankOfWorld(peer);
    if (received != envelope) return run_.disagreeInCallback(rank, received);
    return Status::error(GOSS_ERR_MISMATCH,
                         fmt::format("{}: rank {} sends {} bytes where rank {} expects {}; check the counts of both",
                                     run_.context_.signature->describe(), rank, bytes, group.rank(), capacity),
                         ErrorScope::communicator, peer);
  }

  void onData(std::size_t offset, std::span<const std::byte> bytes) override {
    (void)offset; // Bytes come in order, so the cursor suffices.
    const Schedule& schedule = *run_.context_.schedule;
    const Step& step = schedule.steps[step_];
    const Call& call = *run_.context_.call;
    const std::size_t element = call.shape.element_bytes;
    const std::byte* from = bytes.data();
    std::uint64_t left = bytes.size() / element;
    while (left > 0) {
      const SlotMemory& target = run_.memory_of_[step.targets.first + slot_];
      const SlotMemory& source = run_.memory_of_[step.sources.first + slot_];
      const std::uint64_t elems = std::min(left, target.elems - done_elems_);
      const std::size_t at = done_elems_ * element;
      if (reply.buffer != nullptr) {
        kernels::finishStreaming(call.dtype, call.op, run_.environment_.group.size(), target.data + at,
                                 reply.buffer + at, source.data + at, from, elems);
      } else {
        const auto reduce = streams ? kernels::reduceStreaming : kernels::reduce;
        reduce(call.dtype, call.op, target.data + at, source.data + at, from, elems);
      }
      from += elems * element;
      left -= elems;
      done_elems_ += elems;
      if (done_elems_ == target.elems) {
        ++slot_;
        done_elems_ = 0;
      }
    }
  }

  void onReceived(const Status& status) GOSS_ON_LOOP override {
    posted = false;
    if (status.isOk()) {
      if (reply.buffer != nullptr) {
        run_.done_ahead_[finish_step] = run_.done_ahead_[reply_step] = true;
        run_.counters().wire_bytes_sent += capacity;
        run_.counters().placed_bytes += capacity; // It is in the peer's result already.
      }
      run_.stepDoneInCallback(step_);
    } else {
      run_.failInCallback(status);
    }
  }

  Envelope envelope{}; ///< The envelope that the message must carry.
  bool posted = false;
  bool takes_payload = false; ///< Shorter messages are allowed.
  std::uint32_t first_target = 0;
  bool ends = false; ///< No later step of this rank needs the result, except to send a finished one.
  /// The steps that finish the result and send it to the same peer, and to no other rank.
  std::uint32_t finish_step = kNoStep;
  std::uint32_t reply_step = kNoStep;

 private:
  Run& run_;
  const std::uint32_t step_;
  std::uint32_t slot_ = 0; ///< Cursor of onData().
  std::uint64_t done_elems_ = 0;
};

Run::Run(Operation& operation, const RunEnvironment& environment, RunContext& context)
    : operation_(operation), environment_(environment), context_(context) {
  const Schedule& schedule = *context.schedule;
  const std::size_t steps = schedule.steps.size();
  memory_of_.resize(schedule.slots.size());
  pieces_.reserve(schedule.slots.size());
  combined_.reserve(schedule.slots.size());
  sends_.resize(steps);
  recvs_.resize(steps);
  missing_.resize(steps);
  done_ahead_.resize(steps);
  ready_.reserve(steps);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const Step& step = schedule.steps[i];
    if (step.peer < 0) continue;
    const int peer = environment.group.worldRank(step.peer);
    if (step.kind == StepKind::send) {
      sends_[i] = std::make_unique<SendStep>(*this, i);
      sends_[i]->peer = peer;
      sends_[i]->pace_bytes_per_s = context.pace_bytes_per_s;
    } else {
      recvs_[i] = std::make_unique<RecvStep>(*this, i);
      recvs_[i]->peer = peer;
      recvs_[i]->consumes = step.kind == StepKind::recvReduce;
      recvs_[i]->ends = isLastUse(i);
      recvs_[i]->takes_payload = movesPayload(step);
      recvs_[i]->first_target = step.targets.first;
    }
  }
  pairReplies();
}

Run::~Run() { withdraw(); }

// A rank that adds to a peer's chunk and returns the result to that peer may do both in one step: it writes the sum
// into the peer's memory. Each end finds such pairs in its own schedule: the peer's receive depends only on its send,
// and the owner's send only on its sum.
void Run::pairReplies() {
  const Schedule& schedule = *context_.schedule;
  const auto onlyNext = [&](std::uint32_t index, StepKind kind) {
    const std::vector<std::uint32_t>& next = (*context_.dependents)[index];
    return next.size() == 1 && schedule.steps[next[0]].kind == kind ? next[0] : kNoStep;
  };
  const auto isPair = [&](const Step& one, const Step& other) {
    return other.peer == one.peer && other.targets.count == 1 && other.dependencies.count == 1;
  };
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (step.targets.count != 1 || movesPayload(step)) continue;
    const Slot slot = schedule.slotsOf(step.targets)[0];
    if (step.kind == StepKind::send) {
      const std::uint32_t next = onlyNext(i, StepKind::recv);
      if (next == kNoStep || !isPair(step, schedule.steps[next])) continue;
      const Slot room = schedule.slotsOf(schedule.steps[next].targets)[0];
      if (room.space == Space::output && schedule.chunkLike(room) == schedule.chunkLike(slot))
        sends_[i]->reply_step = next;
    } else if (step.kind == StepKind::recvReduce) {
      const std::uint32_t finish = onlyNext(i, StepKind::finish);
      const std::uint32_t reply = finish == kNoStep ? kNoStep : onlyNext(finish, StepKind::send);
      if (reply == kNoStep || !isPair(step, schedule.steps[reply])) continue;
      const Step& finishes = schedule.steps[finish];
      const bool same = finishes.targets.count == 1 && schedule.slotsOf(finishes.targets)[0] == slot &&
                        schedule.slotsOf(finishes.sources)[0] == slot &&
                        schedule.slotsOf(schedule.steps[reply].targets)[0] == slot;
      if (!same || finishes.dependencies.count != 1) continue;
      recvs_[i]->finish_step = finish;
      recvs_[i]->reply_step = reply;
    }
  }
}

// Results are written into the peer's memory only if the vector is larger than the caches. For shorter vectors it is
// better if the rank that needs the result reads it.
void Run::resolveReply(std::uint32_t index) {
  const Step& step = context_.schedule->steps[index];
  if (recvs_[index]) {
    recvs_[index]->reply.can_write = recvs_[index]->streams && recvs_[index]->reply_step != kNoStep;
    return;
  }
  SendStep& send = *sends_[index];
  send.reply.buffer = nullptr;
  if (!context_.streams || send.reply_step == kNoStep) return;
  const SlotMemory& message = memory_of_[step.targets.first];
  const SlotMemory& room = memory_of_[context_.schedule->steps[send.reply_step].targets.first];
  const auto from = reinterpret_cast<std::uintptr_t>(message.data);
  const auto to = reinterpret_cast<std::uintptr_t>(room.data);
  const bool apart = from + message.capacity <= to || to + room.capacity <= from;
  if (room.capacity == message.capacity && (apart || from == to)) send.reply.buffer = room.data;
}

// Whether the result is neither reduced again nor passed on: any other result is better left in the caches.
bool Run::isLastUse(std::uint32_t index) const {
  const Schedule& schedule = *context_.schedule;
  const bool reduces = schedule.steps[index].kind == StepKind::recvReduce;
  for (const std::uint32_t dependent : (*context_.dependents)[index]) {
    const StepKind kind = schedule.steps[dependent].kind;
    if (kind != StepKind::finish && !(reduces && kind == StepKind::send)) return false; // Nor is it to be decoded.
  }
  return true;
}

Run::SlotMemory Run::memoryOf(Slot slot) const {
  const schedule::Extent extent = layout_->extentOf(slot);
  const std::size_t at = extent.offset_elems * context_.call->shape.element_bytes;
  const std::size_t bytes = extent.count_elems * context_.call->shape.element_bytes;
  if (slot.space != Space::payload && passage_.hasStage() && passage_.slots().has(slot))
    return {passage_.memory() + passage_.slots().at(slot), extent.count_elems, bytes};
  switch (slot.space) {
    case Space::input:
      // Only read, but iovec has no const.
      return {const_cast<std::byte*>(context_.input) + at, extent.count_elems, bytes};
    case Space::output:
      return {context_.output + at, extent.count_elems, bytes};
    case Space::scratch:
      return {scratch_ + at, extent.count_elems, bytes};
    case Space::payload:
      return payloads_[slot.index];
    case Space::data:
      break;
  }
  assert(false && "data slots are resolved by the builder");
  return {};
}

std::uint32_t Run::appendPieces(const Step& step) {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < step.targets.count; ++i) {
    const SlotMemory& memory = memory_of_[step.targets.first + i];
    if (memory.elems == 0) continue;
    const std::size_t bytes = memory.capacity;
    if (count > 0 && static_cast<std::byte*>(pieces_.back().iov_base) + pieces_.back().iov_len == memory.data) {
      pieces_.back().iov_len += bytes;
      continue;
    }
    pieces_.push_back({memory.data, bytes});
    ++count;
  }
  return count;
}

void Run::resolveScratch() {
  const auto atLeast = [](std::vector<std::byte>& storage, std::size_t bytes) {
    if (storage.size() < bytes + kScratchAlignment) storage.resize(bytes + kScratchAlignment);
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    return storage.data() + (kScratchAlignment - address % kScratchAlignment) % kScratchAlignment;
  };
  const Schedule& schedule = *context_.schedule;
  scratch_ = atLeast(scratch_storage_, layout_->scratchElems() * context_.call->shape.element_bytes);
  payloads_.resize(schedule.payload_like.size());
  payload_bytes_.resize(schedule.payload_like.size());
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < payloads_.size(); ++i) {
    const std::uint64_t elems = layout_->extentOf({Space::payload, i}).count_elems;
    payloads_[i] = {nullptr, elems, elems > 0 ? context_.call->codecs->maxBytes(elems) : 0};
    bytes += (payloads_[i].capacity + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  }
  if (payloads_.empty()) return;
  std::byte* next = atLeast(payload_storage_, bytes);
  for (std::uint32_t i = 0; i < payloads_.size(); ++i) {
    payloads_[i].data = next;
    next += (payloads_[i].capacity + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    const Slot slot{Space::payload, i};
    if (passage_.hasStage() && passage_.slots().has(slot))
      payloads_[i].data = passage_.memory() + passage_.slots().at(slot);
  }
}

void Run::resolve() {
  const Schedule& schedule = *context_.schedule;
  resolveScratch();
  for (std::size_t i = 0; i < schedule.slots.size(); ++i)
    memory_of_[i] = memoryOf(schedule.slots[i]);
  pieces_.clear(); // Capacity covers every slot once, so spans into it stay valid.
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    if (schedule.steps[i].peer < 0) continue;
    const std::size_t first = pieces_.size();
    const std::uint32_t count = appendPieces(schedule.steps[i]);
    const std::span<const iovec> pieces(pieces_.data() + first, count);
    std::size_t total = 0;
    for (const iovec& piece : pieces)
      total += piece.iov_len;
    if (sends_[i]) {
      sends_[i]->pieces = pieces;
      sends_[i]->bytes = total;
      sends_[i]->is_stored_whole = context_.stores_whole;
    } else {
      recvs_[i]->pieces = pieces;
      recvs_[i]->capacity = total;
      recvs_[i]->streams = context_.streams && recvs_[i]->ends;
    }
    resolveReply(i);
  }
  resolved_binding_ = context_.binding;
  resolved_fragment_ = fragment_;
}

void Run::begin(std::uint32_t fragment, std::uint64_t sequence, Stage* stage) {
  fragment_ = fragment;
  sequence_ = sequence;
  passage_.beginWithoutStage();
  const bool moved = resolved_binding_ != context_.binding || resolved_fragment_ != fragment;
  if (moved) layout_.emplace(*context_.schedule, context_.call->shape, fragment_, context_.fragments);
  if (stage == nullptr ? moved : beginPassage(*stage, moved)) resolve();
  const Schedule& schedule = *context_.schedule;
  const Envelope& envelope = *context_.envelope;
  ready_.clear();
  ready_head_ = 0;
  codec_ready_.clear();
  codec_head_ = 0;
  on_device_.begin(context_.device_steps);
  steps_left_ = schedule.steps.size();
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const Tag tag = collectiveTag(environment_.context, sequence, fragment, step.ordinal);
    const auto replyTag = [&](std::uint32_t reply_step) {
      if (reply_step == kNoStep) return Tag{0};
      return collectiveTag(environment_.context, sequence, fragment, schedule.steps[reply_step].ordinal);
    };
    if (sends_[i]) {
      sends_[i]->tag = tag;
      sends_[i]->envelope = envelope;
      sends_[i]->reply.tag = replyTag(sends_[i]->reply_step);
    } else if (recvs_[i]) {
      recvs_[i]->tag = tag;
      recvs_[i]->envelope = envelope;
      recvs_[i]->reply.tag = replyTag(recvs_[i]->reply_step);
    }
    done_ahead_[i] = false;
    missing_[i] = step.dependencies.count;
    if (missing_[i] == 0) makeReady(i);
  }
  active_ = true; // Last, because where memory is short a run has not begun.
}

/// Starts the copies of the fragment's data into its stage. Returns whether slots have other addresses than before.
bool Run::beginPassage(Stage& stage, bool moved) {
  const DeviceCodecSteps* device_steps = context_.device_steps;
  StagedSlots& slots = passage_.slots();
  if (moved)
    slots.lay(*context_.schedule, *layout_, *context_.call, device_steps == nullptr ? nullptr : device_steps->plan());
  return passage_.begin(stage, fragment_) || moved;
}

/// Continues the copies of the fragment to the host or, when its steps are done, back to the device.
Status Run::advancePassage() {
  const Status status = passage_.isHere() ? passage_.bringOut() : passage_.advance();
  if (!status.isOk()) return ofDevice(status, environment_.group, *context_.signature);
  if (passage_.hasLeft()) active_ = false;
  if (!passage_.isHere()) return Status::ok();
  const Call& call = *context_.call;
  if (schedule::reduces(call.collective) && call.op == GOSS_PREMUL_SUM)
    passage_.slots().scaleInput(passage_.memory(), call);
  return Status::ok();
}

Status Run::advance() {
  if (!passage_.isHere()) {
    if (Status status = advancePassage(); !status.isOk() || !passage_.isHere()) return status;
  }
  const auto runReady = [this]() GOSS_ON_LOOP -> Status {
    while (ready_head_ < ready_.size()) {
      if (Status status = runStep(ready_[ready_head_++]); !status.isOk()) return status;
    }
    return Status::ok();
  };
  if (Status status = runReady(); !status.isOk()) return status;
  if (mayDoCodecWork()) {
    const std::uint32_t index = codec_ready_[codec_head_++];
    if (Status status = runCodec(index); !status.isOk()) return status;
    const Step& step = context_.schedule->steps[index];
    if (context_.keeps(step)) context_.outcome.countEncoding(step.finishes);
    if (Status status = runReady(); !status.isOk()) return status;
  }
  for (std::size_t before = steps_left_ + 1; on_device_.any() && steps_left_ != before;) {
    before = steps_left_;
    if (Status status = advanceOnDevice(); !status.isOk()) return status;
    if (Status status = runReady(); !status.isOk()) return status;
  }
  if (steps_left_ > 0) return Status::ok();
  if (passage_.hasStage()) return advancePassage();
  active_ = false;
  return Status::ok();
}

bool Run::movesNothing(const Step& step) const {
  // Empty messages are not sent, because both ends know that they are empty; except in an uneven all_to_all or exchange
  // among neighbours, where each rank knows only its own counts, and in a barrier, where only the arrival matters.
  const Call& call = *context_.call;
  const bool knows_own_counts = schedule::exchangesBlocks(call.collective) || isAmongNeighbors(call.collective);
  if (call.collective == Collective::barrier || (call.uneven && knows_own_counts)) return false;
  for (std::uint32_t i = 0; i < step.targets.count; ++i) {
    if (memory_of_[step.targets.first + i].elems > 0) return false;
  }
  return true;
}

Status Run::runStep(std::uint32_t index) {
  const Step& step = context_.schedule->steps[index];
  if (done_ahead_[index] || movesNothing(step)) {
    stepDone(index);
    return Status::ok();
  }
  if (step.peer >= 0) return post(index);
  runLocal(step);
  stepDone(index);
  return Status::ok();
}

Status Run::post(std::uint32_t index) {
  const int peer = sends_[index] ? sends_[index]->peer : recvs_[index]->peer;
  Mesh& mesh = environment_.mesh;
  if (Status status = mesh.linkStatus(peer); !status.isOk()) {
    // Messages that a peer sent before it left can still be received; if it did not send them, the transport reports
    // its loss.
    if (sends_[index] || status.scope() != ErrorScope::peer) return status;
  }
  if (sends_[index]) {
    SendStep& send = *sends_[index];
    const Step& step = context_.schedule->steps[index];
    if (movesPayload(step) && !send.pieces.empty()) {
      send.bytes = payload_bytes_[context_.schedule->slotsOf(step.targets)[0].index];
      pieces_[static_cast<std::size_t>(send.pieces.data() - pieces_.data())].iov_len = send.bytes;
    }
    counters().wire_bytes_sent += send.bytes;
    send.reply.is_written = false;
    send.posted = true;
    if (mesh.transport(peer)->send(send)) {
      send.posted = false;
      stepDone(index);
    }
  } else {
    recvs_[index]->reply.buffer = nullptr;
    recvs_[index]->posted = true;
    mesh.transport(peer)->recv(*recvs_[index]);
  }
  return Status::ok();
}

void Run::runLocal(const Step& step) {
  const Call& call = *context_.call;
  const std::size_t element = call.shape.element_bytes;
  if (step.kind == StepKind::combine) {
    combined_.clear();
    for (std::uint32_t i = 0; i < step.sources.count; ++i)
      combined_.push_back(memory_of_[step.sources.first + i].data);
    const SlotMemory& target = memory_of_[step.targets.first];
    kernels::weightedSum(call.dtype, target.data, combined_, context_.schedule->weightsOf(step), target.elems);
    return;
  }
  if (step.kind == StepKind::reduce) {
    const SlotMemory& target = memory_of_[step.targets.first];
    kernels::reduce(call.dtype, call.op, target.data, memory_of_[step.sources.first].data,
                    memory_of_[step.sources.first + 1].data, target.elems);
    return;
  }
  for (std::uint32_t i = 0; i < step.targets.count; ++i) {
    const SlotMemory& target = memory_of_[step.targets.first + i];
    const SlotMemory& source = memory_of_[step.sources.first + i];
    if (target.elems == 0) continue;
    if (step.kind == StepKind::finish && call.op == GOSS_AVG) {
      kernels::average(call.dtype, target.data, source.data, target.elems, environment_.group.size());
    } else if (target.data != source.data) {
      kernels::copy(target.data, source.data, target.elems * element);
    }
  }
}

void Run::makeReady(std::uint32_t index) {
  if (on_device_.take(index)) return;
  const Step& step = context_.schedule->steps[index];
  const bool adds_payloads = step.kind == StepKind::reduce && movesPayload(step);
  const bool codec_work = step.kind == StepKind::encode || step.kind == StepKind::decode || adds_payloads;
  (codec_work ? codec_ready_ : ready_).push_back(index);
}

bool Run::movesPayload(const Step& step) const {
  return step.targets.count == 1 && context_.schedule->slotsOf(step.targets)[0].space == Space::payload;
}

void Run::stepDone(std::uint32_t index) {
  --steps_left_;
  for (const std::uint32_t dependent : (*context_.dependents)[index]) {
    if (--missing_[dependent] == 0) makeReady(dependent);
  }
}

void Run::stepDoneInCallback(std::uint32_t index) {
  stepDone(index);
  environment_.engine.active().markDirty(operation_);
}

void Run::failInCallback(const Status& status) {
  if (context_.outcome.failure.isOk()) context_.outcome.failure = status;
  environment_.engine.active().markDirty(operation_);
}

/// Handles a message of `rank` whose envelope differs. Returns the error with which the message is refused.
Status Run::disagreeInCallback(int rank, const Envelope& theirs) {
  if (context_.outcome.disagrees < 0) {
    context_.outcome.disagrees = rank;
    context_.outcome.theirs = theirs;
  }
  return Status::error(GOSS_ERR_MISMATCH, fmt::format("rank {} has called something else", rank));
}

void Run::withdraw() {
  active_ = false;
  for (const auto& send : sends_) {
    if (!send || !send->posted) continue;
    send->posted = false;
    environment_.mesh.transport(send->peer)->cancel(*send);
  }
  for (const auto& recv : recvs_) {
    if (!recv || !recv->posted) continue;
    recv->posted = false;
    environment_.mesh.transport(recv->peer)->cancel(*recv);
  }
}

void Run::appendWaitingFor(std::vector<int>& ranks) const {
  for (std::size_t i = 0; i < recvs_.size(); ++i) {
    const bool waits = (recvs_[i] && recvs_[i]->posted) || (sends_[i] && sends_[i]->posted);
    const int rank = context_.schedule->steps[i].peer;
    if (waits && std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  }
}

} // namespace goss

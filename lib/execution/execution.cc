#include "execution/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "devices/stream_ordered.h"
#include "execution/run.h"
#include "execution/shared_call.h"
#include "execution/tensor_use.h"
#include "gossamer/random.h"
#include "kernels/kernels.h"
#include "mesh/mesh.h"
#include "schedule/contract.h"
#include "schedule/stored.h"

namespace goss {

namespace {

/// Number of further fragments in flight for calls with device buffers: those being copied from the device or back.
constexpr std::uint32_t kFragmentsUnderWay = 2;

/// Ranks that planned differently must notice it instead of exchanging nonsense.
std::uint32_t planHash(const Plan& plan, const Call& call) {
  const std::uint64_t codecs = call.codecs != nullptr ? call.codecs->hash ^ call.tensor : 0;
  const std::uint64_t hash = detail::mix64(plan.hash ^ codecs);
  // An all_to_allv has no counts that are equal on all ranks.
  const std::uint32_t uneven = call.uneven ? 0x9e3779b9u : 0;
  return static_cast<std::uint32_t>(hash ^ (hash >> 32)) ^ call.counts_hash ^ uneven;
}

/// Copies the input to `to`; GOSS_PREMUL_SUM: scales it.
void stageInput(const Call& call, int rank, std::byte* to) {
  const std::uint64_t elems = call.inputSpanElems(rank);
  if (schedule::reduces(call.collective) && call.op == GOSS_PREMUL_SUM) {
    kernels::scale(call.dtype, to, call.input, elems, call.scale);
  } else if (elems > 0) {
    kernels::copy(to, call.input, elems * call.shape.element_bytes);
  }
}

Stage* stageOf(const std::vector<std::unique_ptr<Stage>>& stages, std::uint32_t lane) {
  return stages.empty() ? nullptr : stages[lane].get();
}

/// Adds the traffic to the counters as if this rank had sent its bytes to each other rank in a message.
void countBoardBytesOnLoop(const RunEnvironment& environment, const BoardCollective& work) GOSS_ON_LOOP {
  const auto others = static_cast<std::uint64_t>(environment.group.size() - 1);
  goss_counters& counters = environment.operations.counters();
  counters.wire_bytes_sent += work.posts * others;
  counters.wire_bytes_received += work.posts * others;
}

} // namespace

Execution::Execution(const RunEnvironment& environment, std::shared_ptr<const Plan> plan)
    : Operation(environment.operations.host()),
      environment_(environment),
      plan_(std::move(plan)),
      context_(std::make_unique<RunContext>()),
      residuals_(environment) {
  context_->schedule = plan_->schedule.get();
  context_->dependents = &dependents_;
  context_->call = &call_;
  context_->signature = &signature_;
  context_->envelope = &envelope_;
  context_->fragments = plan_->fragments;
  context_->pace_bytes_per_s = plan_->pace_bytes_per_s;
}

/// `encodes`: steps run on the device, if they may.
void Execution::bindRuns(bool encodes) {
  encodes_on_host_ = false;
  if (!encodes || !device_steps_.bind(*plan_->schedule, call_, environment_.devices)) device_steps_.unbind();
  context_->device_steps = device_steps_.isBound() ? &device_steps_ : nullptr;
  ++context_->binding;
  std::uint32_t window = std::max(1u, plan_->window);
  if (call_.device.any()) window += kFragmentsUnderWay;
  // In a group of calls each fragment has its own lane: no gate of one call may hold up what another call needs.
  lanes_ = call_.device.grouped ? plan_->fragments : std::min(plan_->fragments, window);
  if (call_.device.any()) memory_.layFragments({*this, *plan_, call_, device_steps_}, lanes_);
  if (dependents_.empty()) dependents_ = dependentsOf(*plan_->schedule);
  while (runs_.size() < lanes_)
    runs_.push_back(std::make_unique<Run>(*this, environment_, *context_));
}

Execution::~Execution() = default;

void Execution::bind(const Call& call, std::uint64_t binding) {
  timeout_ms = call.timeout_ms;
  if (binding_ > 0 && call == bound_) return; // As in a training loop: the same buffers again.
  if (bound_.device.device != call.device.device) {
    stages_.clear();
    residuals_.leaveDevice();
  }
  bound_ = call;
  call_ = call;
  if (plan_->schedule->partition == Partition::even) call_.shape.weights = plan_->weights;
  if (call.codecs != nullptr) {
    call_.shape.align_elems = call.codecs->alignElems();
    codec_.bind(call_, environment_.group.size());
    context_->codec = &codec_;
  }
  payload_bytes = call.payloadBytes();
  signature_.kind = Signature::Kind::collective;
  signature_.collective = call.collective;
  signature_.dtype = call.dtype;
  signature_.op = schedule::reduces(call.collective) ? call.op : GOSS_SUM;
  signature_.root = schedule::hasRoot(call.collective) ? call.root : -1;
  signature_.count = call.count;
  signature_.detail = context_->plan_hash = planHash(*plan_, call);
  signature_.codec = call.codecs != nullptr ? call.codecs->tag() : std::uint8_t{0};
  if (call.phase_of != nullptr) {
    signature_ = call.phase_of->signature;
    signature_.detail ^= context_->plan_hash;
  }
  envelope_ = signature_.encode();
  const BoardChannel* channel = environment_.boards;
  // A phase begins when the phase before has ended, so ranks would not agree on its number on the board.
  on_board_ = plan_->on_board && channel != nullptr && call.phase_of == nullptr && channel->fits(call);
  binding_ = binding;
  if (on_board_) {
    device_steps_.unbind();
    context_->device_steps = nullptr;
    channel->bind(work_, call);
    if (call.device.any()) {
      const std::uint64_t read = call.device.input ? call.inputSpanElems(environment_.group.rank()) : 0;
      passage_.slots().layWhole(call, read * call.shape.element_bytes, channel->outputBytes(work_));
      memory_.layWhole(passage_.slots().bytes());
    }
    lanes_ = 1;
    return;
  }
  bindRuns(true);
  const bool scales = schedule::reduces(call.collective) && call.op == GOSS_PREMUL_SUM;
  needs_staging_ = !call.device.input && (call.staged_input || scales); // Device buffers are staged as they arrive.
  if (needs_staging_) staged_.resize(call.inputSpanElems(environment_.group.rank()) * call.shape.element_bytes);
  context_->input = needs_staging_ ? staged_.data() : static_cast<const std::byte*>(call.input);
  context_->streams = payload_bytes >= kernels::kStreamedBytes && !call.device.any();
  context_->stores_whole =
      schedule::storesMessages(*plan_->schedule, plan_->fragments) && call.codecs == nullptr && !call.device.any();
  context_->output = static_cast<std::byte*>(call.output);
  if (shared_ == nullptr && environment_.lending != nullptr && SharedCall::isFor(call_))
    shared_ = std::make_unique<SharedCall>(*this, environment_, *context_);
  if (shared_ != nullptr) shared_->bind(call_, *plan_, lanes_);
}

void Execution::numberOnLoop(History& history) {
  sequence = history.next();
  if (call_.codecs != nullptr && call_.tensor != 0) {
    context_->draw = environment_.references.countUp(call_.tensor);
    // Ranks that imported different states must notice it.
    signature_.detail = context_->plan_hash ^ static_cast<std::uint32_t>(context_->draw);
  }
  signature_.history = history.hash();
  signature_.putHistory(envelope_);
  history.add(envelope_);
  work_.envelope = envelope_;
  work_.number = 0;
}

bool Execution::tryRunOnLoop(int looks) {
  BoardChannel& channel = *environment_.boards;
  const bool had_written = work_.number != 0;
  const BoardChannel::Outcome outcome = channel.advance(work_, looks);
  if (!had_written && work_.number != 0) channel.wakeOthers();
  if (outcome != BoardChannel::Outcome::done) return false;
  countBoardBytesOnLoop(environment_, work_);
  return true;
}

void Execution::advanceOnBoardOnLoop() {
  if (!passage_.isHere()) return passOnLoop(false);
  BoardChannel& channel = *environment_.boards;
  const bool had_written = work_.number != 0;
  const BoardChannel::Outcome outcome = channel.advance(work_);
  if (!had_written && work_.number != 0) channel.wakeOthers();
  if (outcome == BoardChannel::Outcome::done) {
    countBoardBytesOnLoop(environment_, work_);
    leaveBoardOnLoop();
    if (passage_.hasStage()) return passOnLoop(true);
    environment_.operations.completeOnLoop(*this, Status::ok());
  } else if (outcome == BoardChannel::Outcome::mismatch) {
    environment_.mismatches.disagree(*this, work_.next, channel.envelopeOf(work_));
  } else {
    environment_.engine.active().keepPolling(*this);
  }
}

/// The next operation in the queue gets its turn.
void Execution::leaveBoardOnLoop() {
  if (!queued_) return;
  queued_ = false;
  Operation* next = environment_.boards->leave(*this);
  if (next != nullptr) environment_.engine.active().markDirty(*next);
}

std::string Execution::describe() const {
  if (call_.phase_of != nullptr && call_.phase_of->codecs != nullptr) {
    return fmt::format("a phase of {} compressed with '{}'", signature_.describe(), call_.phase_of->codecs->text);
  }
  if (call_.codecs == nullptr) return signature_.describe();
  return fmt::format("{} compressed with '{}'", signature_.describe(), call_.codecs->text);
}

bool Execution::pollOnLoop() {
  if (memory_.hasCome()) {
    advanceOnLoop();
    return true;
  }
  if (memory_.isComing() && on_board_) return false;
  if (!on_board_) {
    const auto has_work = [](const std::unique_ptr<Run>& run)
                              GOSS_ON_LOOP { return run->active() && (run->mayDoCodecWork() || run->hasCome()); };
    const bool ends = fragments_left_ == 0 && !isActive(shared_); // And the caller's stream has not passed the call.
    const bool has_shared = shared_ != nullptr && shared_->hasCome();
    if (!ends && !has_shared && std::none_of(runs_.begin(), runs_.end(), has_work)) return false;
    advanceOnLoop();
    return true;
  }
  const bool is_under_way = !passage_.isHere() && !passage_.hasLeft();
  if (is_under_way && !passage_.hasCome()) return false;
  advanceOnBoardOnLoop();
  if (state() != State::active || !passage_.isHere()) return true;
  const int rank = environment_.boards->awaited(work_);
  if (rank < 0) return false;
  const Status link = environment_.mesh.linkStatus(environment_.group.worldRank(rank));
  if (link.isOk()) return false;
  // The rank may have written its board after the last poll, and then left.
  advanceOnBoardOnLoop();
  if (state() == State::active) environment_.fail(link);
  return true;
}

/// Only an operation that has written its board can have been completed by a peer. Messages may have come since the
/// last turn.
void Execution::lookOnceMoreOnLoop() {
  if (!on_board_) {
    if (context_->outcome.failure.isOk()) advanceOnLoop();
  } else if (work_.number != 0 && passage_.isHere()) {
    advanceOnBoardOnLoop();
  }
}

/// The tensor of error feedback. A phase works on that of its multi-phase operation.
std::uint64_t Execution::keptTensor() const {
  const bool keeps = call_.codecs != nullptr && call_.phase_of == nullptr && call_.codecs->feedback();
  return keeps ? call_.tensor : 0;
}

/// Refuses to start while a multi-phase operation uses the tensor: error feedback would split the ranges that it holds.
Status Execution::mayStartOnLoop() const {
  if (keptTensor() == 0 || !holdsTensorOnLoop(environment_.operations, keptTensor())) return Status::ok();
  return tensorInUse(*this);
}

std::uint64_t Execution::encodingsLeft(bool of_sum) const { return context_->outcome.encodings_left[of_sum]; }

void Execution::startOnLoop() {
  context_->outcome = {};
  if (on_board_) {
    queued_ = true;
    environment_.boards->enter(*this);
    passage_.beginWithoutStage();
    fragments_left_ = 1;
    if (call_.device.any()) startRunsOnLoop();
    return advanceOnLoop();
  }
  if (call_.codecs == nullptr || call_.tensor == 0) context_->draw = sequence;
  if (needs_staging_) stageInput(call_, environment_.group.rank(), staged_.data());
  fragments_left_ = plan_->fragments;
  next_fragment_ = 0;
  for (const bool of_sum : {false, true})
    context_->outcome.encodings_left[of_sum] =
        keptTensor() == 0 ? 0 : plan_->fragments * runs_.front()->keptEncodings(of_sum);
  if (shared_ != nullptr) shared_->begin(sequence);
  if (shared_ == nullptr || !shared_->mayShare()) startRunsOnLoop();
  advanceOnLoop();
}

/// Starts the runs, or the passage to the board, as soon as their memory is there.
void Execution::startRunsOnLoop() {
  if (encodes_on_host_) bindRuns(true);
  if (call_.device.any() && !call_.device.ordered) {
    const Result<DeviceStation*> station = environment_.devices.station(call_.device.device);
    if (station.isOk() && !memory_.get(*station.value(), {*this, *plan_, call_, device_steps_}, residuals_))
      return environment_.engine.active().keepPolling(*this);
  }
  beginOnLoop();
}

void Execution::beginOnLoop() {
  const DeviceWatch::Beginning beginning = memory_.setHere();
  const Status status = openStages();
  if (status.kind() == GOSS_ERR_RESOURCE && device_steps_.isBound()) {
    // The device has no memory for payloads or residuals: the call is staged, until it is bound anew.
    stages_.clear();
    context_->residuals = nullptr;
    residuals_.close();
    // They are moved to the host as soon as they are there.
    if (residuals_.opened() != nullptr && call_.device.ordered)
      residuals_.start(*environment_.devices.station(call_.device.device).value());
    bindRuns(false);
    memory_.setStaged();
    return startRunsOnLoop();
  }
  memory_.clear();
  if (!status.isOk()) {
    context_->outcome.failure = ofDevice(status, environment_.group, signature_);
    return;
  }
  if (on_board_) {
    passage_.begin(*stages_.front(), 0);
    const StagedSlots& slots = passage_.slots();
    if (call_.device.input) work_.input = passage_.memory() + slots.at({Space::input, 0});
    if (call_.device.output) work_.output = passage_.memory() + slots.at({Space::output, 0});
    return;
  }
  fragment_of_run_.resize(lanes_);
  for (; next_fragment_ < lanes_; ++next_fragment_) {
    fragment_of_run_[next_fragment_] = next_fragment_;
    runs_[next_fragment_]->begin(next_fragment_, sequence, stageOf(stages_, next_fragment_ % lanes_));
  }
}

void Execution::failOnLoop() {
  const RunOutcome& outcome = context_->outcome;
  if (outcome.disagrees >= 0) return environment_.mismatches.disagree(*this, outcome.disagrees, outcome.theirs);
  environment_.fail(outcome.failure);
}

void Execution::advanceOnLoop() {
  Status& failure = context_->outcome.failure;
  if (memory_.hasCome()) beginOnLoop();
  if (on_board_) {
    if (call_.device.any() && !failure.isOk()) return failOnLoop();
    if (memory_.isComing()) return;
    if (!queued_ || environment_.boards->hasTurn(*this)) return advanceOnBoardOnLoop();
    return environment_.engine.active().stopPolling(*this);
  }
  if (Status status = residuals_.failure(); failure.isOk() && !status.isOk())
    failure = ofDevice(status, environment_.group, signature_);
  if (shared_ != nullptr && shared_->active()) {
    const bool might_share = shared_->mayShare();
    shared_->advance();
    if (failure.isOk() && might_share && !shared_->mayShare()) startRunsOnLoop();
    if (failure.isOk() && shared_->mayShare() && !shared_->active()) fragments_left_ = 0;
    if (failure.isOk() && shared_->isUnderWay()) environment_.engine.active().keepPolling(*this);
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto& run = runs_[i];
    while (failure.isOk() && run->active()) {
      failure = run->advance();
      if (!failure.isOk() || run->active()) break;
      --fragments_left_;
      const std::uint32_t next = stages_.empty() ? next_fragment_++ : fragment_of_run_[i] += lanes_;
      if (next < plan_->fragments) run->begin(next, sequence, stageOf(stages_, next % lanes_));
    }
    if (failure.isOk() && run->active() && (run->hasCodecWork() || run->isUnderWay()))
      environment_.engine.active().keepPolling(*this);
  }
  if (!failure.isOk()) {
    failOnLoop();
  } else if (fragments_left_ == 0 && !isActive(shared_)) {
    completeWhenLeftOnLoop();
  }
}

void Execution::withdrawOnLoop() {
  leaveBoardOnLoop();
  if (shared_ != nullptr) shared_->withdraw();
  for (const auto& run : runs_)
    run->withdraw();
  for (const auto& stage : stages_)
    stage->withdraw();
  memory_.clear();
  residuals_.withdraw();
  residuals_.close();
  if (gate_ != nullptr) environment_.devices.holdOnLoop(gate_, environment_.context);
}

bool Execution::tryLeaveOnLoop() {
  const auto is_busy = [](const std::unique_ptr<Stage>& stage) { return stage->isBusy(); };
  if (residuals_.isBusy() || std::any_of(stages_.begin(), stages_.end(), is_busy)) return false;
  return shared_ == nullptr || shared_->tryLeave();
}

std::vector<int> Execution::waitingForRanks() const {
  std::vector<int> ranks;
  if (on_board_) {
    environment_.boards->appendAwaited(work_, ranks);
    return ranks;
  }
  if (shared_ != nullptr) shared_->appendWaitingFor(ranks);
  for (const auto& run : runs_)
    run->appendWaitingFor(ranks);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

} // namespace goss

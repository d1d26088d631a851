#include "execution/shared_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "call/tag.h"
#include "schedule/contract.h"

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;

/// Alignment of the fragments' scratch memory, the same as that of an allocation.
constexpr std::size_t kAlignment = 256;

/// Shorter calls do not share a GPU. Staging copies a vector over the bus twice, at some 25 GB/s: 20 us for this many
/// bytes, about as long as the messages that sharing needs. An estimate that was not measured on a GPU.
constexpr std::uint64_t kMinBytes = 256 << 10;

/// Peers' devices need milliseconds.
constexpr std::chrono::milliseconds kLongestRead(10000);
/// A process that is stopped gives nothing back, and a rank that waited for it would miss its deadline. The process
/// learns from Lending::tryGiveBack() that what it read does not count. If the owner has freed the memory meanwhile,
/// the reader's device may fail.
constexpr std::chrono::milliseconds kLongestReadElsewhere(100);

/// The schedule in which every rank sends its offer to every other.
std::shared_ptr<const Schedule> meetingOf(const Group& group) {
  const auto chunks = static_cast<std::uint32_t>(group.size());
  ScheduleBuilder builder({.collective = Collective::allGather,
                           .size = group.size(),
                           .rank = group.rank(),
                           .partition = Partition::byRank,
                           .chunk_count = chunks});
  for (int rank = 0; rank < group.size(); ++rank)
    if (rank != group.rank()) builder.send(rank, {data(static_cast<std::uint32_t>(group.rank()))});
  for (int rank = 0; rank < group.size(); ++rank)
    if (rank != group.rank()) builder.recv(rank, {data(static_cast<std::uint32_t>(rank))});
  auto schedule = std::make_shared<Schedule>(builder.build("meeting"));
  // Its messages have the tags of the call that begins: the last one, which schedules do not come to.
  for (Step& step : schedule->steps)
    if (step.peer >= 0) step.ordinal = kMaxOrdinals - 1;
  return schedule;
}

} // namespace

SharedCall::SharedCall(Operation& operation, const RunEnvironment& environment, RunContext& context)
    : operation_(operation),
      environment_(environment),
      context_(context),
      meeting_schedule_(meetingOf(environment.group)),
      meeting_dependents_(dependentsOf(*meeting_schedule_)),
      meeting_context_(meetingContext()),
      meeting_(operation, environment, meeting_context_),
      memory_(environment.group, environment.lending->isInProcess()) {
  meeting_call_.collective = Collective::allGather;
  meeting_call_.dtype = GOSS_UINT8;
  meeting_call_.count = SharedOffer::kBytes;
  setUniformShape(meeting_call_, environment.group.size());
  meeting_context_.input = told_.data();
  meeting_context_.output = memory_.told().data();
}

RunContext SharedCall::meetingContext() const {
  RunContext context;
  context.schedule = meeting_schedule_.get();
  context.dependents = &meeting_dependents_;
  context.call = &meeting_call_;
  context.signature = context_.signature;
  context.envelope = context_.envelope;
  context.binding = 1;
  return context;
}

SharedCall::~SharedCall() = default;

bool SharedCall::isFor(const Call& call) {
  const bool scales = schedule::reduces(call.collective) && call.op == GOSS_PREMUL_SUM; // Each rank by its own factor.
  return call.codecs == nullptr && call.phase_of == nullptr && !isAmongNeighbors(call.collective) && !scales &&
         call.count * call.shape.element_bytes >= kMinBytes;
}

void SharedCall::bind(const Call& call, const Plan& plan, std::uint32_t lanes) {
  meets_ = isFor(call);
  fragments_ = plan.fragments;
  lanes_ = lanes;
  scratch_bytes_ = 0;
  for (std::uint32_t fragment = 0; meets_ && fragment < fragments_; ++fragment) {
    const schedule::Layout layout(*plan.schedule, context_.call->shape, fragment, fragments_);
    scratch_bytes_ = std::max<std::size_t>(scratch_bytes_, layout.scratchElems() * call.shape.element_bytes);
  }
  scratch_bytes_ = (scratch_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
}

void SharedCall::begin(std::uint64_t sequence) {
  device_ = -1;
  fragments_left_ = 0;
  if (!meets_) return;
  sequence_ = sequence;
  meeting_context_.outcome = {};
  have_mapped_ = false;
  loan_ = collectiveTag(environment_.context, sequence, 0, 0);
  if (!mightShare()) {
    memory_.own().device.clear();
    return meet();
  }
  device_ = context_.call->device.device;
  work_ = Work::prepares;
  job_->start([this] { return prepare(); });
}

/// The device's thread has prepared this rank's memory, or could not: it tells the others.
void SharedCall::offer(bool is_prepared) {
  SharedOffer& offer = memory_.own();
  if (is_prepared && environment_.lending->tryLend(loan_)) {
    offer.mapped = memory_.keepMapped();
  } else {
    device_ = -1;
    offer.device.clear();
    scratch_ = {};
  }
  meet();
}

/// Sends this rank's offer to the others, and gathers theirs.
void SharedCall::meet() {
  memory_.own().encode(told_);
  meeting_.begin(0, sequence_, nullptr);
}

/// Whether this rank shares the device if its memory allows that.
bool SharedCall::mightShare() {
  const Call& call = *context_.call;
  if (!call.device.any() || call.device.ordered || call.staged_input) return false;
  if (!SharedRun::serves(*context_.schedule, call)) return false;
  const Result<DeviceStation*> station = environment_.devices.station(call.device.device);
  if (!station.isOk() || !station.value()->computes || !station.value()->peers.succeeds()) return false;
  if (std::exchange(station_, station.value()) != station.value()) {
    runs_.clear();
    job_.emplace(station.value()->watch);
  }
  while (runs_.size() < lanes_)
    runs_.push_back(std::make_unique<SharedRun>(operation_, environment_, context_, memory_, *station.value()));
  fragment_of_run_.resize(lanes_);
  return true;
}

/// Gets what this rank needs to share the device. Error: this rank cannot share it.
Status SharedCall::prepare() {
  DevicePiece scratch{nullptr, lanes_ * scratch_bytes_};
  if (scratch.bytes > 0) {
    Result<BlockPool::Lease> leased = station_->memory.lease(scratch.bytes);
    if (!leased.isOk()) return leased.status();
    scratch_ = leased.take();
    scratch.data = scratch_.data();
  }
  return memory_.prepare(environment_.devices, *station_, *context_.call, scratch);
}

void SharedCall::advance() {
  RunOutcome& outcome = context_.outcome;
  if (!outcome.failure.isOk()) return;
  if (work_ != Work::none) advanceWork();
  while (meeting_.active() && outcome.failure.isOk()) {
    const Status status = meeting_.advance();
    if (meeting_context_.outcome.failure.isOk()) meeting_context_.outcome.failure = status;
    outcome.disagrees = meeting_context_.outcome.disagrees;
    outcome.theirs = meeting_context_.outcome.theirs;
    outcome.failure = meeting_context_.outcome.failure;
    if (meeting_.active()) break;
    if (outcome.failure.isOk()) decide(); // Which may begin another meeting.
  }
  for (std::uint32_t i = 0; fragments_left_ > 0 && i < lanes_; ++i) {
    SharedRun& run = *runs_[i];
    while (outcome.failure.isOk() && run.active()) {
      outcome.failure = run.advance();
      if (!outcome.failure.isOk() || run.active()) break;
      if (--fragments_left_ == 0) return end();
      if (const std::uint32_t next = fragment_of_run_[i] + lanes_; next < fragments_) beginRun(i, next);
    }
  }
}

/// Goes on where the device's thread has done its work.
void SharedCall::advanceWork() {
  const Result<bool> done = job_->isDone();
  if (done.isOk() && !done.value()) return;
  job_->withdraw();           // The device may have failed before the thread began the work.
  if (job_->isBusy()) return; // The thread still uses this object.
  switch (std::exchange(work_, Work::none)) {
    case Work::prepares:
      return offer(done.isOk());
    case Work::maps:
      return tellMapped(done.status());
    case Work::none:
      break;
  }
}

void SharedCall::decide() {
  if (device_ < 0) return;
  const bool share = memory_.isOnOneDevice();
  if (!share || (have_mapped_ && !memory_.areMapped())) {
    end();
    device_ = -1;
  } else if (environment_.lending->isInProcess() || memory_.areMapped()) {
    (void)memory_.map(*station_); // This rank has it.
    this->share();
  } else {
    work_ = Work::maps;
    job_->start([this] { return memory_.map(*station_); });
  }
}

void SharedCall::share() {
  fragments_left_ = fragments_;
  for (std::uint32_t i = 0; i < lanes_; ++i)
    beginRun(i, i);
}

/// This rank has mapped the others' memory, or could not: the ranks meet again to know whether all could.
void SharedCall::tellMapped(const Status& mapped) {
  have_mapped_ = true;
  if (!mapped.isOk() && !station_->peers.succeeds())
    environment_.propagator.log().warn(
        fmt::format("rank {} does not share its GPU with the ranks of its host any more, which is slower: {}",
                    environment_.group.rank(), mapped.text()));
  memory_.own().mapped = mapped.isOk() ? memory_.hash() : 0;
  meet();
}

void SharedCall::beginRun(std::uint32_t lane, std::uint32_t fragment) {
  fragment_of_run_[lane] = fragment;
  runs_[lane]->begin(fragment, scratch_.data() + lane * scratch_bytes_, sequence_, loan_);
}

/// Frees scratch memory and takes the loan back. No rank reads the memory any more, because all readers have answered.
void SharedCall::end() {
  scratch_ = {};
  memory_.release();
  (void)environment_.lending->tryTakeBack(loan_);
}

bool SharedCall::active() const { return work_ != Work::none || meeting_.active() || fragments_left_ > 0; }

bool SharedCall::isUnderWay() const {
  if (work_ != Work::none) return true;
  return std::any_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->isUnderWay(); });
}

bool SharedCall::hasCome() const {
  if (work_ != Work::none) {
    const Result<bool> done = job_->isDone();
    return !done.isOk() || done.value();
  }
  return std::any_of(runs_.begin(), runs_.end(), [](const auto& run) { return run->hasCome(); });
}

void SharedCall::withdraw() {
  if (job_) job_->withdraw();
  work_ = Work::none;
  meeting_.withdraw();
  for (const auto& run : runs_)
    run->withdraw();
  fragments_left_ = 0;
  if (device_ < 0) return;
  (void)environment_.lending->tryTakeBack(loan_);
  loan_end_ = Clock::now() + (environment_.lending->isInProcess() ? kLongestRead : kLongestReadElsewhere);
}

bool SharedCall::tryLeave() {
  bool have_left = !job_ || !job_->isBusy();
  for (const auto& run : runs_)
    have_left = run->tryLeave() && have_left; // A run gives back what it has borrowed although others have not left.
  if (!have_left) return false;
  if (device_ < 0) return true;
  // If a rank was lost, its memory was no longer wanted while this call still held it.
  if (memory_.release()) station_->watch.run([station = station_] { station->peers.sweep(); });
  if (!environment_.lending->tryTakeBack(loan_) && Clock::now() < loan_end_) return false;
  device_ = -1;
  scratch_ = {};
  return true;
}

void SharedCall::appendWaitingFor(std::vector<int>& ranks) const {
  meeting_.appendWaitingFor(ranks);
  for (const auto& run : runs_)
    run->appendWaitingFor(ranks);
}

} // namespace goss

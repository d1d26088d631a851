// The functions of Execution for device buffers.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "devices/stream_ordered.h"
#include "execution/execution.h"
#include "execution/run.h"
#include "execution/shared_call.h"

namespace goss {

namespace {

/// Whether two calls may be enqueued one after the other in a stream without harm to the error feedback of their
/// tensor: only if they encode the same elements on the same processor, so that no residual is copied home between
/// them.
bool mayFollowInStream(const Call& first, const Plan& first_plan, const Call& second, const Plan& second_plan) {
  return first.device.ordered && !isStreamOfThread(first.device.stream) && first.device == second.device &&
         first.collective == second.collective && first.dtype == second.dtype && first.op == second.op &&
         first.root == second.root && first.count == second.count && first.counts_hash == second.counts_hash &&
         first.codecs == second.codecs && first_plan.algorithm == second_plan.algorithm &&
         first_plan.fragments == second_plan.fragments;
}

} // namespace

/// Copies the device buffers of a call on the board to pinned memory before its turn and, with `has_results`, the
/// results back after it.
void Execution::passOnLoop(bool has_results) {
  if (Status status = has_results ? passage_.bringOut() : passage_.advance(); !status.isOk()) {
    context_->outcome.failure = ofDevice(status, environment_.group, signature_);
    return failOnLoop();
  }
  if (passage_.isHere()) return advanceOnBoardOnLoop();
  if (!passage_.hasLeft()) return environment_.engine.active().keepPolling(*this);
  fragments_left_ = 0;
  completeWhenLeftOnLoop();
}

StreamGate::Work Execution::streamWork() const {
  struct Laid {
    std::optional<schedule::Layout> layout;
    StagedSlots slots;
    FragmentCopies copies;
    std::uint32_t fragment = 0;
  };
  return [this, residuals = residuals_.opened(), laid = std::make_shared<Laid>()](
             DeviceQueue& queue, std::uint32_t fragment, std::uint32_t phase) {
    const std::uint32_t at = fragment % gate_->slots();
    if (!on_board_ && (!laid->layout || laid->fragment != fragment)) {
      laid->fragment = fragment;
      laid->layout.emplace(*plan_->schedule, call_.shape, fragment, plan_->fragments);
      laid->slots.lay(*plan_->schedule, *laid->layout, call_, device_steps_.plan());
    }
    const StagedSlots& slots = on_board_ ? passage_.slots() : laid->slots;
    const bool ends = phase + 1 == device_steps_.phases();
    if (phase == 0 || ends) {
      slots.copies(gate_->slot(at), laid->copies);
      const std::vector<CopyJob>& jobs = ends ? laid->copies.out : laid->copies.in;
      if (!jobs.empty()) {
        if (Status status = queue.copy(jobs); !status.isOk()) return status;
      }
    }
    if (!device_steps_.isBound()) return Status::ok();
    KeptOnDevice kept;
    if (residuals != nullptr) {
      kept = residuals->ofFragment(fragment);
      if (fragment == 0 && phase == 0) {
        if (Status status = residuals->enqueueStart(queue); !status.isOk()) return status;
      }
    }
    const StepContext context{*plan_->schedule, call_, *laid->layout, context_->draw};
    const DeviceFragment part{context, slots, gate_->slot(at), gate_->memory(at), kept};
    return device_steps_.enqueue(queue, part, device_steps_.plan()->phases[phase]);
  };
}

Status Execution::openStages() {
  if (!call_.device.any()) {
    stages_.clear();
    return Status::ok();
  }
  const Result<DeviceStation*> found = environment_.devices.station(call_.device.device);
  if (!found.isOk()) return found.status();
  DeviceStation& station = *found.value();
  const bool keeps = device_steps_.isBound() && keptTensor() != 0;
  const KeepingCall keeping{*this, *plan_, call_, device_steps_};
  const Result<bool> opened = keeps ? residuals_.open(station, keeping, memory_.reserve()) : true;
  context_->residuals = residuals_.opened().get();
  if (!opened.isOk()) return opened.status();
  if (!opened.value()) {
    bindRuns(false);
    encodes_on_host_ = true; // In this call alone.
  }
  if (call_.device.ordered) {
    // What the host needs of residuals on a device must be on its way before a gate waits for the host: streams may be
    // one queue.
    if (keptTensor() != 0) {
      if (Status status = residuals_.moveToHost(keeping); !status.isOk()) return status;
    }
    auto gate = StreamGate::make(station, call_.device.stream, memory_.shape(), memory_.reserve());
    if (!gate.isOk()) return gate.status();
    gate_ = gate.take();
    gate_->keep(residuals_.opened());
    stages_.clear();
    for (std::uint32_t i = 0; i < lanes_; ++i)
      stages_.push_back(std::make_unique<GatedStage>(gate_, i, device_steps_.phases()));
    return Status::ok();
  }
  while (stages_.size() < lanes_)
    stages_.push_back(std::make_unique<WaitedStage>(station));
  for (std::uint32_t i = 0; i < lanes_; ++i) {
    if (Status status = stages_[i]->takeMemory(memory_.shape(), memory_.reserve()); !status.isOk()) return status;
  }
  return Status::ok();
}

bool Execution::hasResultsOnLoop() const { return gate_ != nullptr && fragments_left_ == 0 && !isActive(shared_); }

/// Completes the call; if it runs in its caller's stream, only when the stream has passed it.
void Execution::completeWhenLeftOnLoop() {
  if (gate_ != nullptr) {
    const Result<bool> left = gate_->hasLeft();
    if (!left.isOk()) {
      context_->outcome.failure = ofDevice(left.status(), environment_.group, signature_);
      return failOnLoop();
    }
    if (!left.value()) return environment_.engine.active().keepPolling(*this);
  }
  // A call that falls back to the host leaves copies of residuals to the device's thread.
  if (residuals_.isBusy()) return environment_.engine.active().keepPolling(*this);
  for (const auto& stage : stages_)
    stage->release();
  residuals_.close();
  residuals_.reset();
  if (gate_ != nullptr) {
    stages_.clear();
    gate_.reset();
  }
  environment_.operations.completeOnLoop(*this, Status::ok());
}

bool Execution::waitsForDevice() const {
  if (memory_.isComing()) return true;
  if (!stages_.empty() && on_board_) return !passage_.isHere();
  if (!stages_.empty() && fragments_left_ == 0 && !isActive(shared_)) return true;
  if (shared_ != nullptr && shared_->isUnderWay()) return true;
  return std::any_of(runs_.begin(), runs_.end(), [](const std::unique_ptr<Run>& run) { return run->isUnderWay(); });
}

void Execution::endEnqueuing(const Status& status) {
  const std::shared_ptr<StreamGate> gate = gate_;
  if (!status.isOk()) {
    auto lock = environment_.engine.enter();
    if (state() == State::active) {
      context_->outcome.failure = ofDevice(status, environment_.group, signature_);
      failOnLoop();
    }
  }
  gate->setEnqueued(); // A stream that is full keeps the thread waiting here.
}

/// A call with error feedback of a tensor waits here until other calls with error feedback of the same tensor have
/// ended that are in other streams, or have other lengths: their residuals could not be copied to the host behind the
/// gates of this call.
Status Execution::prepare(bool in_group) {
  Call call = call_;
  call.device.grouped = call.device.grouped || in_group;
  for (bool waits = keptTensor() != 0; waits;) {
    {
      auto lock = environment_.engine.enter();
      waits = false;
      environment_.operations.forEachActiveOnLoop([&](Operation& other) GOSS_ON_LOOP {
        if (&other == this || other.keptTensor() != keptTensor()) return;
        const auto* before = dynamic_cast<const Execution*>(&other);
        // If goss_group_end has yet to enqueue the gates of `before`, that call cannot end now, so this one does not
        // wait for it.
        waits = waits || (before != nullptr && !before->isEnqueuing() &&
                          !mayFollowInStream(before->call_, *before->plan_, call, *plan_));
      });
    }
    if (waits) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (Status status = environment_.devices.prepare(call_.device.device, call_.device.stream); !status.isOk())
    return status;
  if (const Result<DeviceStation*> station = environment_.devices.station(call_.device.device); station.isOk()) {
    {
      auto lock = environment_.engine.enter();
      if (encodes_on_host_ && state() != State::active) bindRuns(true); // As the start does.
    }
    const KeepingCall keeping{*this, *plan_, call_, device_steps_};
    memory_.getAhead(environment_.engine, *station.value(), keeping, residuals_, call.device.grouped);
  }
  return Status::ok();
}

void Execution::joinGroupOnLoop() {
  if (bound_.device.grouped) return;
  bound_.device.grouped = call_.device.grouped = true;
  if (!on_board_) bindRuns(true);
}

void Execution::enqueueArrivals() {
  if (!isEnqueuing()) return;
  if (Status status = gate_->enqueueArrivals(streamWork()); !status.isOk()) endEnqueuing(status);
}

void Execution::enqueueGates() {
  if (!isEnqueuing()) return;
  endEnqueuing(gate_->enqueueGates(streamWork()));
}

} // namespace goss

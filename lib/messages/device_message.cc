#include "messages/device_message.h"

#include <fmt/format.h>

#include <vector>

#include "call/call.h"

namespace goss {

DeviceMessage::DeviceMessage(MessageContext& context, const MessageCall& call, const MessageDevice& device)
    : Operation(context.operations.host(), Failure::alone),
      context_(context),
      call_(call),
      device_(device),
      bytes_(call.count * dtypeBytes(call.dtype)),
      inner_(context) {
  timeout_ms = call.timeout_ms != 0 ? call.timeout_ms : context.default_timeout_ms;
  payload_bytes = bytes_;
}

DeviceMessage::~DeviceMessage() = default;

void DeviceMessage::reserve() {
  const Result<DeviceStation*> station = context_.devices.station(device_.ordinal);
  if (!station.isOk()) return; // open() says so.
  reserve_.clear();
  if (device_.stream != nullptr) {
    StreamGate::want(*station.value(), {.slot_bytes = bytes_}, reserve_);
  } else {
    reserve_.want(station.value()->pinned, bytes_);
  }
  if (!reserve_.takeIdle()) (void)reserve_.allocate(); // open() fails then.
}

Status DeviceMessage::open() {
  const Result<DeviceStation*> station = context_.devices.station(device_.ordinal);
  if (!station.isOk()) return station.status();
  station_ = station.value();
  if (device_.stream == nullptr) {
    if (!copied_) copied_.emplace(station_->watch);
    if (copied_->isBusy()) return Status::error(GOSS_ERR_DEVICE, "the device has not ended the last copy in 10 s");
    if (memory_.bytes() > 0) return Status::ok(); // That of the last start.
    Result<BlockPool::Lease> memory = reserve_.lease(station_->pinned, bytes_);
    if (memory.isOk()) memory_ = memory.take();
    return memory.status();
  }
  auto gate = StreamGate::make(*station_, device_.stream, {.slot_bytes = bytes_}, reserve_);
  if (!gate.isOk()) return gate.status();
  gate_ = gate.take();
  if (call_.sends) gate_->letPass();
  return Status::ok();
}

void DeviceMessage::startOnLoop() {
  done_ = false;
  progress_ = call_.sends ? Progress::arriving : Progress::moving;
  Status status = open();
  if (status.isOk()) {
    MessageCall call = call_;
    call.buffer = gate_ != nullptr ? gate_->slot(0) : memory_.data();
    inner_.bind(call);
    inner_.setInactive();
    if (!call_.sends) {
      status = context_.operations.startPartOnLoop(inner_, *this);
    } else {
      context_.arriving.push_back(this);
    }
    if (call_.sends && gate_ == nullptr && bytes_ > 0) copy(*station_->in, {memory_.data(), call_.buffer, bytes_});
  }
  if (!status.isOk()) return context_.operations.endOnLoop(*this, status);
  advanceOnLoop();
}

bool DeviceMessage::pollOnLoop() {
  const Progress before = progress_;
  advanceOnLoop();
  return progress_ != before || state() != State::active;
}

void DeviceMessage::advanceOnLoop() {
  Progress before;
  do {
    before = progress_;
    if (Status status = step(); !status.isOk()) return context_.operations.endOnLoop(*this, status);
  } while (progress_ != before && !done_);
  if (!done_) {
    ActiveOperations& active = context_.engine.active();
    return progress_ == Progress::moving ? active.stopPolling(*this) : active.keepPolling(*this);
  }
  close();
  context_.operations.completeOnLoop(*this, Status::ok());
}

Result<bool> DeviceMessage::isDeviceDone() {
  if (progress_ == Progress::arriving && gate_ != nullptr && gate_->hasDone(0, 0)) return true;
  Result<bool> left = gate_ != nullptr ? gate_->hasLeft() : copied_->isDone();
  // A stream that has passed the call has brought the data, too.
  return left;
}

bool DeviceMessage::mustWaitForEarlier() const {
  for (const DeviceMessage* one : context_.arriving) {
    if (one == this) return false;
    if (one->isBefore(call_)) return true;
  }
  return false;
}

Status DeviceMessage::step() {
  if (progress_ == Progress::moving) return stepMoving();
  if (progress_ == Progress::arriving && mustWaitForEarlier()) return Status::ok();
  const Result<bool> done = isDeviceDone();
  if (!done.isOk())
    return Status::error(done.status().kind(),
                         fmt::format("{}: rank {}: {}", describe(), context_.group.rank(), done.status().text()),
                         ErrorScope::operation, context_.group.worldRank(context_.group.rank()));
  if (!done.value()) return Status::ok();
  if (progress_ == Progress::leaving) {
    done_ = true;
    return Status::ok();
  }
  progress_ = Progress::moving;
  std::erase(context_.arriving, this);
  return context_.operations.startPartOnLoop(inner_, *this);
}

Status DeviceMessage::stepMoving() {
  if (inner_.state() != State::complete) return Status::ok();
  if (!inner_.status().isOk()) return inner_.status();
  message = inner_.message;
  progress_ = Progress::leaving;
  return call_.sends ? Status::ok() : bringOut(inner_.message.bytes);
}

Status DeviceMessage::bringOut(std::size_t bytes) {
  if (gate_ != nullptr) {
    if (bytes != bytes_)
      return Status::error(GOSS_ERR_MISMATCH,
                           fmt::format("{}: the message has {} bytes, the buffer {}; in a stream both must be equal",
                                       describe(), bytes, bytes_));
    gate_->open(0, 1);
    return Status::ok();
  }
  if (bytes > 0) copy(*station_->out, {call_.buffer, memory_.data(), bytes});
  return Status::ok();
}

void DeviceMessage::copy(DeviceQueue& queue, const CopyJob& job) {
  copied_->start(queue, [job, &queue] { return queue.copy({&job, 1}); });
}

void DeviceMessage::withdrawOnLoop() {
  std::erase(context_.arriving, this);
  if (inner_.state() == State::active) {
    inner_.withdrawOnLoop();
    context_.operations.completeOnLoop(inner_, Status::error(GOSS_ERR_ABORTED, "its operation has ended"));
  }
  if (gate_ != nullptr) return context_.devices.holdOnLoop(gate_, context_.context);
  if (copied_) copied_->withdraw();
}

void DeviceMessage::close() {
  if (!persistent) memory_ = {};
  gate_.reset();
}

std::vector<int> DeviceMessage::waitingForRanks() const {
  return progress_ == Progress::moving ? inner_.waitingForRanks() : std::vector<int>();
}

StreamGate::Work DeviceMessage::work() const {
  return [this](DeviceQueue& queue, std::uint32_t, std::uint32_t phase) {
    const bool arrives = phase == 0;
    if (bytes_ == 0 || arrives != call_.sends) return Status::ok();
    std::byte* slot = gate_->slot(0);
    const CopyJob job = arrives ? CopyJob{slot, call_.buffer, bytes_} : CopyJob{call_.buffer, slot, bytes_};
    return queue.copy({&job, 1});
  };
}

void DeviceMessage::endEnqueuing(const Status& status) {
  const std::shared_ptr<StreamGate> gate = gate_;
  if (!status.isOk()) {
    auto lock = context_.engine.enter();
    if (state() == State::active) context_.operations.endOnLoop(*this, status);
  }
  gate->setEnqueued();
}

void DeviceMessage::enqueueArrivals() {
  if (!isEnqueuing()) return;
  if (Status status = gate_->enqueueArrivals(work()); !status.isOk()) endEnqueuing(status);
}

void DeviceMessage::enqueueGates() {
  if (!isEnqueuing()) return;
  endEnqueuing(gate_->enqueueGates(work()));
}

} // namespace goss

#include "execution/call_memory.h"

#include <algorithm>

#include "execution/staging.h"

namespace goss {

/// Returns the memory that the largest fragment takes.
StreamGate::Shape CallMemory::shapeOf(const KeepingCall& call, const DeviceCodecSteps& device_steps) {
  StreamGate::Shape shape;
  shape.fragments = call.plan.fragments;
  StagedSlots slots;
  for (std::uint32_t fragment = 0; fragment < shape.fragments; ++fragment) {
    const schedule::Layout layout(*call.plan.schedule, call.call.shape, fragment, call.plan.fragments);
    slots.lay(*call.plan.schedule, layout, call.call, device_steps.plan());
    shape.slot_bytes = std::max(shape.slot_bytes, slots.bytes());
    if (device_steps.isBound())
      shape.memory_bytes = std::max(shape.memory_bytes, device_steps.memoryBytes(layout, slots));
  }
  return shape;
}

void CallMemory::layFragments(const KeepingCall& call, std::uint32_t lanes) {
  whole_ = false;
  staged_slot_bytes_ = 0;
  shape_ = shapeOf(call, call.device_steps);
  shape_.slots = lanes;
  shape_.gates = call.device_steps.phases() - 1;
}

void CallMemory::layWhole(std::size_t bytes) {
  whole_ = true;
  shape_ = {.slot_bytes = bytes};
}

std::size_t CallMemory::stagedSlotBytes(const KeepingCall& call) {
  if (staged_slot_bytes_ == 0) staged_slot_bytes_ = shapeOf(call, DeviceCodecSteps()).slot_bytes;
  return staged_slot_bytes_;
}

void CallMemory::wantStaged(DeviceStation& station, const KeepingCall& call, bool in_group, BlockReserve& reserve) {
  StreamGate::Shape shape;
  shape.fragments = call.plan.fragments;
  shape.slots = in_group ? shape.fragments : shape_.slots;
  shape.slot_bytes = stagedSlotBytes(call);
  StreamGate::want(station, shape, reserve);
}

void CallMemory::want(DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals, bool in_group,
                      BlockReserve& reserve) {
  StreamGate::Shape shape = shape_;
  if (in_group && !whole_) shape.slots = call.plan.fragments;
  const bool keeps = call.device_steps.isBound() && call.operation.keptTensor() != 0;
  if (keeps || (in_group && call.device_steps.isBound())) // The host may have to encode.
    shape.slot_bytes = std::max(shape.slot_bytes, stagedSlotBytes(call));
  if (call.call.device.ordered) {
    StreamGate::want(station, shape, reserve);
  } else {
    StreamGate::wantSlots(station, shape, reserve);
  }
  if (keeps) residuals.want(station, call, reserve);
}

void CallMemory::getAhead(Engine& engine, DeviceStation& station, const KeepingCall& call,
                          const CallResiduals& residuals, bool in_group) {
  auto reserve = std::make_shared<BlockReserve>();
  auto staged = std::make_shared<BlockReserve>();
  {
    auto lock = engine.enter();
    want(station, call, residuals, in_group, *reserve);
  }
  if (!reserve->takeIdle() && reserve->allocate().kind() == GOSS_ERR_RESOURCE) {
    {
      auto lock = engine.enter();
      if (call.device_steps.isBound()) wantStaged(station, call, in_group, *staged);
    }
    if (!staged->takeIdle()) (void)staged->allocate(); // The start says why.
  }
  auto lock = engine.enter();
  if (call.operation.state() == Operation::State::active) return;
  reserve_ = std::move(reserve);
  staged_ = std::move(staged);
}

bool CallMemory::get(DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals) {
  reserve_ = std::make_shared<BlockReserve>();
  want(station, call, residuals, false, *reserve_);
  coming_ = !reserve_->takeIdle();
  if (!coming_) return true;
  beginning_ = station.watch.beginCall();
  BlockReserve::allocateBy(station.watch, reserve_);
  return false;
}

BlockReserve& CallMemory::reserve() {
  if (reserve_ == nullptr) reserve_ = std::make_shared<BlockReserve>();
  return *reserve_;
}

void CallMemory::clear() {
  reserve_.reset();
  staged_.reset();
  beginning_.reset();
  coming_ = false;
}

} // namespace goss

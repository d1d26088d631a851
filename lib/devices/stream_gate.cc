#include "devices/stream_gate.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace goss {

namespace {

/// How long tryGiveUp() waits for the stream to come to another gate.
constexpr std::chrono::milliseconds kPatience(1);

std::size_t flagBytes(const StreamGate::Shape& shape) {
  return (std::size_t{2} * shape.slots + 1) * sizeof(std::uint32_t);
}

std::uint32_t load(Flag flag) { return std::atomic_ref(*flag).load(std::memory_order_acquire); }

} // namespace

void StreamGate::want(DeviceStation& station, const Shape& shape, BlockReserve& reserve) {
  reserve.want(station.pinned, flagBytes(shape));
  wantSlots(station, shape, reserve);
}

void StreamGate::wantSlots(DeviceStation& station, const Shape& shape, BlockReserve& reserve) {
  reserve.want(station.pinned, shape.slot_bytes, shape.slots);
  if (shape.memory_bytes > 0) reserve.want(station.memory, shape.memory_bytes, shape.slots);
}

Result<std::shared_ptr<StreamGate>> StreamGate::make(DeviceStation& station, void* stream, const Shape& shape,
                                                     BlockReserve& reserve) {
  std::shared_ptr<StreamGate> gate(new StreamGate);
  gate->queue_ = station.device.wrap(stream);
  gate->token_ = station.gates;
  gate->watch_ = &station.watch;
  if (Status status = station.watch.begin(); !status.isOk()) return status;
  gate->fragments_ = shape.fragments;
  gate->gates_ = shape.gates;
  const std::size_t flag_bytes = flagBytes(shape);
  Result<BlockPool::Lease> flags = reserve.lease(station.pinned, flag_bytes);
  if (!flags.isOk()) return flags.status();
  gate->flags_ = flags.take();
  std::memset(gate->flags_.data(), 0, flag_bytes);
  for (std::uint32_t i = 0; i < shape.slots; ++i) {
    Result<BlockPool::Lease> slot = reserve.lease(station.pinned, shape.slot_bytes);
    if (!slot.isOk()) return slot.status();
    gate->slots_.push_back(slot.take());
    gate->memory_.emplace_back();
    if (shape.memory_bytes == 0) continue;
    Result<BlockPool::Lease> memory = reserve.lease(station.memory, shape.memory_bytes);
    if (!memory.isOk()) return memory.status();
    gate->memory_.back() = memory.take();
  }
  return gate;
}

Status StreamGate::enqueuePhase(const Work& work, std::uint32_t fragment, std::uint32_t phase) {
  const std::uint32_t at = fragment % slots();
  const std::uint32_t gate = gatesBefore(fragment) + phase;
  if (phase > 0 && waits_) {
    if (Status status = queue_->await(ready(at), gate); !status.isOk()) return status;
  }
  if (Status status = work(*queue_, fragment, phase); !status.isOk()) return status;
  return phase < gates_ ? queue_->raise(arrived(at), gate + 1) : Status::ok();
}

Status StreamGate::enqueueArrivals(const Work& work) {
  watch_->awaitEnqueued();
  for (std::uint32_t fragment = 0; fragment < std::min(fragments_, slots()); ++fragment) {
    if (Status status = enqueuePhase(work, fragment, 0); !status.isOk()) return status;
  }
  return Status::ok();
}

Status StreamGate::enqueueGates(const Work& work) {
  for (std::uint32_t fragment = 0; fragment < fragments_; ++fragment) {
    for (std::uint32_t phase = 1; phase <= gates_; ++phase) {
      if (Status status = enqueuePhase(work, fragment, phase); !status.isOk()) return status;
    }
    const std::uint32_t next = fragment + slots();
    if (next >= fragments_) continue;
    if (Status status = enqueuePhase(work, next, 0); !status.isOk()) return status;
  }
  const Status status = queue_->raise(left(), 1);
  ends_ = status.isOk();
  return status;
}

void StreamGate::setEnqueued() {
  if (!ends_) ends_ = queue_->raise(left(), 1).isOk(); // A part of the call was enqueued, and uses the memory.
  enqueued_.store(true, std::memory_order_release);
}

bool StreamGate::hasDone(std::uint32_t fragment, std::uint32_t phase) const {
  const std::uint32_t passed = load(arrived(fragment % slots()));
  return static_cast<std::int32_t>(passed - (gatesBefore(fragment) + phase + 1)) >= 0;
}

void StreamGate::open(std::uint32_t fragment, std::uint32_t phase) {
  std::atomic_ref(*ready(fragment % slots())).store(gatesBefore(fragment) + phase, std::memory_order_release);
}

Result<bool> StreamGate::hasLeft() {
  if (!isEnqueued()) return false;
  if (load(left()) == 1) return true;
  if (Status status = watch_->status(); !status.isOk()) return status;
  return false;
}

bool StreamGate::openWithNan() {
  bool any = false;
  for (std::uint32_t i = 0; i < slots(); ++i) {
    // If a gate is open that the stream has not reached or not passed, the stream still needs the contents of the slot.
    const std::uint32_t opened = load(ready(i));
    if (opened >= gatesOf(i) || load(arrived(i)) <= opened) continue;
    std::memset(slots_[i].data(), 0xff, slots_[i].bytes());
    std::atomic_ref(*ready(i)).store(opened + 1, std::memory_order_release);
    any = true;
  }
  return any;
}

bool StreamGate::tryGiveUp() {
  using Clock = std::chrono::steady_clock;
  const auto isOpen = [this] {
    for (std::uint32_t i = 0; i < slots(); ++i) {
      if (load(ready(i)) < gatesOf(i)) return false;
    }
    return true;
  };
  for (auto end = Clock::now(); !isOpen();) {
    if (openWithNan()) {
      end = Clock::now() + kPatience; // The stream soon comes to the next gate.
    } else if (Clock::now() >= end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

} // namespace goss

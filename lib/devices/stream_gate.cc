#include "devices/stream_gate.h"

#include <algorithm>
#include <cstring>

namespace goss {

namespace {

std::uint32_t load(Flag flag) { return std::atomic_ref(*flag).load(std::memory_order_acquire); }

} // namespace

Result<std::shared_ptr<StreamGate>> StreamGate::make(DeviceStation& station, void* stream, std::uint32_t fragments,
                                                     std::uint32_t slots, std::size_t slot_bytes) {
  std::shared_ptr<StreamGate> gate(new StreamGate);
  Result<std::unique_ptr<DeviceQueue>> queue = station.device.queue(stream);
  if (!queue.isOk()) return queue.status();
  gate->queue_ = queue.take();
  gate->fragments_ = fragments;
  Result<std::unique_ptr<DeviceEvent>> end = station.device.event();
  if (!end.isOk()) return end.status();
  gate->end_ = end.take();
  const std::size_t flag_bytes = std::size_t{2} * slots * sizeof(std::uint32_t);
  Result<PinnedPool::Lease> flags = station.pinned.lease(flag_bytes);
  if (!flags.isOk()) return flags.status();
  gate->flags_ = flags.take();
  std::memset(gate->flags_.data(), 0, flag_bytes);
  for (std::uint32_t i = 0; i < slots; ++i) {
    Result<PinnedPool::Lease> slot = station.pinned.lease(slot_bytes);
    if (!slot.isOk()) return slot.status();
    gate->slots_.push_back(slot.take());
  }
  return gate;
}

Status StreamGate::enqueueArrival(std::uint32_t fragment, std::span<const CopyJob> jobs) {
  if (!jobs.empty()) {
    if (Status status = queue_->copy(jobs); !status.isOk()) return status;
  }
  return queue_->raise(arrived(fragment % slots()), fragment / slots() + 1);
}

Status StreamGate::enqueueArrivals(const CopiesOf& copies_of) {
  for (std::uint32_t fragment = 0; fragment < std::min(fragments_, slots()); ++fragment) {
    copies_of(fragment, slot(fragment), copies_);
    if (Status status = enqueueArrival(fragment, copies_.in); !status.isOk()) return status;
  }
  return Status::ok();
}

Status StreamGate::enqueueGates(const CopiesOf& copies_of) {
  for (std::uint32_t fragment = 0; fragment < fragments_; ++fragment) {
    const std::uint32_t at = fragment % slots();
    if (waits_) {
      if (Status status = queue_->await(ready(at), fragment / slots() + 1); !status.isOk()) return status;
    }
    copies_of(fragment, slot(at), copies_);
    if (!copies_.out.empty()) {
      if (Status status = queue_->copy(copies_.out); !status.isOk()) return status;
    }
    const std::uint32_t next = fragment + slots();
    if (next >= fragments_) continue;
    copies_of(next, slot(at), copies_);
    if (Status status = enqueueArrival(next, copies_.in); !status.isOk()) return status;
  }
  const Status status = queue_->record(*end_);
  ends_ = status.isOk();
  return status;
}

void StreamGate::setEnqueued() {
  if (!ends_) ends_ = queue_->record(*end_).isOk(); // A part of the call was enqueued, and uses the memory.
  enqueued_.store(true, std::memory_order_release);
}

bool StreamGate::hasArrived(std::uint32_t fragment) const {
  return static_cast<std::int32_t>(load(arrived(fragment % slots())) - (fragment / slots() + 1)) >= 0;
}

void StreamGate::open(std::uint32_t fragment) {
  std::atomic_ref(*ready(fragment % slots())).store(fragment / slots() + 1, std::memory_order_release);
}

Result<bool> StreamGate::hasLeft() {
  if (!isEnqueued()) return false;
  const Result<bool> done = end_->isDone();
  // An event that was never recorded counts as done, and tells nothing of the stream.
  return done.isOk() ? Result<bool>(done.value() && ends_) : done;
}

bool StreamGate::tryGiveUp() {
  if (!isEnqueued()) return false;
  // Before it comes to the first closed gate, the stream copies out of slots. Then the next fragment of each slot has
  // arrived.
  for (std::uint32_t i = 0; i < slots(); ++i) {
    const std::uint32_t opened = load(ready(i));
    if (opened < rounds(i) && load(arrived(i)) <= opened) return false;
  }
  for (std::uint32_t i = 0; i < slots(); ++i) {
    if (load(ready(i)) >= rounds(i)) continue; // The stream copies right results out of it.
    std::memset(slots_[i].data(), 0xff, slots_[i].bytes());
    std::atomic_ref(*ready(i)).store(rounds(i), std::memory_order_release);
  }
  return true;
}

} // namespace goss

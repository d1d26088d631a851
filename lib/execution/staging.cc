#include "execution/staging.h"

#include <fmt/format.h>

#include "kernels/kernels.h"

namespace goss {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kNowhere = ~std::size_t{0};

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

void StagedSlots::lay(const Schedule& schedule, const schedule::Layout& layout, const Call& call,
                      const DeviceStepPlan* device_steps) {
  stages_input_ = call.device.input;
  stages_output_ = call.device.output;
  input_.assign(schedule.chunk_count, {});
  output_.assign(schedule.chunk_count, {});
  const std::size_t element = call.shape.element_bytes;
  for (const Slot slot : schedule.slots) {
    Staged* staged = find(slot);
    if (staged == nullptr || (device_steps != nullptr && device_steps->stays(slot))) continue;
    const schedule::Extent extent = layout.extentOf(slot);
    auto* buffer = static_cast<std::byte*>(slot.space == Space::input ? const_cast<void*>(call.input) : call.output);
    staged->used = true;
    staged->bytes = extent.count_elems * element;
    staged->buffer = staged->bytes == 0 ? nullptr : buffer + extent.offset_elems * element;
  }
  for (const Step& step : schedule.steps)
    use(schedule, step);
  payloads_.clear();
  payload_bytes_ = 0;
  if (device_steps != nullptr) assignPayloads(schedule, layout, *call.codecs, *device_steps);
  assign();
}

void StagedSlots::assignPayloads(const Schedule& schedule, const schedule::Layout& layout, const CodecPair& codecs,
                                 const DeviceStepPlan& device_steps) {
  payloads_.assign(schedule.payload_like.size(), kNowhere);
  for (std::uint32_t i = 0; i < payloads_.size(); ++i) {
    if (!device_steps.payload_crosses[i]) continue;
    const std::uint64_t elems = layout.extentOf({Space::payload, i}).count_elems;
    payloads_[i] = payload_bytes_;
    payload_bytes_ += elems > 0 ? aligned(codecs.maxBytes(elems)) : 0;
  }
}

bool StagedSlots::has(Slot slot) const {
  switch (slot.space) {
    case Space::input:
      return stages_input_ && input_[slot.index].used;
    case Space::output:
      return stages_output_ && output_[slot.index].used;
    case Space::payload:
      return !payloads_.empty() && payloads_[slot.index] != kNowhere;
    default:
      return false;
  }
}

std::size_t StagedSlots::at(Slot slot) const {
  if (slot.space == Space::payload) return payloads_[slot.index];
  return (slot.space == Space::input ? input_ : output_)[slot.index].at;
}

void StagedSlots::layWhole(const Call& call, std::size_t input_bytes, std::size_t output_bytes) {
  stages_input_ = call.device.input;
  stages_output_ = call.device.output;
  input_.assign(1, {});
  output_.assign(1, {});
  payloads_.clear();
  payload_bytes_ = 0;
  if (stages_input_ && input_bytes > 0) {
    auto* buffer = static_cast<std::byte*>(const_cast<void*>(call.input));
    input_[0] = {.buffer = buffer, .bytes = input_bytes, .used = true, .is_read = true};
  }
  if (stages_output_ && output_bytes > 0) {
    auto* buffer = static_cast<std::byte*>(call.output);
    output_[0] = {.buffer = buffer, .bytes = output_bytes, .used = true, .is_written = true};
  }
  assign();
}

StagedSlots::Staged* StagedSlots::find(Slot slot) {
  if (slot.space == Space::input && stages_input_) return &input_[slot.index];
  if (slot.space == Space::output && stages_output_) return &output_[slot.index];
  return nullptr;
}

void StagedSlots::read(Slot slot) {
  Staged* staged = find(slot);
  if (staged != nullptr && !staged->is_here) staged->is_read = true;
}

void StagedSlots::write(Slot slot) {
  if (Staged* staged = find(slot); staged != nullptr) staged->is_written = staged->is_here = true;
}

void StagedSlots::use(const Schedule& schedule, const Step& step) {
  for (const Slot slot : schedule.slotsOf(step.sources))
    read(slot);
  const std::span<const Slot> targets = schedule.slotsOf(step.targets);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (step.kind == StepKind::send) {
      read(targets[i]);
    } else if (step.kind == StepKind::copy && isSameMemory(schedule.slotsOf(step.sources)[i], targets[i])) {
      find(targets[i])->is_here = true; // In place: the caller's buffer holds it already.
    } else {
      write(targets[i]);
    }
  }
}

bool StagedSlots::isSameMemory(Slot input, Slot output) {
  const Staged* from = find(input);
  const Staged* to = find(output);
  return from != nullptr && to != nullptr && input.space == Space::input && from->buffer == to->buffer;
}

void StagedSlots::assign() {
  bytes_ = payload_bytes_;
  assign(output_);
  assign(input_);
}

void StagedSlots::assign(std::vector<Staged>& slots) {
  const std::byte* end = nullptr; // Of the slot before, in the caller's buffer.
  for (Staged& slot : slots) {
    if (!slot.used) continue;
    if (slot.buffer != end) bytes_ = aligned(bytes_);
    slot.at = bytes_;
    bytes_ += slot.bytes;
    end = slot.buffer == nullptr ? nullptr : slot.buffer + slot.bytes;
  }
}

void StagedSlots::append(const Staged& slot, std::byte* memory, bool in, std::vector<CopyJob>& jobs) {
  std::byte* to = in ? memory + slot.at : slot.buffer;
  const std::byte* from = in ? slot.buffer : memory + slot.at;
  if (!jobs.empty()) {
    CopyJob& last = jobs.back();
    if (static_cast<std::byte*>(last.to) + last.bytes == to &&
        static_cast<const std::byte*>(last.from) + last.bytes == from) {
      last.bytes += slot.bytes;
      return;
    }
  }
  jobs.push_back({to, from, slot.bytes});
}

void StagedSlots::copies(std::byte* memory, FragmentCopies& copies) const {
  copies.in.clear();
  copies.out.clear();
  for (const std::vector<Staged>* slots : {&input_, &output_}) {
    for (const Staged& slot : *slots) {
      if (slot.bytes == 0) continue;
      if (slot.is_read) append(slot, memory, true, copies.in);
      if (slot.is_written) append(slot, memory, false, copies.out);
    }
  }
}

void StagedSlots::scaleInput(std::byte* memory, const Call& call) const {
  for (const Staged& slot : input_) {
    if (!slot.is_read || slot.bytes == 0) continue;
    kernels::scale(call.dtype, memory + slot.at, memory + slot.at, slot.bytes / call.shape.element_bytes, call.scale);
  }
}

Status ofDevice(const Status& status, const Group& group, const Signature& signature) {
  return Status::error(status.kind(), fmt::format("{}: rank {}: {}", signature.describe(), group.rank(), status.text()),
                       ErrorScope::communicator, group.worldRank(group.rank()));
}

Status WaitedStage::takeMemory(const StreamGate::Shape& shape, BlockReserve& reserve) {
  Result<BlockPool::Lease> memory = reserve.lease(station_.pinned, shape.slot_bytes);
  if (!memory.isOk()) return memory.status();
  memory_ = memory.take();
  if (shape.memory_bytes == 0) return Status::ok();
  Result<BlockPool::Lease> on_device = reserve.lease(station_.memory, shape.memory_bytes);
  if (on_device.isOk()) device_memory_ = on_device.take();
  return on_device.status();
}

/// Work that encodes runs on the queue of copies to the host, work that only decodes on the queue of copies to the
/// device, so that the two directions do not wait for each other.
void WaitedStage::start(const StageWork& work, std::uint32_t) {
  DeviceQueue& queue = work.comesToHost() ? *station_.in : *station_.out;
  worked_.start(queue, [&work, &queue] { return work.enqueue(queue); });
}

void WaitedStage::bringIn(std::uint32_t, const StagedSlots& slots) {
  slots.copies(memory_.data(), copies_);
  if (!copies_.in.empty()) arrived_.start(*station_.in, [this] { return station_.in->copy(copies_.in); });
}

void WaitedStage::bringOut() {
  if (!copies_.out.empty()) left_.start(*station_.out, [this] { return station_.out->copy(copies_.out); });
}

void WaitedStage::withdraw() {
  arrived_.withdraw();
  worked_.withdraw();
  left_.withdraw();
}

Result<bool> GatedStage::hasDone(std::uint32_t phase) {
  if (gate_->hasDone(fragment_, phase)) return true;
  const Result<bool> left = gate_->hasLeft();
  return left.isOk() ? Result<bool>(false) : left;
}

} // namespace goss

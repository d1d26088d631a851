#include <algorithm>
#include <cassert>

#include "gossamer/schedule.h"
#include "schedule/contract.h"

namespace goss {

namespace {

/// Collectives without data slots name input, output and scratch themselves (see ScheduleBuilder).
bool hasDataSlots(Collective collective) {
  return schedule::allowsInPlace(collective) && collective != Collective::exscan && collective != Collective::barrier;
}

schedule::Role roleOf(const Schedule& schedule) {
  return {schedule.collective, schedule.size, schedule.rank, schedule.root, &schedule.neighborhood};
}

} // namespace

ScheduleBuilder::ScheduleBuilder(const ScheduleFrame& frame)
    : where_(frame.chunk_count, Where::nowhere),
      scratch_slots_(frame.chunk_count, -1),
      chunk_hazards_(frame.chunk_count),
      output_hazards_(frame.chunk_count),
      sends_to_(static_cast<std::size_t>(frame.size), 0),
      recvs_from_(static_cast<std::size_t>(frame.size), 0) {
  assert(frame.size >= 1 && frame.rank >= 0 && frame.rank < frame.size);
  assert(frame.partition == Partition::even || frame.chunk_count == static_cast<std::uint32_t>(frame.size));
  schedule_.collective = frame.collective;
  schedule_.size = frame.size;
  schedule_.rank = frame.rank;
  schedule_.root = frame.root;
  schedule_.partition = frame.partition;
  schedule_.chunk_count = frame.chunk_count;
  if (frame.neighborhood != nullptr) schedule_.neighborhood = *frame.neighborhood;
  for (std::uint32_t c = 0; c < frame.chunk_count; ++c) {
    if (hasDataSlots(frame.collective) && schedule::startsInInput(roleOf(schedule_), c)) where_[c] = Where::input;
  }
}

bool ScheduleBuilder::delivers(std::uint32_t chunk) const {
  return hasDataSlots(schedule_.collective) && schedule::delivers(roleOf(schedule_), chunk);
}

Slot ScheduleBuilder::scratch(std::uint32_t like_chunk) {
  assert(like_chunk < schedule_.chunk_count);
  const auto index = static_cast<std::uint32_t>(schedule_.scratch_like.size());
  schedule_.scratch_like.push_back(like_chunk);
  scratch_hazards_.emplace_back();
  return {Space::scratch, index};
}

Slot ScheduleBuilder::payload(Slot like) {
  assert(like.space == Space::input || like.space == Space::output);
  const auto index = static_cast<std::uint32_t>(schedule_.payload_like.size());
  schedule_.payload_like.push_back(like);
  schedule_.payload_finished.push_back(false);
  payload_hazards_.emplace_back();
  return {Space::payload, index};
}

bool ScheduleBuilder::holds(std::uint32_t chunk) const { return where_[chunk] != Where::nowhere; }

Slot ScheduleBuilder::finalSlot(std::uint32_t chunk) {
  if (delivers(chunk)) return output(chunk);
  if (scratch_slots_[chunk] < 0) scratch_slots_[chunk] = scratch(chunk).index;
  return {Space::scratch, static_cast<std::uint32_t>(scratch_slots_[chunk])};
}

Slot ScheduleBuilder::resolveRead(Slot slot) {
  if (slot.space != Space::data) return slot;
  assert(holds(slot.index) && "schedule reads a chunk that this rank does not hold");
  return where_[slot.index] == Where::input ? input(slot.index) : finalSlot(slot.index);
}

Slot ScheduleBuilder::resolveWrite(Slot slot) {
  assert(slot.space != Space::input && "the caller's input is read only");
  if (slot.space != Space::data) return slot;
  where_[slot.index] = Where::finalSlot;
  return finalSlot(slot.index);
}

ScheduleBuilder::Hazard& ScheduleBuilder::hazardOf(Slot slot) {
  if (slot.space == Space::scratch) return scratch_hazards_[slot.index];
  if (slot.space == Space::payload) return payload_hazards_[slot.index];
  const bool separate = !schedule::allowsInPlace(schedule_.collective) && slot.space == Space::output;
  return separate ? output_hazards_[slot.index] : chunk_hazards_[slot.index];
}

PoolRange ScheduleBuilder::pool(std::span<const Slot> slots) {
  const PoolRange range{static_cast<std::uint32_t>(schedule_.slots.size()), static_cast<std::uint32_t>(slots.size())};
  schedule_.slots.insert(schedule_.slots.end(), slots.begin(), slots.end());
  return range;
}

std::uint32_t ScheduleBuilder::ordinalOf(std::vector<std::uint32_t>& next_of_peer, int peer) {
  assert(peer >= 0 && peer < schedule_.size && peer != schedule_.rank);
  return next_of_peer[static_cast<std::size_t>(peer)]++;
}

void ScheduleBuilder::step(StepKind kind, int peer, std::span<const Slot> targets, std::span<const Slot> sources,
                           bool finishes) {
  Step step;
  step.kind = kind;
  step.finishes = finishes;
  step.peer = peer;
  if (kind == StepKind::send) step.ordinal = ordinalOf(sends_to_, peer);
  if (kind == StepKind::recv || kind == StepKind::recvReduce) step.ordinal = ordinalOf(recvs_from_, peer);
  step.targets = pool(targets);
  step.sources = pool(sources);

  // A send only reads its targets; finish and reduce read theirs too, but the hazards of a write include those of a
  // read.
  const bool writes_targets = kind != StepKind::send;
  const auto self = static_cast<std::uint32_t>(schedule_.steps.size());
  std::vector<std::uint32_t> found;
  const auto afterWrite = [&](Slot slot) {
    if (const Hazard& hazard = hazardOf(slot); hazard.last_write >= 0) {
      found.push_back(static_cast<std::uint32_t>(hazard.last_write));
    }
  };
  for (const Slot slot : sources)
    afterWrite(slot);
  for (const Slot slot : targets) {
    afterWrite(slot);
    if (writes_targets) {
      const Hazard& hazard = hazardOf(slot);
      found.insert(found.end(), hazard.reads.begin(), hazard.reads.end());
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  step.dependencies = {static_cast<std::uint32_t>(schedule_.dependencies.size()),
                       static_cast<std::uint32_t>(found.size())};
  schedule_.dependencies.insert(schedule_.dependencies.end(), found.begin(), found.end());

  for (const Slot slot : writes_targets ? sources : targets)
    hazardOf(slot).reads.push_back(self);
  if (writes_targets) {
    for (const Slot slot : targets) {
      hazardOf(slot).last_write = self;
      hazardOf(slot).reads.clear();
    }
  }
  schedule_.steps.push_back(step);
}

void ScheduleBuilder::send(int peer, std::span<const Slot> slots) {
  std::vector<Slot> resolved;
  resolved.reserve(slots.size());
  for (const Slot slot : slots)
    resolved.push_back(resolveRead(slot));
  step(StepKind::send, peer, resolved, {});
}

void ScheduleBuilder::recv(int peer, std::span<const Slot> slots) {
  std::vector<Slot> resolved;
  resolved.reserve(slots.size());
  for (const Slot slot : slots)
    resolved.push_back(resolveWrite(slot));
  step(StepKind::recv, peer, resolved, {});
}

void ScheduleBuilder::recvReduce(int peer, std::span<const Slot> slots) {
  std::vector<Slot> targets;
  std::vector<Slot> sources;
  for (const Slot slot : slots) {
    sources.push_back(resolveRead(slot));
    targets.push_back(resolveWrite(slot));
  }
  step(StepKind::recvReduce, peer, targets, sources);
}

void ScheduleBuilder::copy(Slot from, Slot to) {
  const Slot source = resolveRead(from);
  const Slot target = resolveWrite(to);
  if (source == target) return;
  step(StepKind::copy, -1, std::span(&target, 1), std::span(&source, 1));
}

void ScheduleBuilder::reduce(Slot into, Slot with) {
  const Slot second = resolveRead(with);
  const Slot first = resolveRead(into);
  const Slot target = resolveWrite(into);
  const Slot sources[] = {first, second};
  step(StepKind::reduce, -1, std::span(&target, 1), sources);
}

void ScheduleBuilder::combine(Slot into, std::span<const Slot> sources, std::span<const double> weights) {
  assert(!sources.empty() && sources.size() == weights.size());
  std::vector<Slot> resolved;
  for (const Slot slot : sources)
    resolved.push_back(resolveRead(slot));
  const Slot target = resolveWrite(into);
  step(StepKind::combine, -1, std::span(&target, 1), resolved);
  schedule_.steps.back().first_weight = static_cast<std::uint32_t>(schedule_.weights.size());
  schedule_.weights.insert(schedule_.weights.end(), weights.begin(), weights.end());
}

void ScheduleBuilder::finish(std::span<const Slot> slots) {
  std::vector<Slot> targets;
  std::vector<Slot> sources;
  for (const Slot slot : slots) {
    sources.push_back(resolveRead(slot));
    targets.push_back(resolveWrite(slot));
  }
  step(StepKind::finish, -1, targets, sources);
}

Schedule ScheduleBuilder::build(std::string algorithm_name) {
  for (std::uint32_t c = 0; c < schedule_.chunk_count; ++c) {
    if (delivers(c) && where_[c] == Where::input) {
      const Slot source = input(c);
      const Slot target = output(c);
      step(StepKind::copy, -1, std::span(&target, 1), std::span(&source, 1));
      where_[c] = Where::finalSlot;
    }
  }
  return buildAsIs(std::move(algorithm_name));
}

Schedule ScheduleBuilder::buildAsIs(std::string algorithm_name) {
  schedule_.algorithm = std::move(algorithm_name);
  return std::move(schedule_);
}

} // namespace goss

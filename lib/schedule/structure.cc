#include "schedule/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/contract.h"

namespace goss::schedule {

namespace {

std::string_view nameOf(Space space) {
  switch (space) {
    case Space::input:
      return "input";
    case Space::output:
      return "output";
    case Space::scratch:
      return "scratch";
    case Space::payload:
      return "payload";
    case Space::data:
      return "data";
  }
  return "unknown";
}

Status fault(const Schedule& schedule, std::uint32_t step, const std::string& what) {
  return Status::error(GOSS_ERR_INTERNAL, fmt::format("rank {} step {}: {}", schedule.rank, step, what));
}

bool exists(const Schedule& schedule, Slot slot) {
  switch (slot.space) {
    case Space::input:
    case Space::output:
      return slot.index < schedule.chunk_count;
    case Space::scratch:
      return slot.index < schedule.scratch_like.size();
    case Space::payload:
      return slot.index < schedule.payload_like.size();
    case Space::data:
      return false;
  }
  return false;
}

bool countsFit(const Step& step) {
  const std::uint32_t targets = step.targets.count;
  const std::uint32_t sources = step.sources.count;
  switch (step.kind) {
    case StepKind::send:
    case StepKind::recv:
      return sources == 0;
    case StepKind::recvReduce:
    case StepKind::copy:
    case StepKind::finish:
      return sources == targets;
    case StepKind::reduce:
      return targets == 1 && sources == 2;
    case StepKind::encode:
      return (targets == 1 || targets == 2) && sources > 0;
    case StepKind::decode:
    case StepKind::combine:
      return targets == 1 && sources > 0;
  }
  return false;
}

bool isPayload(Slot slot) { return slot.space == Space::payload; }

/// Values and payloads are distinct: only messages move either, and only codec steps convert.
bool spacesFit(const Schedule& schedule, const Step& step) {
  const std::span<const Slot> targets = schedule.slotsOf(step.targets);
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const auto no_payload = [](std::span<const Slot> slots) {
    return std::none_of(slots.begin(), slots.end(), isPayload);
  };
  switch (step.kind) {
    case StepKind::send:
    case StepKind::recv: // The length of a payload is that of the message.
      return targets.size() == 1 || no_payload(targets);
    case StepKind::encode:
      return isPayload(targets[0]) && no_payload(targets.subspan(1)) &&
             std::all_of(sources.begin() + 1, sources.end(), isPayload);
    case StepKind::decode:
      return no_payload(targets) && std::all_of(sources.begin() + 1, sources.end(), isPayload);
    case StepKind::reduce: // Payloads of an additive codec.
      if (isPayload(targets[0])) return std::all_of(sources.begin(), sources.end(), isPayload);
      return no_payload(sources);
    default:
      return no_payload(targets) && no_payload(sources);
  }
}

Status frameFault(const Schedule& schedule, const std::string& what) {
  return Status::error(GOSS_ERR_INTERNAL, fmt::format("rank {}: {}", schedule.rank, what));
}

/// Checks what all steps share: the roles of the ranks, and the sizes of slots.
Status checkFrame(const Schedule& schedule) {
  const std::uint32_t chunks = schedule.chunk_count;
  if (static_cast<int>(schedule.collective) >= kAllCollectives)
    return frameFault(schedule, fmt::format("collective {} does not exist", static_cast<int>(schedule.collective)));
  if (schedule.rank < 0 || schedule.rank >= schedule.size)
    return frameFault(schedule, fmt::format("is not one of {} ranks", schedule.size));
  if (hasRoot(schedule.collective) && (schedule.root < 0 || schedule.root >= schedule.size))
    return frameFault(schedule, fmt::format("root {} of {} ranks", schedule.root, schedule.size));
  if (chunks > kMaxCheckedChunks)
    return frameFault(schedule, fmt::format("{} chunks; the checker takes up to {}", chunks, kMaxCheckedChunks));
  const bool blocks = schedule.partition != Partition::even || movesBlocks(schedule.collective);
  if (blocks && chunks != static_cast<std::uint32_t>(schedule.size))
    return frameFault(schedule, fmt::format("{} chunks for the blocks of {} ranks", chunks, schedule.size));
  for (const std::uint32_t like : schedule.scratch_like) {
    if (like >= chunks) return frameFault(schedule, fmt::format("scratch of the size of chunk {} of {}", like, chunks));
  }
  for (const Slot like : schedule.payload_like) {
    const bool caller = like.space == Space::input || like.space == Space::output;
    if (!caller || like.index >= chunks)
      return frameFault(schedule, fmt::format("a payload of the size of {}", describe(like)));
  }
  if (schedule.payload_finished.size() != schedule.payload_like.size())
    return frameFault(schedule, fmt::format("{} of {} payloads say whether they hold a result",
                                            schedule.payload_finished.size(), schedule.payload_like.size()));
  return Status::ok();
}

bool isWithin(PoolRange range, std::size_t pool) { return range.first <= pool && range.count <= pool - range.first; }

/// Runs before any other check uses the slots of a step.
Status checkRanges(const Schedule& schedule, std::uint32_t index) {
  const Step& step = schedule.steps[index];
  const auto outside = [&](std::string_view what, PoolRange range, std::size_t pool) {
    return fault(schedule, index,
                 fmt::format("{} {} to {} of {}", what, range.first, std::uint64_t{range.first} + range.count, pool));
  };
  for (const PoolRange range : {step.targets, step.sources}) {
    if (!isWithin(range, schedule.slots.size())) return outside("slots", range, schedule.slots.size());
  }
  const PoolRange weights{step.first_weight, step.kind == StepKind::combine ? step.sources.count : 0};
  if (!isWithin(weights, schedule.weights.size())) return outside("weights", weights, schedule.weights.size());
  if (isWithin(step.dependencies, schedule.dependencies.size())) return Status::ok();
  return outside("dependencies", step.dependencies, schedule.dependencies.size());
}

Status checkStep(const Schedule& schedule, std::uint32_t index) {
  const Step& step = schedule.steps[index];
  if (Status status = checkRanges(schedule, index); !status.isOk()) return status;
  if (!countsFit(step)) {
    return fault(schedule, index, fmt::format("{} targets with {} sources", step.targets.count, step.sources.count));
  }
  for (const PoolRange range : {step.targets, step.sources}) {
    for (const Slot slot : schedule.slotsOf(range)) {
      if (!exists(schedule, slot)) return fault(schedule, index, fmt::format("{} does not exist", describe(slot)));
    }
  }
  if (!spacesFit(schedule, step)) return fault(schedule, index, "takes a payload for a value or the reverse");
  if (step.kind != StepKind::send) {
    const Role role{schedule.collective, schedule.size, schedule.rank, schedule.root, &schedule.neighborhood};
    for (const Slot slot : schedule.slotsOf(step.targets)) {
      if (slot.space == Space::input) {
        return fault(schedule, index, fmt::format("writes the caller's {}", describe(slot)));
      }
      if (slot.space == Space::output && !delivers(role, slot.index)) {
        return fault(schedule, index, fmt::format("writes {}, which is not delivered to this rank", describe(slot)));
      }
    }
  }
  for (const std::uint32_t before : schedule.dependenciesOf(step)) {
    if (before >= index) return fault(schedule, index, fmt::format("depends on step {}, which is not earlier", before));
  }
  return Status::ok();
}

/// Walks a schedule in program order and requires that every two steps with a hazard between them are ordered.
class HazardWalk {
 public:
  explicit HazardWalk(const Schedule& schedule)
      : schedule_(schedule),
        cells_(schedule, allowsInPlace(schedule.collective)),
        last_write_(cells_.count(schedule), -1),
        reads_(cells_.count(schedule)),
        seen_(schedule.steps.size(), kNever) {}

  Status run() {
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[i];
      const bool writes = step.kind != StepKind::send;
      for (const Slot slot : schedule_.slotsOf(step.sources))
        read(i, slot);
      for (const Slot slot : schedule_.slotsOf(step.targets))
        writes ? write(i, slot) : read(i, slot);
      if (!status_.isOk()) return status_;
      note(i, step, writes);
    }
    return Status::ok();
  }

 private:
  static constexpr std::uint32_t kNever = ~0u;

  void read(std::uint32_t step, Slot slot) {
    const std::int64_t writer = last_write_[cells_.of(slot)];
    if (writer >= 0) demand(step, static_cast<std::uint32_t>(writer), slot);
  }

  void write(std::uint32_t step, Slot slot) {
    read(step, slot);
    for (const std::uint32_t reader : reads_[cells_.of(slot)])
      demand(step, reader, slot);
  }

  void note(std::uint32_t index, const Step& step, bool writes) {
    for (const Slot slot : schedule_.slotsOf(writes ? step.sources : step.targets)) {
      reads_[cells_.of(slot)].push_back(index);
    }
    if (!writes) return;
    for (const Slot slot : schedule_.slotsOf(step.targets)) {
      last_write_[cells_.of(slot)] = index;
      reads_[cells_.of(slot)].clear();
    }
  }

  void demand(std::uint32_t step, std::uint32_t before, Slot slot) {
    if (!status_.isOk() || reaches(step, before)) return;
    status_ = fault(schedule_, step, fmt::format("uses {} without waiting for step {}", describe(slot), before));
  }

  /// Whether `before` is among the direct or indirect dependencies of `step`. Nearly always direct.
  bool reaches(std::uint32_t step, std::uint32_t before) {
    const auto direct = schedule_.dependenciesOf(schedule_.steps[step]);
    if (std::find(direct.begin(), direct.end(), before) != direct.end()) return true;
    std::vector<std::uint32_t> stack(direct.begin(), direct.end());
    while (!stack.empty()) {
      const std::uint32_t at = stack.back();
      stack.pop_back();
      if (at == before) return true;
      if (at < before || seen_[at] == step) continue;
      seen_[at] = step;
      const auto next = schedule_.dependenciesOf(schedule_.steps[at]);
      stack.insert(stack.end(), next.begin(), next.end());
    }
    return false;
  }

  const Schedule& schedule_;
  CellMap cells_;
  std::vector<std::int64_t> last_write_;
  std::vector<std::vector<std::uint32_t>> reads_;
  std::vector<std::uint32_t> seen_;
  Status status_;
};

} // namespace

std::string describe(Slot slot) { return fmt::format("{} {}", nameOf(slot.space), slot.index); }

Status checkStructure(const Schedule& schedule) {
  if (Status status = checkFrame(schedule); !status.isOk()) return status;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    if (Status status = checkStep(schedule, i); !status.isOk()) return status;
  }
  return HazardWalk(schedule).run();
}

} // namespace goss::schedule

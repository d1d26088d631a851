#include "execution/device_step_plan.h"

#include <algorithm>
#include <span>

namespace goss {

namespace {

class Planner {
 public:
  Planner(const Schedule& schedule, const DeviceStepBuffers& buffers, DeviceStepPlan& plan)
      : schedule_(schedule), buffers_(buffers), plan_(plan) {}

  bool run() {
    const std::size_t steps = schedule_.steps.size();
    on_device_.resize(steps);
    plan_.input_stays.assign(schedule_.chunk_count, buffers_.input);
    plan_.output_stays.assign(schedule_.chunk_count, buffers_.output);
    for (std::size_t i = 0; i < steps; ++i)
      on_device_[i] = mayRunOnDevice(schedule_.steps[i]);
    bool codes = false;
    while (takeBack()) {
    }
    for (std::size_t i = 0; i < steps; ++i)
      codes = codes || (on_device_[i] && isCoding(schedule_.steps[i]));
    if (!codes) return false;
    findPhases();
    findPayloads();
    return true;
  }

 private:
  static bool isCoding(const Step& step) { return step.kind == StepKind::encode || step.kind == StepKind::decode; }

  [[nodiscard]] bool liesOnDevice(Slot slot) const {
    return (slot.space == Space::input && buffers_.input) || (slot.space == Space::output && buffers_.output);
  }

  template <typename Function>
  void eachSlot(const Step& step, Function function) const {
    for (const PoolRange range : {step.targets, step.sources}) {
      for (const Slot slot : schedule_.slotsOf(range))
        function(slot);
    }
  }

  [[nodiscard]] bool mayRunOnDevice(const Step& step) const {
    const bool copies = step.kind == StepKind::copy || (step.kind == StepKind::finish && !buffers_.averages);
    if (!copies && !isCoding(step)) return false;
    const std::span<const Slot> sources = schedule_.slotsOf(step.sources);
    // A device neither multiplies decoded numbers nor clears memory.
    if (step.kind == StepKind::decode && step.finishes && buffers_.averages) return false;
    if (step.kind == StepKind::encode && sources[0].space == Space::payload) return false;
    bool may = true;
    eachSlot(step, [&](Slot slot) { may = may && (slot.space == Space::payload || liesOnDevice(slot)); });
    return may;
  }

  /// Moves each device step that uses a chunk of a host step to the host. Returns whether it has moved any.
  bool takeBack() {
    for (std::size_t i = 0; i < on_device_.size(); ++i) {
      if (on_device_[i]) continue;
      eachSlot(schedule_.steps[i], [&](Slot slot) { leave(slot); });
    }
    bool any = false;
    for (std::size_t i = 0; i < on_device_.size(); ++i) {
      if (!on_device_[i]) continue;
      eachSlot(schedule_.steps[i], [&](Slot slot) {
        if (slot.space != Space::payload && !plan_.stays(slot)) on_device_[i] = false;
      });
      any = any || !on_device_[i];
    }
    return any;
  }

  /// Marks the chunk of `slot` as staged; in input and output if both lie on the device, where they may be one buffer.
  void leave(Slot slot) {
    const bool may_be_one = buffers_.input && buffers_.output;
    if (slot.space == Space::input || (slot.space == Space::output && may_be_one))
      plan_.input_stays[slot.index] = false;
    if (slot.space == Space::output || (slot.space == Space::input && may_be_one))
      plan_.output_stays[slot.index] = false;
  }

  void findPhases() {
    const std::size_t steps = schedule_.steps.size();
    std::vector<bool> is_needed(steps, false);
    for (const Step& step : schedule_.steps) {
      for (const std::uint32_t needed : schedule_.dependenciesOf(step))
        is_needed[needed] = true;
    }
    plan_.phase_of.assign(steps, DeviceStepPlan::kHost);
    plan_.phases.assign(1, {});
    std::vector<std::uint32_t> last;
    for (std::uint32_t i = 0; i < steps; ++i) {
      if (!on_device_[i]) continue;
      const std::span<const std::uint32_t> needs = schedule_.dependenciesOf(schedule_.steps[i]);
      const bool first =
          std::all_of(needs.begin(), needs.end(), [&](std::uint32_t needed) { return plan_.phase_of[needed] == 0; });
      if (first) {
        put(i, 0);
      } else if (is_needed[i]) {
        plan_.phases.emplace_back();
        put(i, static_cast<std::uint32_t>(plan_.phases.size() - 1));
      } else {
        last.push_back(i);
      }
    }
    plan_.phases.emplace_back();
    for (const std::uint32_t step : last)
      put(step, static_cast<std::uint32_t>(plan_.phases.size() - 1));
  }

  void put(std::uint32_t step, std::uint32_t phase) {
    plan_.phase_of[step] = phase;
    plan_.phases[phase].push_back(step);
  }

  /// Finds the payloads that cross. A payload that a device step encoded is still there when another step decodes it.
  void findPayloads() {
    plan_.payload_crosses.assign(schedule_.payload_like.size(), false);
    plan_.is_brought.assign(schedule_.slots.size(), false);
    std::vector<bool> is_there(schedule_.payload_like.size(), false);
    for (std::uint32_t i = 0; i < schedule_.steps.size(); ++i) {
      const Step& step = schedule_.steps[i];
      for (std::uint32_t k = 0; plan_.isOnDevice(i) && k < step.sources.count; ++k) {
        const Slot slot = schedule_.slots[step.sources.first + k];
        if (slot.space != Space::payload) continue;
        plan_.payload_crosses[slot.index] = true;
        plan_.is_brought[step.sources.first + k] = !is_there[slot.index];
      }
      if (step.kind == StepKind::send) continue;
      for (const Slot slot : schedule_.slotsOf(step.targets)) {
        if (slot.space != Space::payload) continue;
        is_there[slot.index] = plan_.isOnDevice(i);
        if (plan_.isOnDevice(i)) plan_.payload_crosses[slot.index] = true;
      }
    }
  }

  const Schedule& schedule_;
  const DeviceStepBuffers& buffers_;
  DeviceStepPlan& plan_;
  std::vector<bool> on_device_; ///< By step.
};

} // namespace

bool planDeviceSteps(const Schedule& schedule, const DeviceStepBuffers& buffers, DeviceStepPlan& plan) {
  return Planner(schedule, buffers, plan).run();
}

} // namespace goss

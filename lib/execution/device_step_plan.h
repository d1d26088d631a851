/// Which steps of a compressed schedule run on the GPU that the caller's buffers lie on. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_DEVICE_STEP_PLAN_H_
#define GOSS_LIB_EXECUTION_DEVICE_STEP_PLAN_H_

#include <cstdint>
#include <vector>

#include "gossamer/schedule.h"

namespace goss {

/// The device encodes chunks of the caller's input and decodes chunks into the caller's output, so that only payloads
/// cross to and from the host, which does everything else. A chunk that a step on the host needs as numbers is staged
/// whole, and all its steps run on the host.
///
/// In a call that is a part of a stream all steps on the device are enqueued beforehand, in phases, each but the first
/// behind a gate that the host opens when what its steps wait for is done: first the steps that wait for nothing; then,
/// one by one, those that others wait for, in the order of the schedule; last all the others. Ranks that run the
/// schedules of one collective in this way never wait for each other in a circle, as tests prove for every algorithm.
struct DeviceStepPlan {
  static constexpr std::uint32_t kHost = ~std::uint32_t{0};

  std::vector<std::uint32_t> phase_of;            ///< By step: its phase; kHost: it runs on the host.
  std::vector<std::vector<std::uint32_t>> phases; ///< At least two: the steps of each, in the schedule's order.
  std::vector<bool> input_stays;                  ///< By chunk: no step on the host touches it.
  std::vector<bool> output_stays;                 ///< By chunk.
  std::vector<bool> payload_crosses;              ///< By payload slot: steps on the device use it.
  std::vector<bool> is_brought;                   ///< By index in the schedule's slot pool: a payload from the host.

  [[nodiscard]] bool isOnDevice(std::uint32_t step) const { return phase_of[step] != kHost; }
  [[nodiscard]] bool stays(Slot slot) const {
    if (slot.space == Space::input) return input_stays[slot.index];
    return slot.space == Space::output && output_stays[slot.index];
  }
};

/// Properties of a call's buffers that decide which steps may run on the device.
struct DeviceStepBuffers {
  bool input = false; ///< Lies on the device.
  bool output = false;
  bool averages = false; ///< The finish changes numbers.
};

/// Plans which steps run on the device. Returns whether any does; if none does, `plan` has no meaning.
bool planDeviceSteps(const Schedule& schedule, const DeviceStepBuffers& buffers, DeviceStepPlan& plan);

} // namespace goss

#endif // GOSS_LIB_EXECUTION_DEVICE_STEP_PLAN_H_

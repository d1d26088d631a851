/// The steps of one fragment that run on the device: which may run, and which do. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_DEVICE_STEP_PROGRESS_H_
#define GOSS_LIB_EXECUTION_DEVICE_STEP_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "execution/device_codec_steps.h"
#include "execution/passage.h"

namespace goss {

/// Under the engine's lock.
class DeviceStepProgress {
 public:
  /// Begins the next fragment. `codec` null: no step runs on the device.
  void begin(const DeviceCodecSteps* codec);
  [[nodiscard]] bool any() const { return codec_ != nullptr; }
  /// Takes a step that is ready to run. False: the step runs on the host.
  bool take(std::uint32_t step);
  /// Finds the steps that have run on the device, and starts others. `steps_left`: steps of the whole fragment that are
  /// not done. Sets `done` to the steps that are done now; to be called again while there are any. Errors: the
  /// device's; GOSS_ERR_PROTOCOL for a malformed payload.
  Status advance(Passage& passage, const DeviceFragment& fragment, const std::vector<std::size_t>& payload_bytes,
                 std::size_t steps_left, std::vector<std::uint32_t>& done);

 private:
  void work(Passage& passage, const DeviceFragment& fragment, std::uint32_t phase);
  Status startReady(Passage& passage, const DeviceFragment& fragment, const std::vector<std::size_t>& payload_bytes);
  Status startPhase(Passage& passage, const DeviceFragment& fragment, const std::vector<std::size_t>& payload_bytes,
                    std::size_t steps_left, std::vector<std::uint32_t>& done);

  const DeviceCodecSteps* codec_ = nullptr;
  std::vector<std::uint32_t> ready_;          ///< Where steps were not enqueued before.
  std::vector<std::uint32_t> running_;        ///< Given to the passage.
  std::optional<DeviceStepBatch> batch_;      ///< These.
  std::vector<std::uint32_t> ready_in_phase_; ///< By phase: how many of its steps are ready.
  std::uint32_t phase_ = 0;                   ///< The phase that is done next.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_DEVICE_STEP_PROGRESS_H_

/// Encodes and decodes on the GPU that the caller's buffers lie on. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_DEVICE_CODEC_STEPS_H_
#define GOSS_LIB_EXECUTION_DEVICE_CODEC_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "call/call.h"
#include "devices/devices.h"
#include "execution/codec_step.h"
#include "execution/device_feedback.h"
#include "execution/device_step_plan.h"
#include "execution/staging.h"

namespace goss {

/// Why buffers in device memory must be copied to the host as a whole and encoded there; "": the device encodes them,
/// if it has kernels of both codecs.
std::string_view whyStaged(const CodecPair& codecs);

/// One fragment of the call, and where it lies.
struct DeviceFragment {
  const StepContext& context;
  const StagedSlots& slots;
  std::byte* pinned = nullptr; ///< Pinned host memory of the slots.
  std::byte* memory = nullptr; ///< Device memory: DeviceCodecSteps::memoryBytes().
  KeptOnDevice kept = {};
  /// The lengths of payloads, by slot, where the steps that make them are done when steps are enqueued; else empty.
  std::span<const std::size_t> payload_bytes = {};
};

/// The steps of one call that run on its device. Constant from one bind() to the next; then thread-safe.
class DeviceCodecSteps {
 public:
  /// Whether steps of the call run on the device. They do where it has kernels of both codecs, nothing else makes the
  /// call stage its buffers (whyStaged()), and the numbers are float32; in a group of calls where two phases suffice.
  bool bind(const Schedule& schedule, const Call& call, Devices& devices);
  /// No step runs on the device until the next bind().
  void unbind() { is_bound_ = false; }
  [[nodiscard]] bool isBound() const { return is_bound_; }
  /// Null: no step runs on the device.
  [[nodiscard]] const DeviceStepPlan* plan() const { return is_bound_ ? &plan_ : nullptr; }
  /// Phases of a fragment in a stream (StreamGate).
  [[nodiscard]] std::uint32_t phases() const { return is_bound_ ? static_cast<std::uint32_t>(plan_.phases.size()) : 2; }

  /// Device memory that a fragment takes: its payloads, and scratch.
  [[nodiscard]] std::size_t memoryBytes(const schedule::Layout& layout, const StagedSlots& slots) const;
  /// Enqueues these steps on `queue`, one after the other: copies of payloads to the device before, to the host behind.
  Status enqueue(DeviceQueue& queue, const DeviceFragment& fragment, std::span<const std::uint32_t> steps) const;
  /// Whether the payloads that these steps take from the host are well-formed. Error: GOSS_ERR_PROTOCOL.
  Status check(const DeviceFragment& fragment, std::span<const std::uint32_t> steps,
               const std::vector<std::size_t>& payload_bytes) const;
  /// Length of a payload that has come to the host.
  [[nodiscard]] std::size_t bytesOf(const DeviceFragment& fragment, Slot payload) const;

 private:
  /// How many vectors lie between a fragment's payloads and the codecs' scratch, each as long as its longest step: one
  /// for the numbers that a merge computes and that no step reads, and one for the loss of an encoding with LoCo's
  /// 8-bit errors.
  [[nodiscard]] std::size_t vectorCount() const;
  /// Scratch of either codec for a step of `elems` elements.
  [[nodiscard]] std::size_t scratchBytes(std::uint64_t elems) const;
  [[nodiscard]] bool makeNan(const std::shared_ptr<const CodecPair>& codecs);
  [[nodiscard]] bool findCodecs(const Call& call, Devices& devices);
  [[nodiscard]] const Codec& hostCodec(Slot payload) const;
  /// The most bytes that a payload may have: so many lie on the device, and come to the host.
  [[nodiscard]] std::size_t maxBytesOf(const schedule::Layout& layout, Slot payload) const;
  [[nodiscard]] const QueuedCodec& codec(bool result) const { return *(result ? result_ : contribution_); }
  [[nodiscard]] std::byte* placeOf(const DeviceFragment& fragment, Slot slot) const;
  Status copyPayloads(DeviceQueue& queue, const DeviceFragment& fragment, std::span<const std::uint32_t> steps,
                      bool to_device) const;
  Status enqueueStep(DeviceQueue& queue, const DeviceFragment& fragment, std::uint32_t index) const;
  Status copyNumbers(DeviceQueue& queue, const DeviceFragment& fragment, const Step& step) const;
  Status encode(DeviceQueue& queue, CodecStep& step, std::span<std::byte> scratch) const;
  /// Encodes the sum of the momentum and the step's numbers, which lie at `base` or, if it merges, at `target`.
  Status encodeMomentum(DeviceQueue& queue, CodecStep& step, bool merges, std::span<std::byte> scratch) const;
  Status merge(DeviceQueue& queue, CodecStep& step, std::span<std::byte> scratch) const;
  Status decode(DeviceQueue& queue, const CodecStep& step, DecodeMode mode, std::span<std::byte> scratch) const;

  const Schedule* schedule_ = nullptr;
  const Call* call_ = nullptr;
  bool is_bound_ = false;
  DeviceStepPlan plan_;
  std::shared_ptr<const QueuedCodec> contribution_;
  std::shared_ptr<const QueuedCodec> result_;
  std::shared_ptr<const CodecPair> tried_; ///< The codecs that makeNan() knows.
  bool tried_make_nan_ = false;
  float factor_ = 1; ///< Factor of the finish: 1 / ranks for GOSS_AVG, else 1.
};

/// Steps of a fragment. What they work on outlives it.
class DeviceStepBatch final : public StageWork {
 public:
  DeviceStepBatch(const DeviceCodecSteps& codec, const DeviceFragment& fragment, std::span<const std::uint32_t> steps)
      : codec_(codec),
        context_(fragment.context),
        fragment_{context_, fragment.slots, fragment.pinned, fragment.memory, fragment.kept, fragment.payload_bytes},
        steps_(steps) {}
  DeviceStepBatch(const DeviceStepBatch&) = delete;
  DeviceStepBatch& operator=(const DeviceStepBatch&) = delete;
  [[nodiscard]] bool comesToHost() const override;
  Status enqueue(DeviceQueue& queue) const override { return codec_.enqueue(queue, fragment_, steps_); }

 private:
  const DeviceCodecSteps& codec_;
  const StepContext context_;
  const DeviceFragment fragment_;
  const std::span<const std::uint32_t> steps_;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_DEVICE_CODEC_STEPS_H_

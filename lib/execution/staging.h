/// Device buffers of a fragment: which slots of a schedule lie in device memory, and the pinned memory that stands for
/// them while the schedule runs. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_STAGING_H_
#define GOSS_LIB_EXECUTION_STAGING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "call/call.h"
#include "devices/devices.h"
#include "execution/device_step_plan.h"
#include "mesh/group.h"
#include "schedule/layout.h"

namespace goss {

/// The copies of one fragment, between the caller's buffers and pinned memory.
struct FragmentCopies {
  std::vector<CopyJob> in;
  std::vector<CopyJob> out;
};

/// The places of the staged slots of one fragment in its memory, and the copies: the chunks of the input that a step
/// reads are copied in, the chunks of the output that a step has written are copied out. Slots that are adjacent in the
/// caller's buffer are adjacent here. If steps run on the device, the payloads that cross come first.
class StagedSlots {
 public:
  /// Lays out the slots of this fragment of the call. `device_steps` null: no step runs on the device. Keeps its memory
  /// from one fragment to the next.
  void lay(const Schedule& schedule, const schedule::Layout& layout, const Call& call,
           const DeviceStepPlan* device_steps);
  /// Lays out a call that runs no schedule: `input_bytes` are read from the start of its input, and `output_bytes`
  /// written to the start of its output. Each of the two is the slot 0 of its space.
  void layWhole(const Call& call, std::size_t input_bytes, std::size_t output_bytes);
  /// Bytes of memory that the slots take.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool has(Slot slot) const;
  /// Offset of a slot that a step uses and that has() is true of.
  [[nodiscard]] std::size_t at(Slot slot) const;
  /// Bytes of device memory for the payloads that cross, which have the same offsets there.
  [[nodiscard]] std::size_t payloadBytes() const { return payload_bytes_; }
  [[nodiscard]] std::size_t payloadAt(Slot slot) const { return payloads_[slot.index]; }
  /// The fragment's copies, for memory at `memory`.
  void copies(std::byte* memory, FragmentCopies& copies) const;
  /// GOSS_PREMUL_SUM: multiplies what has been copied in.
  void scaleInput(std::byte* memory, const Call& call) const;

 private:
  struct Staged {
    std::byte* buffer = nullptr; ///< The caller's.
    std::size_t bytes = 0;
    std::size_t at = 0;
    bool used = false;
    bool is_read = false; ///< A step reads what the caller's buffer holds.
    bool is_written = false;
    bool is_here = false; ///< A step has put into the memory what the slot holds.
  };

  Staged* find(Slot slot);
  void read(Slot slot);
  void write(Slot slot);
  /// Whether both slots are the same part of the caller's memory.
  [[nodiscard]] bool isSameMemory(Slot input, Slot output);
  void use(const Schedule& schedule, const Step& step);
  void assign();
  void assign(std::vector<Staged>& slots);
  void assignPayloads(const Schedule& schedule, const schedule::Layout& layout, const CodecPair& codecs,
                      const DeviceStepPlan& device_steps);
  static void append(const Staged& slot, std::byte* memory, bool in, std::vector<CopyJob>& jobs);

  bool stages_input_ = false;
  bool stages_output_ = false;
  std::vector<Staged> input_;         ///< By chunk.
  std::vector<Staged> output_;        ///< By chunk.
  std::vector<std::size_t> payloads_; ///< By payload slot: its offset; kNowhere: it does not cross.
  std::size_t payload_bytes_ = 0;
  std::size_t bytes_ = 0;
};

/// Work of the device between a fragment's arrival and its leaving. A thread of the device's enqueues it.
class StageWork {
 public:
  virtual ~StageWork() = default;
  /// Whether the work copies anything to the host.
  [[nodiscard]] virtual bool comesToHost() const = 0;
  virtual Status enqueue(DeviceQueue& queue) const = 0;
};

/// Turns an error of this rank's device into the error with which all ranks fail.
Status ofDevice(const Status& status, const Group& group, const Signature& signature);

/// The pinned memory through which one fragment after the other goes. One run uses it; under the engine's lock.
class Stage {
 public:
  virtual ~Stage() = default;
  /// Takes the memory of one fragment until release(). Errors: as BlockReserve::lease().
  virtual Status takeMemory(const StreamGate::Shape& shape, BlockReserve& reserve) = 0;
  /// Memory that the largest fragment fits into.
  virtual std::byte* memory() = 0;
  /// Device memory, where fragments take some.
  virtual std::byte* deviceMemory() = 0;
  /// Whether the steps on the device were enqueued before: then each phase is done as a whole, the first one when the
  /// fragment has arrived, and the last one when it has left.
  [[nodiscard]] virtual bool isEnqueued() const = 0;
  /// Lets steps run: `work`, which must live until they have, or those of the phase `phase`, which is neither the first
  /// nor the last.
  virtual void start(const StageWork& work, std::uint32_t phase) = 0;
  /// Whether the steps of the last start() have run.
  virtual Result<bool> hasWorked() = 0;
  virtual void bringIn(std::uint32_t fragment, const StagedSlots& slots) = 0;
  virtual Result<bool> hasArrived() = 0;
  virtual void bringOut() = 0;
  /// Whether the memory may be used for another fragment.
  virtual Result<bool> hasLeft() = 0;
  /// The call has completed: its memory may serve others.
  virtual void release() = 0;
  /// The call has failed: nothing more is enqueued.
  virtual void withdraw() = 0;
  /// After withdraw(): whether copies or steps may still touch the caller's buffers or the stage's memory.
  [[nodiscard]] virtual bool isBusy() const = 0;
};

/// The caller's data is ready: copies are enqueued on the library's own queues, when their turn has come.
class WaitedStage final : public Stage {
 public:
  explicit WaitedStage(DeviceStation& station)
      : station_(station), arrived_(station.watch), worked_(station.watch), left_(station.watch) {}

  Status takeMemory(const StreamGate::Shape& shape, BlockReserve& reserve) override;
  std::byte* memory() override { return memory_.data(); }
  std::byte* deviceMemory() override { return device_memory_.data(); }
  [[nodiscard]] bool isEnqueued() const override { return false; }
  void start(const StageWork& work, std::uint32_t phase) override;
  Result<bool> hasWorked() override { return worked_.isDone(); }
  void bringIn(std::uint32_t fragment, const StagedSlots& slots) override;
  Result<bool> hasArrived() override { return arrived_.isDone(); }
  void bringOut() override;
  Result<bool> hasLeft() override { return left_.isDone(); }
  void release() override {
    memory_ = {};
    device_memory_ = {};
  }
  void withdraw() override;
  [[nodiscard]] bool isBusy() const override { return arrived_.isBusy() || worked_.isBusy() || left_.isBusy(); }

 private:
  DeviceStation& station_;
  BlockPool::Lease memory_;
  BlockPool::Lease device_memory_;
  FragmentCopies copies_;
  DeviceJob arrived_;
  DeviceJob worked_;
  DeviceJob left_;
};

/// What the device does was enqueued on the caller's stream at the call.
class GatedStage final : public Stage {
 public:
  /// `phases`: of each fragment's work.
  GatedStage(std::shared_ptr<StreamGate> gate, std::uint32_t slot, std::uint32_t phases)
      : gate_(std::move(gate)), slot_(slot), last_phase_(phases - 1) {}

  Status takeMemory(const StreamGate::Shape&, BlockReserve&) override { return Status::ok(); } // The gate has it.
  std::byte* memory() override { return gate_->slot(slot_); }
  std::byte* deviceMemory() override { return gate_->memory(slot_); }
  [[nodiscard]] bool isEnqueued() const override { return true; }
  void start(const StageWork&, std::uint32_t phase) override {
    gate_->open(fragment_, phase);
    phase_ = phase;
  }
  Result<bool> hasWorked() override { return hasDone(phase_); }
  void bringIn(std::uint32_t fragment, const StagedSlots&) override { fragment_ = fragment; }
  Result<bool> hasArrived() override { return hasDone(0); }
  void bringOut() override { gate_->open(fragment_, last_phase_); }
  Result<bool> hasLeft() override { return true; } // The next fragment arrives behind it.
  void release() override {}
  void withdraw() override {}
  [[nodiscard]] bool isBusy() const override { return false; } // Devices::holdOnLoop() keeps the gate.

 private:
  Result<bool> hasDone(std::uint32_t phase);

  const std::shared_ptr<StreamGate> gate_;
  const std::uint32_t slot_;
  const std::uint32_t last_phase_;
  std::uint32_t fragment_ = 0;
  std::uint32_t phase_ = 0; ///< Whose gate was opened last.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_STAGING_H_

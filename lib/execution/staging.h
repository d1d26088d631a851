/// Device buffers of a fragment: which slots of a schedule lie in device memory, and the pinned memory that stands for
/// them while the schedule runs. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_STAGING_H_
#define GOSS_LIB_EXECUTION_STAGING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "call/call.h"
#include "devices/devices.h"
#include "mesh/group.h"
#include "schedule/layout.h"

namespace goss {

/// Where the staged slots of one fragment lie in its memory, and what is copied: of the caller's input what a step
/// reads, of the output what a step has written. Slots that lie behind each other in the caller's buffer do so here.
class StagedSlots {
 public:
  /// For this fragment of the call. Keeps its memory from one to the next.
  void lay(const Schedule& schedule, const schedule::Layout& layout, const Call& call);
  /// For a call that runs no schedule: `input_bytes` are read from the start of its input, and `output_bytes` written
  /// to the start of its output. Each of the two is the slot 0 of its space.
  void layWhole(const Call& call, std::size_t input_bytes, std::size_t output_bytes);
  /// Bytes of memory that the slots take.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool has(Slot slot) const { return slot.space == Space::input ? stages_input_ : stages_output_; }
  /// Offset of a slot that a step uses, of a buffer that is staged.
  [[nodiscard]] std::size_t at(Slot slot) const {
    return (slot.space == Space::input ? input_ : output_)[slot.index].at;
  }
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
  /// Whether the caller's buffers are the same here.
  [[nodiscard]] bool isSamePlace(Slot input, Slot output);
  void use(const Schedule& schedule, const Step& step);
  void place();
  void place(std::vector<Staged>& slots);
  static void append(const Staged& slot, std::byte* memory, bool in, std::vector<CopyJob>& jobs);

  bool stages_input_ = false;
  bool stages_output_ = false;
  std::vector<Staged> input_;  ///< By chunk.
  std::vector<Staged> output_; ///< By chunk.
  std::size_t bytes_ = 0;
};

/// The failure of this rank's device, as all ranks fail with it.
Status ofDevice(const Status& status, const Group& group, const Signature& signature);

/// The pinned memory through which one fragment after the other goes. One run uses it; under the engine's lock.
class Stage {
 public:
  virtual ~Stage() = default;
  /// Memory of at least `bytes` bytes until the next call; null: the fragment has none.
  virtual Result<std::byte*> memory(std::size_t bytes) = 0;
  virtual Status bringIn(std::uint32_t fragment, const StagedSlots& slots) = 0;
  virtual Result<bool> hasArrived() = 0;
  virtual Status bringOut() = 0;
  /// Whether the memory may be used for another fragment.
  virtual Result<bool> hasLeft() = 0;
  /// The call has completed: its memory may serve others.
  virtual void release() = 0;
  /// The call has failed: returns when no copy touches the caller's buffers.
  virtual void withdraw() = 0;
};

/// The caller's data is ready: copies are enqueued on the library's own queues, when their turn has come.
class WaitedStage final : public Stage {
 public:
  static Result<std::unique_ptr<Stage>> make(DeviceStation& station);

  Result<std::byte*> memory(std::size_t bytes) override;
  Status bringIn(std::uint32_t fragment, const StagedSlots& slots) override;
  Result<bool> hasArrived() override { return arrived_->isDone(); }
  Status bringOut() override;
  Result<bool> hasLeft() override { return left_->isDone(); }
  void release() override { memory_ = {}; }
  void withdraw() override;

 private:
  explicit WaitedStage(DeviceStation& station) : station_(station) {}

  DeviceStation& station_;
  std::unique_ptr<DeviceEvent> arrived_;
  std::unique_ptr<DeviceEvent> left_;
  PinnedPool::Lease memory_;
  FragmentCopies copies_;
};

/// The copies were enqueued on the caller's stream at the call.
class GatedStage final : public Stage {
 public:
  GatedStage(std::shared_ptr<StreamGate> gate, std::uint32_t slot) : gate_(std::move(gate)), slot_(slot) {}

  Result<std::byte*> memory(std::size_t) override { return gate_->slot(slot_); }
  Status bringIn(std::uint32_t fragment, const StagedSlots&) override {
    fragment_ = fragment;
    return Status::ok();
  }
  Result<bool> hasArrived() override;
  Status bringOut() override {
    gate_->open(fragment_);
    return Status::ok();
  }
  Result<bool> hasLeft() override { return true; } // The next fragment arrives behind it.
  void release() override {}
  void withdraw() override {}

 private:
  const std::shared_ptr<StreamGate> gate_;
  const std::uint32_t slot_;
  std::uint32_t fragment_ = 0;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_STAGING_H_

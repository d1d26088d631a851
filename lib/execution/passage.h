/// Moves a fragment's device buffers through pinned memory, where the host works on them. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_PASSAGE_H_
#define GOSS_LIB_EXECUTION_PASSAGE_H_

#include <cstddef>
#include <cstdint>

#include "execution/staging.h"

namespace goss {

/// States of one fragment in its stage: arriving (it is copied in), here (the host works on it), leaving (it is copied
/// out), left. A fragment without a stage is always here. Under the engine's lock.
class Passage {
 public:
  void beginWithoutStage() {
    stage_ = nullptr;
    working_ = false;
    state_ = State::here;
  }
  /// Starts the copies to the memory of slots(), which must be laid out for this fragment. Returns whether memory() has
  /// changed. `stage` outlives the passage.
  bool begin(Stage& stage, std::uint32_t fragment);
  /// Starts the copies of the results, which are in memory(), to the device.
  Status bringOut();
  /// Enters the next state if the copies under way have ended.
  Status advance();

  /// As Stage::start(). Until isWorking() is false again no other steps may be given.
  void work(const StageWork& work, std::uint32_t phase);
  /// Whether steps run on the device. endWork() finds their end; advance() does not.
  [[nodiscard]] bool isWorking() const { return working_; }
  /// Whether these steps have ended; isWorking() is false then.
  Result<bool> endWork();
  [[nodiscard]] bool isEnqueued() const { return stage_->isEnqueued(); }

  [[nodiscard]] bool hasStage() const { return stage_ != nullptr; }
  [[nodiscard]] bool isHere() const { return state_ == State::here; }
  [[nodiscard]] bool hasLeft() const { return state_ == State::left; }
  /// Whether advance() or endWork() would change anything, or the device has failed.
  [[nodiscard]] bool hasCome() const;

  [[nodiscard]] StagedSlots& slots() { return slots_; }
  [[nodiscard]] const StagedSlots& slots() const { return slots_; }
  /// Where the slots lie.
  [[nodiscard]] std::byte* memory() const { return memory_; }
  [[nodiscard]] std::byte* deviceMemory() const { return device_memory_; }

 private:
  enum class State : std::uint8_t { arriving, here, leaving, left };

  [[nodiscard]] Result<bool> isDone() const {
    return state_ == State::arriving ? stage_->hasArrived() : stage_->hasLeft();
  }

  Stage* stage_ = nullptr;
  StagedSlots slots_;
  std::byte* memory_ = nullptr;
  std::byte* device_memory_ = nullptr;
  bool working_ = false;
  State state_ = State::here;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_PASSAGE_H_

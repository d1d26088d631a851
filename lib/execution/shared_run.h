/// One fragment of a call of ranks whose buffers all lie on one GPU. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_SHARED_RUN_H_
#define GOSS_LIB_EXECUTION_SHARED_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "devices/device_station.h"
#include "engine/operation.h"
#include "execution/run.h"
#include "execution/run_environment.h"
#include "execution/shared_memory.h"
#include "gossamer/lending.h"
#include "platform/thread_safety.h"
#include "schedule/layout.h"

namespace goss {

/// Runs the schedule that host buffers would take, and so has their bits, but no byte of a buffer comes to the host:
/// slots lie on the device, which copies and reduces. A message says where the sent slots lie, and the receiver's
/// device reads them there; an answer says that it has, and only then the step that sends is done. A step of ordinal k
/// sends the addresses with ordinal 2k, and the answer has ordinal 2k + 1.
///
/// A rank that reads borrows the sender's loan meanwhile: where that has been taken back, the sender's call has failed,
/// and this rank's call discards the bytes and waits for the abort. Under the engine's lock.
class SharedRun {
 public:
  /// A part of `operation`, which is advanced when a step is done. The arguments outlive the run.
  SharedRun(Operation& operation, const RunEnvironment& environment, const RunContext& context,
            const SharedMemory& memory, DeviceStation& station);
  ~SharedRun();
  SharedRun(const SharedRun&) = delete;
  SharedRun& operator=(const SharedRun&) = delete;

  /// Whether a rank can run its schedule so: all its slots have memory on the device.
  static bool serves(const Schedule& schedule, const Call& call);

  /// `scratch`: device memory for the fragment's scratch slots, which SharedMemory knows. `loan`: of this operation, on
  /// all ranks.
  void begin(std::uint32_t fragment, std::byte* scratch, std::uint64_t sequence, Tag loan) GOSS_ON_LOOP;
  /// Posts the messages, and enqueues the steps, that have become possible. Errors: the device's; a message that cannot
  /// be posted, or makes no sense.
  Status advance() GOSS_ON_LOOP;
  /// From begin() until advance() has seen the end of the last step.
  [[nodiscard]] bool active() const { return active_; }
  /// Whether the device works on a batch of steps.
  [[nodiscard]] bool isUnderWay() const { return active_ && !batch_.empty(); }
  /// Whether that batch has ended, or the device has failed.
  [[nodiscard]] bool hasCome() const;
  /// Cancels the messages, and the batch if the device's thread has not begun it.
  void withdraw() GOSS_ON_LOOP;
  /// After withdraw(): gives back what the batch has borrowed as soon as this rank's device reads nothing any more.
  /// Returns whether it has.
  bool tryLeave() GOSS_ON_LOOP;
  void appendWaitingFor(std::vector<int>& ranks) const;

 private:
  class Out;
  class In;
  struct Message;
  [[nodiscard]] const Schedule& schedule() const { return *context_.schedule; }
  [[nodiscard]] const Step& stepAt(std::uint32_t index) const { return schedule().steps[index]; }
  [[nodiscard]] DevicePiece placeOf(Slot slot) const;
  [[nodiscard]] std::size_t bytesOf(PoolRange slots) const;
  [[nodiscard]] Tag tagOf(const Step& step, bool answers) const;
  Status runStep(std::uint32_t index) GOSS_ON_LOOP;
  Status post(std::uint32_t index) GOSS_ON_LOOP;
  void postOut(std::uint32_t index) GOSS_ON_LOOP;
  void postIn(std::uint32_t index) GOSS_ON_LOOP;
  void ended(std::uint32_t index, const Status& status) GOSS_ON_LOOP;
  void settle(std::uint32_t index);
  void stepDone(std::uint32_t index);
  Status readPieces(std::uint32_t index);
  void startBatch() GOSS_ON_LOOP;
  Status enqueueBatch();
  void endBatch() GOSS_ON_LOOP;
  bool tryGiveBack(std::uint32_t index) GOSS_ON_LOOP;
  void giveBackAll() GOSS_ON_LOOP;
  Status enqueue(DeviceQueue& queue, std::uint32_t index);
  Status enqueueReceived(DeviceQueue& queue, std::uint32_t index);
  Status enqueueLocal(DeviceQueue& queue, const Step& step);

  Operation& operation_;
  const RunEnvironment& environment_;
  const RunContext& context_;
  const SharedMemory& memory_;
  DeviceStation& station_;
  std::uint32_t fragment_ = 0;
  std::uint64_t sequence_ = 0;
  Tag loan_ = 0;
  std::optional<schedule::Layout> layout_;
  std::byte* scratch_ = nullptr;
  std::vector<std::unique_ptr<Message>> messages_; ///< By step; null where it has no peer.
  std::vector<std::uint32_t> missing_;             ///< By step: dependencies that are not done.
  std::vector<std::uint32_t> ready_;
  std::size_t ready_head_ = 0;
  std::vector<std::uint32_t> jobs_;  ///< Steps for the device.
  std::vector<std::uint32_t> batch_; ///< Steps that the device works on. Those that receive have borrowed the loan.
  std::vector<CopyJob> copies_;      ///< Scratch of enqueue(), which the device's thread calls.
  std::size_t steps_left_ = 0;
  bool active_ = false;
  Status failure_; ///< Failure of a message.
  DeviceJob job_;  ///< The batch.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_SHARED_RUN_H_

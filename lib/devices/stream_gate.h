/// Orders a call in its caller's stream by gates that the host opens.
#ifndef GOSS_LIB_DEVICES_STREAM_GATE_H_
#define GOSS_LIB_DEVICES_STREAM_GATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "devices/block_reserve.h"
#include "devices/device_station.h"
#include "gossamer/device.h"

namespace goss {

/// The fragments of one call pass through slots of pinned memory: fragment f through slot f % slots. A fragment's work
/// on the device has phases. In phase 0 the stream brings the fragment into the slot, and says that it has arrived. It
/// waits at the slot's gate until the host opens that, does phase 1, and so on; the last phase brings the results out,
/// and the slot's next fragment arrives. All of this is enqueued at the call, on the caller's own stream, in an order
/// that is right even where all streams are one queue of the hardware: whatever a gate waits for stands before it, here
/// or in a stream of another rank that enqueues the phases of a schedule in the same order. In a group of calls, which
/// ranks may make in different orders, there are two phases alone: a gate waits for what arrives at other ranks, and
/// all that arrives stands before the group's first gate.
///
/// A call that fails does not let its stream go on with old numbers in the outputs: the gates stay closed, until
/// tryGiveUp() fills the results with NaN and opens all of them.
class StreamGate {
 public:
  struct Shape {
    std::uint32_t fragments = 1;
    std::uint32_t slots = 1;
    std::uint32_t gates = 1; ///< Gates of each fragment: one for each phase but the first.
    std::size_t slot_bytes = 0;
    std::size_t memory_bytes = 0; ///< Device memory for each slot.
  };
  /// Wants memory for the slots, and with want() for a whole gate.
  static void wantSlots(DeviceStation& station, const Shape& shape, BlockReserve& reserve);
  static void want(DeviceStation& station, const Shape& shape, BlockReserve& reserve);
  /// Makes the gate of a call on the caller's `stream`, which Devices::prepare() has accepted. `reserve` has the
  /// memory.
  static Result<std::shared_ptr<StreamGate>> make(DeviceStation& station, void* stream, const Shape& shape,
                                                  BlockReserve& reserve);

  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  [[nodiscard]] std::byte* slot(std::uint32_t index) const { return slots_[index].data(); }

  /// Device memory of a slot.
  [[nodiscard]] std::byte* memory(std::uint32_t index) const { return memory_[index].data(); }

  /// Lets the stream continue without waiting for the call, which writes no output. Called before anything is enqueued.
  void letPass() { waits_ = false; }

  /// Keeps `used`, which the stream uses too, until the stream has passed the call.
  void keep(std::shared_ptr<const void> used) { used_ = std::move(used); }

  /// Enqueues a phase of a fragment; called in the order of the stream.
  using Work = std::function<Status(DeviceQueue& queue, std::uint32_t fragment, std::uint32_t phase)>;
  /// Enqueues the first part: the arrival of the fragments that fit the slots. Before that it waits, perhaps for the
  /// driver, until the device has all jobs that were started so far (DeviceJob), and the first jobs of calls that
  /// have begun: a gate may need them, and streams may be one queue. The caller's thread calls this without the
  /// engine's lock: if streams are synchronous, enqueueGates() returns only when the gates have been opened.
  Status enqueueArrivals(const Work& work);
  /// Enqueues the second part. To be called, in a group of calls, after the first parts of all of them.
  Status enqueueGates(const Work& work);
  /// To be called when all is enqueued, or a part has failed. From now on hasLeft() may be true.
  void setEnqueued();
  [[nodiscard]] bool isEnqueued() const { return enqueued_.load(std::memory_order_acquire); }

  // For the loop.
  /// Whether the stream has done the fragment's phase, which is not the last.
  [[nodiscard]] bool hasDone(std::uint32_t fragment, std::uint32_t phase) const;
  /// Opens the gate of `phase`, which is not phase 0: the slot holds what the phase needs.
  void open(std::uint32_t fragment, std::uint32_t phase);
  /// Whether the stream has done the whole call. Error: the device's. Asks the driver nothing (DeviceWatch).
  Result<bool> hasLeft();
  /// Fills the slots whose gates the stream has not passed with NaN (all bits set), and opens these gates. False: more
  /// fragments must arrive first; try again. May run while the caller's thread enqueues and waits for the stream.
  bool tryGiveUp();

 private:
  StreamGate() = default;
  [[nodiscard]] Flag arrived(std::uint32_t slot) const { return reinterpret_cast<Flag>(flags_.data()) + 2 * slot; }
  [[nodiscard]] Flag ready(std::uint32_t slot) const { return arrived(slot) + 1; }
  /// 1: the stream has passed the call.
  [[nodiscard]] Flag left() const { return arrived(slots()); }
  /// Number of gates of a slot that the stream has passed when the fragment enters the slot; gatesOf(): of all its
  /// gates.
  [[nodiscard]] std::uint32_t gatesBefore(std::uint32_t fragment) const { return fragment / slots() * gates_; }
  [[nodiscard]] std::uint32_t gatesOf(std::uint32_t slot) const {
    return (fragments_ + slots() - 1 - slot) / slots() * gates_;
  }
  /// Fills each slot at whose closed gate the stream waits with NaN, and opens that gate. Returns whether there was
  /// one.
  bool openWithNan();
  Status enqueuePhase(const Work& work, std::uint32_t fragment, std::uint32_t phase);

  std::shared_ptr<const int> token_; ///< DeviceStation::gates.
  DeviceWatch* watch_ = nullptr;
  std::unique_ptr<DeviceQueue> queue_;
  std::uint32_t fragments_ = 0;
  std::uint32_t gates_ = 1;
  bool waits_ = true;
  bool ends_ = false; ///< The stream will raise left().
  std::shared_ptr<const void> used_;
  std::vector<BlockPool::Lease> slots_;
  std::vector<BlockPool::Lease> memory_; ///< By slot.
  BlockPool::Lease flags_; ///< For each slot at how many gates the stream has come, and how many are open; left().
  std::atomic<bool> enqueued_{false};
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_STREAM_GATE_H_

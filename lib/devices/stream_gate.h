/// How a call is a part of its caller's stream: gates that the host opens.
#ifndef GOSS_LIB_DEVICES_STREAM_GATE_H_
#define GOSS_LIB_DEVICES_STREAM_GATE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "devices/device_station.h"
#include "gossamer/device.h"

namespace goss {

/// The copies of one fragment, between the caller's buffers and the slot's memory at `slot`.
struct FragmentCopies {
  std::vector<CopyJob> in;
  std::vector<CopyJob> out;
};

/// The fragments of one call pass through slots of pinned memory: fragment f through slot f % slots, in round
/// f / slots. The stream copies a fragment in and says that it has arrived; it waits at the slot's gate until the host
/// opens it, copies the results out, and copies the slot's next fragment in. All of this is enqueued at the call, on
/// the caller's own stream, in an order that is right even where all streams are one queue of the hardware: whatever a
/// gate waits for stands before it.
///
/// A call that fails does not let its stream go on with old numbers in the outputs: the gates stay closed, until
/// tryGiveUp() fills the results with NaN and opens all of them.
class StreamGate {
 public:
  /// For a call of `fragments` fragments, each of at most `slot_bytes` bytes, on `stream`, which is the caller's.
  static Result<std::shared_ptr<StreamGate>> make(DeviceStation& station, void* stream, std::uint32_t fragments,
                                                  std::uint32_t slots, std::size_t slot_bytes);

  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  [[nodiscard]] std::byte* slot(std::uint32_t index) const { return slots_[index].data(); }

  /// Before anything is enqueued: nothing comes out of the call, so the stream does not wait for it.
  void letPass() { waits_ = false; }

  using CopiesOf = std::function<void(std::uint32_t fragment, std::byte* slot, FragmentCopies& copies)>;
  /// Enqueues the first part: the fragments that fit the slots are copied in. By the caller's thread, without the
  /// engine's lock: where streams are made synchronous, the second part returns only when the gates have been opened.
  Status enqueueArrivals(const CopiesOf& copies_of);
  /// Enqueues the rest. In a group of calls, after the first parts of all of them.
  Status enqueueGates(const CopiesOf& copies_of);
  /// After the last of them, or an error. From now on the loop may ask hasLeft(), and give up.
  void setEnqueued();
  [[nodiscard]] bool isEnqueued() const { return enqueued_.load(std::memory_order_acquire); }

  // For the loop.
  [[nodiscard]] bool hasArrived(std::uint32_t fragment) const;
  /// The results of `fragment` are in its slot.
  void open(std::uint32_t fragment);
  /// Whether the stream has done the whole call. Error: the device's.
  Result<bool> hasLeft();
  /// Lets the stream go on with NaN (all bits set) in the outputs that it has not passed yet. False: the stream has not
  /// come to the call's first closed gate yet; try again.
  bool tryGiveUp();

 private:
  StreamGate() = default;
  [[nodiscard]] Flag arrived(std::uint32_t slot) const { return reinterpret_cast<Flag>(flags_.data()) + 2 * slot; }
  [[nodiscard]] Flag ready(std::uint32_t slot) const { return arrived(slot) + 1; }
  /// How many fragments pass through a slot.
  [[nodiscard]] std::uint32_t rounds(std::uint32_t slot) const { return (fragments_ + slots() - 1 - slot) / slots(); }
  Status enqueueArrival(std::uint32_t fragment, std::span<const CopyJob> jobs);

  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceEvent> end_;
  std::uint32_t fragments_ = 0;
  bool waits_ = true;
  bool ends_ = false; ///< end_ was recorded.
  std::vector<PinnedPool::Lease> slots_;
  PinnedPool::Lease flags_; ///< For each slot how many fragments have arrived, and for how many it was opened.
  FragmentCopies copies_;   ///< Of the fragment that is being enqueued.
  std::atomic<bool> enqueued_{false};
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_STREAM_GATE_H_

/// The pinned and device memory of a call with device buffers. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_CALL_MEMORY_H_
#define GOSS_LIB_EXECUTION_CALL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "devices/block_reserve.h"
#include "devices/stream_gate.h"
#include "engine/engine.h"
#include "execution/call_residuals.h"

namespace goss {

/// Gets the memory before the call takes it, because to allocate asks the driver: a call in a stream before it starts,
/// in its caller's thread; another one by the device's thread, for which its start waits. Under the engine's lock.
class CallMemory {
 public:
  /// Lays out a call that runs a schedule, of which `lanes` fragments are in flight.
  void layFragments(const KeepingCall& call, std::uint32_t lanes);
  /// Lays out a call that runs no schedule.
  void layWhole(std::size_t bytes);
  [[nodiscard]] const StreamGate::Shape& shape() const { return shape_; }

  /// Gets the memory of the next start of a call in a stream, if it is not active: also what the start takes after
  /// setStaged(), if the device has too little. `in_group`: in an open group of calls. Called without the engine's
  /// lock; may wait for the driver.
  void getAhead(Engine& engine, DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals,
                bool in_group);
  /// The start begins again, without codec steps on the device.
  void setStaged() { reserve_ = std::move(staged_); }
  /// Gets the memory of a call without a stream that starts. False: it is coming.
  bool get(DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals);
  /// The start waits.
  [[nodiscard]] bool isComing() const { return coming_; }
  /// The start may go on; the memory is there, or there is none.
  [[nodiscard]] bool hasCome() const { return coming_ && !reserve_->isAllocating(); }
  /// The start goes on. The caller keeps what it returns until it has given the device's thread the first jobs.
  [[nodiscard]] DeviceWatch::Beginning setHere() {
    coming_ = false;
    return std::move(beginning_);
  }
  BlockReserve& reserve();
  /// The call has what it takes, or has failed.
  void clear();

 private:
  void want(DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals, bool in_group,
            BlockReserve& reserve);
  void wantStaged(DeviceStation& station, const KeepingCall& call, bool in_group, BlockReserve& reserve);
  static StreamGate::Shape shapeOf(const KeepingCall& call, const DeviceCodecSteps& device_steps);
  [[nodiscard]] std::size_t stagedSlotBytes(const KeepingCall& call);

  StreamGate::Shape shape_;
  bool whole_ = false;
  std::size_t staged_slot_bytes_ = 0;     ///< Shape::slot_bytes where codec steps run on the host; 0: not known yet.
  std::shared_ptr<BlockReserve> reserve_; ///< The device's thread shares it while it allocates.
  std::shared_ptr<BlockReserve> staged_;
  bool coming_ = false;
  DeviceWatch::Beginning beginning_; ///< While the memory is coming: calls in streams wait behind this one.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_CALL_MEMORY_H_

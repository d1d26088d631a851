/// The pinned and device memory of a call with device buffers. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_CALL_MEMORY_H_
#define GOSS_LIB_EXECUTION_CALL_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "devices/block_reserve.h"
#include "devices/stream_gate.h"
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

  /// Wants the memory of a start. `in_group`: in an open group of calls.
  void want(DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals, bool in_group,
            BlockReserve& reserve) const;
  /// The next start of a call in a stream finds its memory in `reserve`.
  void take(std::shared_ptr<BlockReserve> reserve) { reserve_ = std::move(reserve); }
  /// Gets the memory of a call without a stream that starts. False: it is coming.
  bool get(DeviceStation& station, const KeepingCall& call, const CallResiduals& residuals);
  /// The start waits.
  [[nodiscard]] bool isComing() const { return coming_; }
  /// The start may go on; the memory is there, or there is none.
  [[nodiscard]] bool hasCome() const { return coming_ && !reserve_->isAllocating(); }
  /// The start goes on.
  void setHere() { coming_ = false; }
  BlockReserve& reserve();
  /// The call has what it takes, or has failed.
  void clear();

 private:
  static StreamGate::Shape shapeOf(const KeepingCall& call, const DeviceCodecSteps& device_steps);

  StreamGate::Shape shape_;
  bool whole_ = false;
  std::shared_ptr<BlockReserve> reserve_; ///< The device's thread shares it while it allocates.
  bool coming_ = false;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_CALL_MEMORY_H_

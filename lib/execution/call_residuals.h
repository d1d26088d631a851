/// What the encodings of one call keep on its device, from the call's start to its end. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_CALL_RESIDUALS_H_
#define GOSS_LIB_EXECUTION_CALL_RESIDUALS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "call/call.h"
#include "devices/devices.h"
#include "engine/operation.h"
#include "execution/device_feedback.h"
#include "execution/edge_codec.h"
#include "execution/run_environment.h"
#include "planner/planner.h"
#include "platform/thread_safety.h"

namespace goss {

/// A call whose codecs keep what they lose.
struct KeepingCall {
  const Operation& operation;
  const Plan& plan;
  const Call& call;
  const EdgeCodec& edge;
};

/// The residuals that one call uses on a device. Callers have the engine's lock.
class CallResiduals {
 public:
  /// The environment outlives it.
  explicit CallResiduals(const RunEnvironment& environment) : environment_(environment) {}

  /// A call that begins, and whose edge codec is bound, takes its residuals. False: the call has to encode on the host.
  /// For a call that is a part of no stream, open() also calls start().
  Result<bool> open(DeviceStation& station, const KeepingCall& keeping) GOSS_ON_LOOP;
  /// Lets copies begin after which residuals are what they must be.
  Status start(DeviceStation& station);
  /// Returns the residuals that open() took; null: it took none.
  [[nodiscard]] const std::shared_ptr<const DeviceResiduals>& opened() const { return opened_; }
  /// Lets what the call encodes on the host come home, if no call uses it.
  Status bringHome(const KeepingCall& keeping) const;
  /// The call has ended, or will not use them. Other calls may; opened() stays.
  void close();
  void reset() { opened_.reset(); }
  /// Returns when no copy of start() is under way.
  void waitForCopies();
  /// The next call may be on another device.
  void leaveDevice() { here_.reset(); }

 private:
  static std::vector<KeptEncoding> encodingsOf(const KeepingCall& keeping);

  const RunEnvironment& environment_;
  std::shared_ptr<const DeviceResiduals> opened_;
  std::unique_ptr<DeviceEvent> here_; ///< Recorded behind the copies of start().
  std::uint64_t used_tensor_ = 0;     ///< The call's tensor from open() to close(); else 0.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_CALL_RESIDUALS_H_

/// The residuals of error feedback that one call uses on its device, from the call's start to its end. Private to
/// lib/execution.
#ifndef GOSS_LIB_EXECUTION_CALL_RESIDUALS_H_
#define GOSS_LIB_EXECUTION_CALL_RESIDUALS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "call/call.h"
#include "devices/devices.h"
#include "engine/operation.h"
#include "execution/device_codec_steps.h"
#include "execution/device_feedback.h"
#include "execution/run_environment.h"
#include "planner/planner.h"
#include "platform/thread_safety.h"

namespace goss {

/// A call whose codecs keep what they lose.
struct KeepingCall {
  const Operation& operation;
  const Plan& plan;
  const Call& call;
  const DeviceCodecSteps& device_steps;
};

/// The residuals that one call uses on a device. Callers have the engine's lock.
class CallResiduals {
 public:
  /// The environment outlives it.
  explicit CallResiduals(const RunEnvironment& environment) : environment_(environment) {}

  /// Takes the residuals of a call that begins, and whose DeviceCodecSteps are bound. False: the call must encode on
  /// the host. If the call runs in no stream, open() also calls start().
  Result<bool> open(DeviceStation& station, const KeepingCall& keeping, BlockReserve& reserve) GOSS_ON_LOOP;
  /// Wants the memory that open() takes.
  void want(DeviceStation& station, const KeepingCall& keeping, BlockReserve& reserve) const;
  /// Starts the copies that fill new residuals on the device.
  void start(DeviceStation& station);
  /// The failure of start()'s copies. The work on the residuals stands behind them.
  [[nodiscard]] Status failure() const { return here_ == nullptr ? Status::ok() : here_->isDone().status(); }
  /// Returns the residuals that open() took; null: it took none.
  [[nodiscard]] const std::shared_ptr<const DeviceResiduals>& opened() const { return opened_; }
  /// Starts to copy the residuals of the encodings that run on the host back to the host, unless a call uses them.
  Status moveToHost(const KeepingCall& keeping) const;
  /// Ends the call's use of the residuals, so that other calls may use them. opened() stays.
  void close();
  void reset() { opened_.reset(); }
  /// The call has failed: the copies of start() are not begun.
  void withdraw();
  /// After withdraw(): whether such copies are under way.
  [[nodiscard]] bool isBusy() const { return here_ != nullptr && here_->isBusy(); }
  /// The next call may be on another device.
  void leaveDevice() { here_.reset(); }

 private:
  static std::vector<KeptEncoding> encodingsOf(const KeepingCall& keeping);

  const RunEnvironment& environment_;
  std::shared_ptr<const DeviceResiduals> opened_;
  std::uint64_t used_tensor_ = 0;   ///< The call's tensor from open() to close(); else 0.
  std::unique_ptr<DeviceJob> here_; ///< The copies of start(). Behind what they use.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_CALL_RESIDUALS_H_

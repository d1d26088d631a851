/// Fails a communicator: ends its operations, and tells the other ranks why.
#ifndef GOSS_LIB_HEALTH_FAILURE_PROPAGATOR_H_
#define GOSS_LIB_HEALTH_FAILURE_PROPAGATOR_H_

#include <cstdint>
#include <functional>

#include "base/log.h"
#include "engine/operation_table.h"
#include "gossamer/status.h"
#include "health/peers.h"
#include "platform/thread_safety.h"

namespace goss {

/// The first error wins: every pending and later operation gets it, here and (through an abort message) on all other
/// ranks. OperationTable::asyncError() is that error. Every function needs the engine's lock.
class FailurePropagator {
 public:
  /// Where a failure was detected.
  enum class Origin : std::uint8_t {
    here, ///< Logged, and sent to all other ranks.
    /// Another rank's abort message: forwarded, because this rank may leave before that rank's messages reach all
    /// ranks.
    elsewhere,
    destroyed, ///< This rank destroys its communicator, which does not concern other ranks.
  };
  /// Lets the transports hand over queued control messages without waiting for `except` (a world rank; -1: none).
  using FlushControl = std::function<void(int except)>;

  /// The arguments outlive it.
  FailurePropagator(const Peers& peers, OperationTable& operations, const base::Log& log, FlushControl flush_control);

  /// Fails the communicator and everything that is active on it.
  void fail(const Status& found, Origin origin) GOSS_ON_LOOP;
  /// Sends `rank` an abort message with the failure.
  void tell(int rank) const GOSS_ON_LOOP { peers_.send(rank, abortMessage()); }
  /// The abort message that tell() sends.
  [[nodiscard]] ControlMessage abortMessage() const GOSS_ON_LOOP;

  /// The communicator is about to fail with `status`, or with a mismatch that says more: whatever else fails it
  /// meanwhile follows from that.
  void expect(const Status& status) GOSS_ON_LOOP { expected_ = status; }
  /// Where failures are logged.
  [[nodiscard]] const base::Log& log() const { return log_; }
  /// Ok: no failure is expected.
  [[nodiscard]] const Status& expected() const GOSS_ON_LOOP { return expected_; }

 private:
  void tellOthers() GOSS_ON_LOOP;
  static void lookOnceMore(Operation& operation) GOSS_ON_LOOP;

  const Peers peers_;
  OperationTable& operations_;
  const base::Log& log_;
  const FlushControl flush_control_;
  Status expected_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_FAILURE_PROPAGATOR_H_

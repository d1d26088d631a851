/// Calls of goss_comm_shrink, which wait for what Shrink agrees on with the other ranks.
#ifndef GOSS_LIB_HEALTH_SHRINK_CALL_H_
#define GOSS_LIB_HEALTH_SHRINK_CALL_H_

#include <cstdint>
#include <functional>

#include "engine/operation_table.h"
#include "gossamer/status.h"
#include "health/failure_detector.h"
#include "health/failure_propagator.h"
#include "health/peers.h"
#include "health/shrink.h"
#include "platform/thread_safety.h"

namespace goss {

/// The calls of one communicator; at most one of them waits.
class ShrinkCalls {
 public:
  /// As Shrink::Hooks::reserve.
  using Reserve = std::function<std::uint32_t(std::uint32_t wanted, unsigned raised)>;

  /// The arguments outlive it.
  ShrinkCalls(const Peers& peers, OperationTable& operations, const FailureDetector& detector,
              FailurePropagator& propagator, Reserve reserve);

  /// Fails the communicator, if it has not failed yet, and returns when an attempt has ended that this call can return.
  /// Threads that shrink the same communicator take turns. Takes the engine's lock. Errors: as Shrink::outcome(); the
  /// operation's, such as timeout; the communicator's first failure, when it is destroyed meanwhile: nothing of it may
  /// be touched afterwards.
  Result<Shrink::Survivors> run(std::int64_t timeout_ms);
  /// Needs the engine's lock.
  [[nodiscard]] Shrink& agreement() GOSS_ON_LOOP { return shrink_; }

 private:
  class Call;
  Status await(Engine::Lock& lock, std::int64_t timeout_ms) GOSS_ON_LOOP;

  const Peers peers_;
  OperationTable& operations_;
  const FailureDetector& detector_;
  FailurePropagator& propagator_;
  Shrink shrink_ GOSS_GUARDED;
  Call* call_ GOSS_GUARDED = nullptr; ///< The call that waits.
};

} // namespace goss

#endif // GOSS_LIB_HEALTH_SHRINK_CALL_H_

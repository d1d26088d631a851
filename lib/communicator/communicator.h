/// A group of ranks with its own order of operations.
#ifndef GOSS_LIB_COMMUNICATOR_COMMUNICATOR_H_
#define GOSS_LIB_COMMUNICATOR_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "boards/board_channel.h"
#include "communicator/lifetime.h"
#include "communicator/requests.h"
#include "communicator/windows.h"
#include "engine/engine.h"
#include "engine/operation_environment.h"
#include "engine/operation_table.h"
#include "health/failure_detector.h"
#include "health/failure_propagator.h"
#include "health/mismatch_finder.h"
#include "health/peers.h"
#include "health/shrink_call.h"
#include "mesh/control.h"
#include "mesh/group.h"
#include "messages/messenger.h"
#include "platform/thread_safety.h"
#include "runner/collective_runner.h"
#include "state/reference_store.h"
#include "world/communicator_events.h"

namespace goss {

class World;

/// Owns the parts of a communicator, which do the work. Thread-safe unless a comment says otherwise.
///
/// Once an operation has failed in a way that leaves the ranks out of step, the communicator has failed: every pending
/// and later operation gets the first error, here and (through an abort message) on all other ranks.
class Communicator final : private OperationHost, private CommunicatorEvents {
 public:
  /// `ranks`: world rank of each rank of the communicator, this process's among them.
  Communicator(std::shared_ptr<World> world, std::uint32_t context, std::vector<int> ranks);
  /// Fails what is pending with GOSS_ERR_ABORTED, waits until the threads that block in its calls have left and no
  /// device or driver works for its operations, and frees the operations that callers still hold.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// While lifetime()->isInherited() holds, the communicator may neither be used nor destroyed.
  [[nodiscard]] const std::shared_ptr<Lifetime>& lifetime() const { return lifetime_; }
  /// The communicator that `operation` belongs to.
  [[nodiscard]] static Communicator& of(const Operation& operation) {
    return static_cast<Communicator&>(operation.host());
  }
  /// The communicator that `window` belongs to.
  [[nodiscard]] static Communicator& of(const Window& window) {
    return static_cast<Communicator&>(window.environment().operations.host());
  }
  [[nodiscard]] int rank() const { return group_.rank(); }
  [[nodiscard]] int size() const { return group_.size(); }
  [[nodiscard]] const Group& group() const { return group_; }
  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] Mesh& mesh() const { return mesh_; }
  [[nodiscard]] std::int64_t defaultTimeoutMs() const { return default_timeout_ms_; }
  /// Name of the transport to `rank`; "self" for this rank.
  [[nodiscard]] std::string transportName(int rank) const;

  /// Runs and starts collectives.
  [[nodiscard]] CollectiveRunner& collectives() { return collectives_; }
  /// Sends, receives and probes.
  [[nodiscard]] Messenger& messages() { return messages_; }
  /// Windows and what is done with them.
  [[nodiscard]] Windows& windows() { return windows_; }
  /// Waits for what these have started.
  [[nodiscard]] Requests& requests() { return requests_; }
  /// Under the engine's lock.
  [[nodiscard]] OperationTable& operations() GOSS_ON_LOOP { return operations_; }
  /// What error feedback keeps in memory of GPUs and of the host. Under the engine's lock.
  [[nodiscard]] DeviceFeedback& deviceFeedback() GOSS_ON_LOOP { return device_feedback_; }

  /// As goss_comm_event_fd.
  Result<int> eventFd();
  /// Ok while the communicator has not failed.
  [[nodiscard]] Status asyncError();
  void abort(const std::string& reason);
  [[nodiscard]] goss_counters counters();
  /// Collective over the remaining ranks: as goss_comm_shrink.
  Result<std::unique_ptr<Communicator>> shrink(std::int64_t timeout_ms);
  /// Collective: split() of MPI. Null for ranks with a negative color.
  Result<std::unique_ptr<Communicator>> split(std::int32_t color, std::int32_t key);

 private:
  void expired(Operation& operation) GOSS_ON_LOOP override;
  void failed(Operation& operation, const Status& status) GOSS_ON_LOOP override;
  void probeDue(Operation& operation, TimePoint now) GOSS_ON_LOOP override;
  void startUnposted(Operation& operation) GOSS_ON_LOOP override;
  void handleControl(int rank, const ControlMessage& message) GOSS_ON_LOOP override;
  void handlePeerLost(int rank, const Status& status, bool departed) GOSS_ON_LOOP override;
  [[nodiscard]] OperationEnvironment environment();
  [[nodiscard]] Planner makePlanner() const;

  const std::shared_ptr<World> world_;
  const std::uint32_t context_;
  const Group group_;
  const std::shared_ptr<Lifetime> lifetime_ = std::make_shared<Lifetime>();
  Engine& engine_; ///< The world's engine.
  Mesh& mesh_;     ///< The world's mesh.
  const std::int64_t default_timeout_ms_;

  // Each part refers to those before it. Guarded by the engine's lock where they do not take it themselves.
  const std::unique_ptr<BoardChannel> boards_; ///< Null where the ranks do not map each other's boards.
  ReferenceStore references_;
  DeviceFeedback device_feedback_{references_};
  OperationTable operations_;
  const Peers peers_;
  FailureDetector detector_;
  FailurePropagator propagator_;
  MismatchFinder mismatches_;
  ShrinkCalls shrink_;
  CollectiveRunner collectives_;
  Messenger messages_;
  Requests requests_;
  Windows windows_;
};

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_COMMUNICATOR_H_

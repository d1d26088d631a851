/// A group of ranks with its own order of operations: where a validated call becomes a planned, numbered, running one.
#ifndef GOSS_LIB_COMMUNICATOR_COMMUNICATOR_H_
#define GOSS_LIB_COMMUNICATOR_COMMUNICATOR_H_

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "boards/board_channel.h"
#include "call/call.h"
#include "engine/blocked_calls.h"
#include "engine/engine.h"
#include "engine/operation_table.h"
#include "execution/execution.h"
#include "execution/idle_list.h"
#include "health/communicator_failure.h"
#include "health/failure_detector.h"
#include "health/mismatch_finder.h"
#include "health/peers.h"
#include "health/shrink_call.h"
#include "mesh/control.h"
#include "mesh/group.h"
#include "messages/messenger.h"
#include "planner/planner.h"
#include "platform/fork.h"
#include "state/reference_store.h"
#include "world/communicator_events.h"

namespace goss {

class MultiPhaseOperation;
class World;

/// Thread-safe where not marked OnLoop; OnLoop functions want the engine's lock.
///
/// Once an operation has failed in a way that leaves the ranks out of step, the communicator has failed: every pending
/// and later operation gets the first error, here and (through an abort message) on all other ranks.
class Communicator final : private OperationHost, private CommunicatorEvents {
 public:
  /// `ranks`: world rank of each rank of the communicator, this process's among them.
  Communicator(std::shared_ptr<World> world, std::uint32_t context, std::vector<int> ranks);
  /// Fails what is pending with GOSS_ERR_ABORTED, waits until the threads that are inside run() or finish() have left,
  /// and frees the operations that callers still hold.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// Whether fork() has copied it into this process: then it may not be used, nor destroyed.
  [[nodiscard]] bool isInherited() const { return made_in_.isInherited(); }
  /// The communicator that `operation` belongs to.
  [[nodiscard]] static Communicator& of(const Operation& operation) {
    return static_cast<Communicator&>(operation.host());
  }
  [[nodiscard]] int rank() const { return group_.rank(); }
  [[nodiscard]] int size() const { return group_.size(); }
  [[nodiscard]] std::uint32_t context() const { return context_; }
  [[nodiscard]] int worldRank(int rank) const { return group_.worldRank(rank); }
  /// -1 when the world rank is not a member.
  [[nodiscard]] int rankOfWorld(int world_rank) const { return group_.rankOfWorld(world_rank); }
  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] Engine& engine() const { return engine_; }
  /// For the operations of this communicator.
  [[nodiscard]] OperationHost& operationHost() { return *this; }
  [[nodiscard]] Mesh& mesh() const { return mesh_; }
  [[nodiscard]] std::int64_t defaultTimeoutMs() const { return default_timeout_ms_; }
  [[nodiscard]] Messenger& messages() { return messenger_; }
  /// Name of the transport to `rank`; "self" for this rank.
  [[nodiscard]] std::string transportName(int rank) const;

  /// Runs a call to its end in this thread.
  Status run(const Call& call);
  /// The same, for a call that cacheCall() may know: without any checking and planning. Nothing: run() it.
  std::optional<Status> runCached(const CallKey& key);
  /// The plain arguments of the call that run() has just ended, without options.
  void cacheCall(const CallKey& key, const Call& call);
  /// Starts a call; `persistent` ones are planned only. The operation is the caller's until finish() or release(), or
  /// until the communicator goes.
  Result<Operation*> start(const Call& call, bool persistent);

  /// Starts an inactive persistent operation.
  Status restart(Operation& operation);
  /// Blocks until the operation is complete and returns its status; `message` (may be null) is written on success. Ends
  /// the operation's life unless it is persistent.
  Status finish(Operation* operation, goss_message* message);
  /// Whether the operation is complete or inactive. Takes a turn of the loop when nobody else does.
  [[nodiscard]] bool test(Operation& operation);
  /// Ends an operation's life: a completed one, or an inactive persistent one.
  void release(Operation* operation);
  /// finish() for each; null ones are skipped. Afterwards all but the persistent ones are null. Returns the first error
  /// in their order.
  static Status finishAll(std::span<Operation*> operations);
  /// finish() for the first completed operation, whose index is written: operations.size() when there is none to wait
  /// for. Blocks until there is one. Errors: as finish(); unsupported, when the operations belong to communicators of
  /// several worlds.
  static Status finishAny(std::span<Operation*> operations, std::size_t& index, goss_message* message);

  /// As goss_comm_event_fd.
  Result<int> eventFd();
  /// The failure of the communicator, or of an operation that a caller holds; ok while there is none.
  [[nodiscard]] Status failure();
  [[nodiscard]] Status failureOf(const Operation& operation);

  void abort(const std::string& reason);
  [[nodiscard]] goss_counters counters();

  /// Collective over the ranks that are left: as goss_comm_shrink.
  Result<std::unique_ptr<Communicator>> shrink(std::int64_t timeout_ms);
  /// Collective: split() of MPI. Null for ranks with a negative color.
  Result<std::unique_ptr<Communicator>> split(std::int32_t color, std::int32_t key);

  /// The links that calls are planned by. Blocks until no operation in phases is active: each phase is planned when it
  /// begins, and those of one operation must not see the links change between them on one rank, and before them on
  /// another.
  schedule::Links linksBetweenPhases();
  /// Later calls, and communicators that split() makes of this one from now on, are planned by `links`, which must be
  /// equal on all ranks. To be called by all of them after the same call, and after linksBetweenPhases().
  void useLinks(schedule::Links links);

  // ---- On the loop ----
  /// The execution of a phase, which startPhaseOnLoop() starts as operation number `place`. `whole` is advanced when it
  /// has completed, and gives it back then.
  Result<std::unique_ptr<Execution>> acquirePhaseOnLoop(const Call& call) { return acquireExecutionOnLoop(call); }
  Status startPhaseOnLoop(Execution& phase, MultiPhaseOperation& whole, std::uint64_t place);
  void endPhaseOnLoop(std::unique_ptr<Execution> phase);
  /// `whole`, an operation in phases, has ended and may have left some of its places unused: a call that another rank
  /// made in one of these places is a mismatch with `whole`.
  void endPhasesOnLoop(const Operation& whole);
  /// Operations in phases hold what is kept of their tensor from start to end; others look at it step by step.
  enum class Holders : std::uint8_t { phased, all };
  /// Whether such an operation is using what is kept of `tensor` (0: of any).
  [[nodiscard]] bool holdsStateOnLoop(std::uint64_t tensor, Holders holders = Holders::phased);
  /// The error of an operation whose tensor another one holds.
  [[nodiscard]] static Status tensorInUse(const Operation& operation);
  void completeOnLoop(Operation& operation, const Status& status) { operations_.completeOnLoop(operation, status); }
  [[nodiscard]] CommunicatorFailure& failing() { return failing_; }
  [[nodiscard]] MismatchFinder& mismatches() { return mismatches_; }
  /// Fails one operation that leaves the communicator usable.
  void failAloneOnLoop(Operation& operation, const Status& status) { operations_.failAloneOnLoop(operation, status); }
  void countSentOnLoop(std::uint64_t bytes) { operations_.counters().wire_bytes_sent += bytes; }
  /// Of those sent: in the peer's result already.
  void countPlacedOnLoop(std::uint64_t bytes) { operations_.counters().placed_bytes += bytes; }
  void countReceivedOnLoop(std::uint64_t bytes) { operations_.counters().wire_bytes_received += bytes; }
  /// What error feedback keeps.
  ReferenceStore& referencesOnLoop() { return references_; }
  /// Of the communicator; ok while it has not failed.
  [[nodiscard]] const Status& failureOnLoop() const { return operations_.failure(); }
  /// Null where the ranks share no boards.
  [[nodiscard]] BoardChannel* boardsOnLoop() const { return flat_.get(); }

 private:
  void expired(Operation& operation) override;
  void probeDue(Operation& operation, TimePoint now) override;
  void startUnposted(Operation& operation) override;
  void handleControl(int rank, const ControlMessage& message) override;
  void handlePeerLost(int rank, const Status& status, bool departed) override;

  /// What a rank says in a split.
  struct SplitEntry {
    std::int32_t color;
    std::int32_t key;
    std::uint32_t next_context;
  };
  Result<bool> proposeContexts(SplitEntry& mine, std::vector<SplitEntry>& all, std::vector<std::int32_t>& colors,
                               std::uint32_t& base);

  class AllBlockedCallsGuard;

  void releaseOnLoop(Operation* operation);
  Result<std::unique_ptr<Execution>> acquireExecutionOnLoop(const Call& call);
  Result<std::unique_ptr<MultiPhaseOperation>> acquirePhasedOnLoop(const Call& call);
  Status runPhased(Engine::Lock& lock, const Call& call);
  void releaseExecution(std::unique_ptr<Execution> execution);
  Status startOnLoop(Operation& operation) { return operations_.startOnLoop(operation); }
  bool tryRunOnLoop(Execution& execution);
  Status finishOnLoop(Operation* operation, goss_message* message);
  static Status finishOfSeveral(std::span<Operation*> operations);
  Status runToEnd(Engine::Lock& lock, std::unique_ptr<Execution> execution);
  void useLinksOnLoop(schedule::Links links);
  /// What was measured is true of a part of the ranks too. Not of those that a failure left over: it may have come
  /// before some ranks knew what was measured.
  void inheritLinksOnLoop(Communicator& child) const;

  const std::shared_ptr<World> world_;
  const std::uint32_t context_;
  const Group group_;
  const platform::ProcessMark made_in_;
  Engine& engine_; ///< Of the world.
  Mesh& mesh_;     ///< Of the world.
  const std::int64_t default_timeout_ms_;

  // Guarded by the engine's lock.
  std::unique_ptr<BoardChannel> flat_;
  Planner planner_;
  bool measured_ = false; ///< The planner's links come from useLinks(), of this communicator or its parent.
  OperationTable operations_;
  BlockedCalls blocked_calls_;
  const Peers peers_;
  FailureDetector detector_;
  CommunicatorFailure failing_;
  MismatchFinder mismatches_;
  ShrinkCalls shrink_;
  /// Calls that were made lately, and the idle execution that is still bound to them if its binding is the same.
  struct CachedCall {
    CallKey key;
    std::unique_ptr<Execution>* idle = nullptr; ///< In idle_executions_.
    std::uint64_t binding = 0;
  };
  static constexpr std::size_t kRecent = 16;
  std::array<CachedCall, kRecent> recent_;
  std::unordered_map<const Plan*, std::unique_ptr<Execution>> idle_executions_; ///< Null while it is in use.
  IdleList<MultiPhaseOperation> idle_phased_;
  ReferenceStore references_;
  SampledDuration board_time_; ///< Of collectives on boards that do not become active.
  Messenger messenger_;
};

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_COMMUNICATOR_H_

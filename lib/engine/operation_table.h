/// Starts, completes and counts the operations of one communicator, and keeps those that callers hold.
#ifndef GOSS_LIB_ENGINE_OPERATION_TABLE_H_
#define GOSS_LIB_ENGINE_OPERATION_TABLE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "call/history.h"
#include "engine/blocked_calls.h"
#include "engine/completion_signal.h"
#include "engine/engine.h"
#include "engine/operation.h"
#include "engine/sampled_duration.h"
#include "gossamer/gossamer.h"

namespace goss {

/// Used under the engine's lock.
class OperationTable {
 public:
  /// For the operations of `host`; engine and host outlive the table.
  OperationTable(Engine& engine, OperationHost& host);

  /// Makes the operation active and starts it. Errors, after which the operation is unchanged: the communicator has
  /// failed, or the operation may not start now.
  Status startOnLoop(Operation& operation);
  /// As startOnLoop(), for a caller that collects the operation later: somebody else must drive it meanwhile.
  Status launchOnLoop(Operation& operation);
  /// Starts the operation and blocks until it is complete. Returns its status, or why it could not start, in which case
  /// it is not complete. `lock` is the engine's, held on entry and on return.
  Status run(Engine::Lock& lock, Operation& operation);
  /// Starts an operation as a phase of `parent`, which has taken `place` in the history and is advanced when the phase
  /// has completed with success.
  Status startPhaseOnLoop(Operation& phase, Operation& parent, std::uint64_t place);
  /// A collective takes its place in the history now, before it starts.
  void numberOnLoop(Operation& operation) {
    operation.numberOnLoop(history_);
    operation.numbered_ = true;
  }
  /// An operation that has taken its place has ended with success, and was never started.
  void countUnstartedOnLoop(Operation& operation, std::chrono::nanoseconds elapsed) {
    operation.numbered_ = false;
    count(operation.payload_bytes, elapsed);
  }
  /// Returns the status of an operation that is not active, and makes it inactive; ok for one that is inactive.
  /// `message` (may be null) is written on success.
  Status collectOnLoop(Operation& operation, goss_message* message);
  /// Ends and counts an active operation; does nothing for other ones.
  void completeOnLoop(Operation& operation, const Status& status);
  /// Fails one operation that leaves the communicator usable.
  void failAloneOnLoop(Operation& operation, const Status& status);

  /// Calls `visit` for each active operation of this communicator; it may complete any of them.
  void forEachActiveOnLoop(const std::function<void(Operation&)>& visit);

  /// Transfers the operation to the caller, until takeBack().
  Operation* handOut(std::unique_ptr<Operation> operation);
  std::unique_ptr<Operation> takeBack(Operation& operation);
  /// Frees the operations that callers still hold.
  void freeHandedOut();

  /// The descriptor that polls readable while operations that started since the first call are complete. Error:
  /// resource.
  Result<int> eventFd();
  /// Whether operations that start now raise the descriptor: eventFd() was called.
  [[nodiscard]] bool signals() const { return signal_ != nullptr; }
  /// The communicator has failed: the descriptor stays readable.
  void signalFailure() {
    if (signal_ != nullptr) signal_->stayRaised();
  }
  /// The caller has collected the completion of `operation`, which signals, or there will be none.
  void unsignal(Operation& operation);

  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] OperationHost& host() const { return host_; }
  /// Why the communicator has failed; ok while it has not.
  [[nodiscard]] const Status& failure() const { return failure_; }
  void setFailure(const Status& failure) { failure_ = failure; }
  /// The threads that block in calls of the communicator.
  [[nodiscard]] BlockedCalls& blockedCalls() { return blocked_calls_; }
  /// The collectives so far.
  [[nodiscard]] History& history() { return history_; }
  [[nodiscard]] goss_counters& counters() { return counters_; }
  /// How long messages take.
  [[nodiscard]] SampledDuration& messageTime() { return message_time_; }
  /// An operation has completed with success.
  void count(std::uint64_t payload_bytes, std::chrono::nanoseconds elapsed) {
    ++counters_.operations;
    counters_.payload_bytes += payload_bytes;
    counters_.busy_ns += static_cast<std::uint64_t>(elapsed.count());
  }

 private:
  Engine& engine_;
  OperationHost& host_;
  BlockedCalls blocked_calls_;
  Status failure_;
  History history_;
  goss_counters counters_{};
  SampledDuration message_time_;
  std::vector<Operation*> handed_out_;       ///< Owned here; callers hold pointers.
  std::unique_ptr<CompletionSignal> signal_; ///< Null until a caller asks for it.
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_OPERATION_TABLE_H_

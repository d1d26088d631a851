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
#include "platform/thread_safety.h"

namespace goss {

/// Used under the engine's lock.
class OperationTable {
 public:
  /// For the operations of `host`; engine and host outlive the table.
  OperationTable(Engine& engine, OperationHost& host);

  /// Makes the operation active and starts it. Errors, after which the operation is unchanged: the communicator has
  /// failed, or the operation may not start now.
  Status startOnLoop(Operation& operation) GOSS_ON_LOOP;
  /// As startOnLoop(), for a caller that collects the operation later: somebody else must drive it meanwhile.
  Status launchOnLoop(Operation& operation) GOSS_ON_LOOP;
  /// Starts the operation and blocks until it is complete. Returns its status, or why it could not start, in which case
  /// it is not complete. `lock` is the engine's, held on entry and on return.
  Status run(Engine::Lock& lock, Operation& operation) GOSS_ON_LOOP;
  /// Starts an operation as a part of `parent`, which is advanced when the part has completed with success, or has
  /// failed alone. Callers know only the parent, and it alone is counted.
  Status startPartOnLoop(Operation& part, Operation& parent) GOSS_ON_LOOP;
  /// As startPartOnLoop(), for a phase of `parent`, which has taken `place` in the history.
  Status startPhaseOnLoop(Operation& phase, Operation& parent, std::uint64_t place) GOSS_ON_LOOP;
  /// A collective takes its place in the history now, before it starts.
  void numberOnLoop(Operation& operation) GOSS_ON_LOOP {
    operation.numberOnLoop(history_);
    operation.numbered_ = true;
  }
  /// Counts an operation that took its place in the history and has ended with success, but was never started.
  void countUnstartedOnLoop(Operation& operation, std::chrono::nanoseconds elapsed) GOSS_ON_LOOP {
    operation.numbered_ = false;
    count(operation.payload_bytes, elapsed);
  }
  /// Returns the status of an operation that is not active, and makes it inactive; ok for one that is inactive.
  /// `message` (may be null) is written on success.
  Status collectOnLoop(Operation& operation, goss_message* message) GOSS_ON_LOOP;
  /// Ends and counts an active operation; does nothing for other ones.
  void completeOnLoop(Operation& operation, const Status& status) GOSS_ON_LOOP;
  /// Withdraws an active operation that has failed, and completes it with `status` as soon as it has left
  /// (Operation::tryLeaveOnLoop()).
  void endOnLoop(Operation& operation, const Status& status) GOSS_ON_LOOP;

  /// Calls `visit` for each active operation of this communicator; it may complete any of them.
  void forEachActiveOnLoop(const std::function<void(Operation&)>& visit) GOSS_ON_LOOP;
  [[nodiscard]] bool isAnyActive() GOSS_ON_LOOP {
    bool any = false;
    forEachActiveOnLoop([&any](const Operation&) { any = true; });
    return any;
  }

  /// Transfers the operation to the caller, until takeBack().
  Operation* handOut(std::unique_ptr<Operation> operation) GOSS_ON_LOOP;
  std::unique_ptr<Operation> takeBack(Operation& operation) GOSS_ON_LOOP;
  /// Destroys an operation that is not active; if it has not left, later.
  void retire(std::unique_ptr<Operation> operation) GOSS_ON_LOOP;
  /// The operations that callers hold.
  [[nodiscard]] const std::vector<Operation*>& handedOut() const GOSS_ON_LOOP { return handed_out_; }
  /// Frees the operations that callers still hold, and those that were retired. Waits without the lock until they have
  /// left; if a device needs longer than 10 s, until no thread is in a driver for them.
  void freeHandedOut(Engine::Lock& lock) GOSS_ON_LOOP;

  /// The descriptor that polls readable while operations that started since the first call are complete. Error:
  /// resource.
  Result<int> eventFd() GOSS_ON_LOOP;
  /// Whether operations that start now raise the descriptor: eventFd() was called.
  [[nodiscard]] bool signals() const GOSS_ON_LOOP { return signal_ != nullptr; }
  /// The communicator has failed: the descriptor stays readable.
  void signalError() GOSS_ON_LOOP {
    if (signal_ != nullptr) signal_->stayRaised();
  }
  /// Stops signalling `operation`: its caller has collected the completion, or no caller will collect it.
  void unsignal(Operation& operation) GOSS_ON_LOOP;

  [[nodiscard]] Engine& engine() const { return engine_; }
  [[nodiscard]] OperationHost& host() const { return host_; }
  /// Why the communicator has failed; ok while it has not.
  [[nodiscard]] const Status& asyncError() const GOSS_ON_LOOP { return async_error_; }
  void setAsyncError(const Status& error) GOSS_ON_LOOP { async_error_ = error; }
  /// The threads that block in calls of the communicator.
  [[nodiscard]] BlockedCalls& blockedCalls() GOSS_ON_LOOP { return blocked_calls_; }
  /// The collectives so far.
  [[nodiscard]] History& history() GOSS_ON_LOOP { return history_; }
  [[nodiscard]] goss_counters& counters() GOSS_ON_LOOP { return counters_; }
  /// How long messages take.
  [[nodiscard]] SampledDuration& messageTime() GOSS_ON_LOOP { return message_time_; }
  /// An operation has completed with success.
  void count(std::uint64_t payload_bytes, std::chrono::nanoseconds elapsed) GOSS_ON_LOOP {
    ++counters_.operations;
    counters_.payload_bytes += payload_bytes;
    counters_.busy_ns += static_cast<std::uint64_t>(elapsed.count());
  }

 private:
  void freeRetired() GOSS_ON_LOOP;

  Engine& engine_;
  OperationHost& host_;
  BlockedCalls blocked_calls_ GOSS_GUARDED;
  Status async_error_ GOSS_GUARDED;
  History history_ GOSS_GUARDED;
  goss_counters counters_ GOSS_GUARDED{};
  SampledDuration message_time_ GOSS_GUARDED;
  std::vector<Operation*> handed_out_ GOSS_GUARDED;              ///< Owned here; callers hold pointers.
  std::vector<std::unique_ptr<Operation>> retired_ GOSS_GUARDED; ///< Those that had not left.
  std::unique_ptr<CompletionSignal> signal_ GOSS_GUARDED;        ///< Null until a caller asks for it.
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_OPERATION_TABLE_H_

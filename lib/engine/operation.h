/// One started (or persistent, not yet started) operation: what a goss_request_t points to.
#ifndef GOSS_LIB_ENGINE_OPERATION_H_
#define GOSS_LIB_ENGINE_OPERATION_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/operation_host.h"
#include "gossamer/message.h"
#include "gossamer/status.h"
#include "platform/thread_safety.h"

namespace goss {

class History;
class StreamOrdered;

/// States, all transitions under the engine's lock:
///   inactive --start--> active --complete--> complete --wait (persistent)--> inactive
/// A failed operation stays active while a device still uses its memory, but does nothing (isEnding()).
/// An operation completes exactly once per start, with a Status.
class Operation {
 public:
  enum class State : std::uint8_t { inactive, active, complete };

  /// Scope of the operation's failure: the communicator, or only the operation.
  enum class Failure : std::uint8_t { ofAll, alone };

  explicit Operation(OperationHost& host, Failure failure = Failure::ofAll)
      : host_(host), fails_alone_(failure == Failure::alone) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Posts everything that can be posted. The host has set the state to active.
  virtual void startOnLoop() GOSS_ON_LOOP = 0;
  /// Runs the steps that became possible since the last call; the engine calls it after transports progressed and the
  /// operation asked for it.
  virtual void advanceOnLoop() GOSS_ON_LOOP = 0;
  /// Polls for events that no transport reports, for operations that asked the engine for it. Returns whether there was
  /// one.
  virtual bool pollOnLoop() GOSS_ON_LOOP { return false; }
  /// Whether an operation that is polled waits for a device: no descriptor tells when that is done.
  [[nodiscard]] virtual bool waitsForDevice() const { return false; }
  /// Completes the operation if everything that it waits for has arrived, without a turn of the loop. Called before
  /// another rank's abort ends it, because that rank may have completed the operation.
  virtual void lookOnceMoreOnLoop() GOSS_ON_LOOP {}
  /// Whether the results have arrived and only this rank's device still works on them: then the operation survives
  /// another rank's abort.
  [[nodiscard]] virtual bool hasResultsOnLoop() const GOSS_ON_LOOP { return false; }
  /// Cancels everything at the transports; afterwards they do not touch the operation's buffers.
  virtual void withdrawOnLoop() GOSS_ON_LOOP = 0;
  /// Called after withdrawOnLoop(), again and again until it returns true: no device, and no thread that is in a
  /// driver, uses the operation's memory or its caller's any more. Never waits.
  virtual bool tryLeaveOnLoop() GOSS_ON_LOOP { return true; }
  /// A text for reports: "all_reduce(sum) of 8 float32".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// Ranks of the communicator whose messages this operation is waiting for.
  [[nodiscard]] virtual std::vector<int> waitingForRanks() const GOSS_ON_LOOP = 0;
  /// The ranks that are asked for signs of life while this rank waits for waitingForRanks(): these at least.
  [[nodiscard]] virtual std::vector<int> ranksToProbe() const GOSS_ON_LOOP { return waitingForRanks(); }
  /// A collective takes its place, or places, in `history`, behind those that were started before. Called once before
  /// startOnLoop(), unless the operation was given its place.
  virtual void numberOnLoop(History& history) GOSS_ON_LOOP { (void)history; }
  /// From numberOnLoop() on: the envelope that the other ranks' call must have too. Null for point-to-point messages,
  /// and for operations of which other ranks see only the phases.
  [[nodiscard]] virtual const Envelope* envelope() const { return nullptr; }
  /// Called as often as the awaited ranks are probed.
  virtual void remindOnLoop() GOSS_ON_LOOP {}
  /// Whether the operation survives a failure of the communicator, and may start after one.
  [[nodiscard]] virtual bool outlivesFailure() const { return false; }
  /// Whether the operation may start now; else the error of that call, which changes nothing. Not called where the
  /// operation fails alone.
  [[nodiscard]] virtual Status mayStartOnLoop() const GOSS_ON_LOOP { return Status::ok(); }
  /// The tensor whose kept state the operation uses while it is active; 0: none.
  [[nodiscard]] virtual std::uint64_t keptTensor() const { return 0; }
  /// Number of encodings with the error feedback of keptTensor() that are left: those of sums if `of_sum`, else those
  /// of this rank's own contribution. 0 for a multi-phase operation, whose codec keeps its own state.
  [[nodiscard]] virtual std::uint64_t encodingsLeft(bool of_sum) const { return static_cast<void>(of_sum), 0; }
  /// Whether it is a MultiPhaseOperation or a TrialOperation, whose executions are planned after its start.
  [[nodiscard]] virtual bool isPhased() const { return false; }
  /// Whether it is a TrialOperation.
  [[nodiscard]] virtual bool isTrial() const { return false; }
  /// The work that the starting thread must enqueue on the caller's stream; null: the call runs in no stream.
  [[nodiscard]] virtual StreamOrdered* streamOrdered() { return nullptr; }
  /// Whether a failure leaves the communicator usable.
  [[nodiscard]] bool failsAlone() const { return fails_alone_; }

  [[nodiscard]] State state() const { return state_; }
  /// An operation that is not active may start again, by itself and not as a part.
  void setInactive() {
    state_ = State::inactive;
    parent_ = nullptr;
  }
  /// Whether another operation waits for it.
  [[nodiscard]] bool isPart() const { return parent_ != nullptr; }
  /// Whether it stands for any number of sends that were over at once.
  [[nodiscard]] bool isAlwaysComplete() const { return owner_ == Owner::fixed; }
  [[nodiscard]] const Status& status() const { return status_; }
  /// Whether the active operation has failed and been withdrawn, and completes when tryLeaveOnLoop() returns true.
  [[nodiscard]] bool isEnding() const { return ending_; }
  /// The communicator that this operation belongs to.
  [[nodiscard]] OperationHost& host() const { return host_; }

  [[nodiscard]] TimePoint deadline() const { return deadline_; }
  /// Sets the deadline of an active operation to `latest`, if that is earlier.
  void endBefore(TimePoint latest) { deadline_ = std::min(deadline_, latest); }
  /// When the host is to probe next the ranks that this operation waits for.
  void setNextProbe(TimePoint time) { next_probe_ = time; }

  std::int64_t timeout_ms = 0; ///< From start to expiry; set before start.
  /// Number among the communicator's collectives; the first if the operation takes several.
  std::uint64_t sequence = 0;
  std::uint64_t payload_bytes = 0; ///< Bytes that the counters add.
  bool persistent = false;
  goss_message message{-1, 0, 0}; ///< Result of a completed receive.

 private:
  friend class ActiveOperations;
  friend class Engine;
  friend class OperationTable;
  friend class Messenger; // Its pool.
  friend class UnpostedReceives;

  /// Where the operation is kept while it is idle.
  enum class Owner : std::uint8_t {
    caller, ///< Freed, or kept by its creator.
    pool,   ///< The communicator's idle messages.
    fixed,  ///< It stands for any number of sends that completed at once, and stays complete.
  };

  OperationHost& host_;
  const bool fails_alone_;
  State state_ = State::inactive;
  Status status_;
  TimePoint started_{};
  TimePoint deadline_{};
  TimePoint next_probe_{};
  /// Link of the engine's list of active operations, of unposted receives, or of idle ones.
  Operation* active_next_ = nullptr;
  Operation* active_previous_ = nullptr;
  /// The operation of which this is a part; it is advanced when this one has completed.
  Operation* parent_ = nullptr;
  std::size_t handed_out_at_ = 0;   ///< Index in the list of operations that callers hold.
  Operation* dirty_next_ = nullptr; ///< Link of the engine's list of operations to advance.
  bool dirty_ = false;
  bool numbered_ = false; ///< The sequence number for the next start is set.
  bool polled_ = false;   ///< The operation is in the engine's list of operations to poll.
  bool ending_ = false;   ///< isEnding(); deadline_ is then when it completes at the latest.
  bool timed_ = true;     ///< started_ is exact.
  Owner owner_ = Owner::caller;
  bool unposted_ = false; ///< An unposted receive of the engine: active, but not started.
  /// The communicator's event descriptor counts this operation's completion, until the caller collects it.
  bool signalled_ = false;
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_OPERATION_H_

/// What callers do with the operations of one communicator that they have started.
#ifndef GOSS_LIB_COMMUNICATOR_REQUESTS_H_
#define GOSS_LIB_COMMUNICATOR_REQUESTS_H_

#include <optional>
#include <span>
#include <vector>

#include "engine/operation_table.h"
#include "gossamer/gossamer.h"
#include "gossamer/status.h"
#include "messages/messenger.h"
#include "platform/thread_safety.h"
#include "runner/collective_runner.h"

namespace goss {

/// Thread-safe where not marked OnLoop; OnLoop functions need the engine's lock. The operations are those that
/// Messenger::start() and CollectiveRunner::start() return.
class Requests {
 public:
  /// The arguments outlive it.
  Requests(OperationTable& operations, Messenger& messages, CollectiveRunner& collectives)
      : operations_(operations), messages_(messages), collectives_(collectives) {}

  /// Starts an inactive persistent operation; `in_group`: the calling thread has an open group.
  Status restart(Operation& operation, bool in_group);
  /// Takes over an operation that is a part of its caller's stream, for which nobody will wait. Returns its failure, if
  /// it has failed already.
  Status detach(Operation& operation);
  /// Blocks until the operation is complete and returns its status; `message` (may be null) is written on success. Ends
  /// the operation's life unless it is persistent.
  Status finish(Operation& operation, goss_message* message);
  /// As finish(), but if the operation is still active at `limit`, returns nullopt, and the operation continues.
  std::optional<Status> finishBefore(Operation& operation, goss_message* message, TimePoint limit);
  /// Whether the operation is complete or inactive. Takes a turn of the loop when no other thread drives it.
  [[nodiscard]] bool test(Operation& operation);
  /// Ends an operation's life: a completed one, or an inactive persistent one. One of an open group lives on until that
  /// ends.
  void release(Operation& operation);
  /// The failure of an operation that a caller holds; ok while there is none.
  [[nodiscard]] Status failureOf(const Operation& operation);

  /// As finish(), of an operation that is not active.
  Status finishOnLoop(Operation& operation, goss_message* message) GOSS_ON_LOOP;
  /// finish() for each, which are of this communicator or null. Afterwards all but the persistent ones are null.
  /// Returns the first error in their order.
  Status finishAll(std::span<Operation*> operations);
  /// Enqueues the gates of calls in open groups. For the communicator's destructor, when no other thread
  /// uses it.
  void enqueueRest();
  [[nodiscard]] OperationTable& operations() { return operations_; }

 private:
  void releaseOnLoop(Operation& operation) GOSS_ON_LOOP;
  void endOnLoop(Operation& operation) GOSS_ON_LOOP;

  OperationTable& operations_;
  Messenger& messages_;
  CollectiveRunner& collectives_;
  std::vector<Operation*> detached_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_REQUESTS_H_

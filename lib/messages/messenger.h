/// The messages of a communicator: starts sends and receives, and probes.
#ifndef GOSS_LIB_MESSAGES_MESSENGER_H_
#define GOSS_LIB_MESSAGES_MESSENGER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gossamer/short_messages.h"
#include "messages/device_message.h"
#include "messages/message_context.h"
#include "messages/point_to_point.h"
#include "platform/thread_safety.h"

namespace goss {

/// Most short messages complete within the call, without an operation. Thread-safe where not marked OnLoop; OnLoop
/// functions need the engine's lock.
class Messenger {
 public:
  explicit Messenger(const OperationEnvironment& environment);

  /// Sends or receives in this thread. `message` (may be null) is written on success.
  Status run(const MessageCall& call, goss_message* message);
  /// Starts a call; a persistent call is only created. The caller owns the operation until releaseOnLoop(), or until
  /// the communicator is destroyed. Sends that completed at once may have equal handles. Null: `error` says why.
  Operation* start(const MessageCall& call, bool persistent, Status& error);

  /// As start(), for device memory.
  Result<Operation*> startOnDevice(const MessageCall& call, const MessageDevice& device, bool persistent);
  /// The device from which an earlier message to the same rank with the same tag is still on its way; -1: there is
  /// none.
  int deviceBefore(const MessageCall& call);

  /// Whether a message has arrived that a receive of this pattern would get; takes a turn of the loop when no other
  /// thread drives it.
  Result<bool> probeNow(const Pattern& pattern, goss_message& found);
  /// Blocks until there is such a message. `timeout_ms` 0: the communicator's.
  Status probe(const Pattern& pattern, std::int64_t timeout_ms, goss_message& found);

  /// Receives for unposted operations of the engine, in their order, until `last`, which is active, has its message.
  /// False: the message does not come, or `last` is none of them. They are all of one communicator, and from one peer.
  bool receiveUnpostedUntilOnLoop(const Operation& last) GOSS_ON_LOOP;
  /// An unposted receive becomes an ordinary operation.
  void startUnpostedOnLoop(Operation& operation) GOSS_ON_LOOP;
  /// Ends the caller's use of an operation that start() returned, and that is not active.
  void releaseOnLoop(Operation& operation) GOSS_ON_LOOP;
  /// Releases an operation of the pool that has completed with success. False: it is no such operation.
  bool tryReleaseOnLoop(Operation& operation) GOSS_ON_LOOP {
    const bool good = operation.owner_ == Operation::Owner::pool && operation.state_ == Operation::State::complete &&
                      operation.status_.isOk();
    if (good) putBackOnLoop(operation);
    return good;
  }

 private:
  void putBackOnLoop(Operation& operation) GOSS_ON_LOOP {
    if (operation.signalled_) context_.operations.unsignal(operation);
    operation.state_ = Operation::State::inactive;
    operation.active_next_ = idle_;
    idle_ = &operation;
  }
  bool tryRunOnLoop(MessageOperation& message) GOSS_ON_LOOP;
  TryResult trySendOnLoop(const MessageCall& call) GOSS_ON_LOOP;
  TryResult tryRecvOnLoop(const MessageCall& call, int looks, std::size_t& received) GOSS_ON_LOOP;
  TryResult tryRecvOnLoop(ShortMessages& way, const MessageCall& call, int looks, std::size_t& received) GOSS_ON_LOOP;
  TryResult tryStartOnLoop(const MessageCall& call, std::size_t& received) GOSS_ON_LOOP;
  Operation* startBoundOnLoop(MessageOperation& operation, Status& error) GOSS_ON_LOOP;
  MessageOperation* takeOnLoop() GOSS_ON_LOOP;

  MessageContext context_;
  std::vector<std::unique_ptr<MessageOperation>> pool_ GOSS_GUARDED; ///< Recycled operations.
  Operation* idle_ GOSS_GUARDED = nullptr;                           ///< The first of those that are not in use.
  MessageOperation sent_{context_}; ///< The request of all sends that are over at once.
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_MESSENGER_H_

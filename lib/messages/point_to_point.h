/// Send and receive: one message each, matched by (peer, tag) in order.
#ifndef GOSS_LIB_MESSAGES_POINT_TO_POINT_H_
#define GOSS_LIB_MESSAGES_POINT_TO_POINT_H_

#include <cstdint>

#include "engine/operation.h"
#include "messages/message_context.h"
#include "platform/thread_safety.h"

namespace goss {

/// A validated goss_send or goss_recv.
struct MessageCall {
  bool sends = true;
  void* buffer = nullptr; ///< Only read when `sends`.
  std::uint64_t count = 0;
  DType dtype = GOSS_INT8;
  int peer = -1;        ///< Rank in the communicator; may be this rank; for a receive also GOSS_ANY_SOURCE.
  std::int32_t tag = 0; ///< For a receive also GOSS_ANY_TAG.
  std::int64_t timeout_ms = 0;

  /// Whether this is a receive from any rank, or of any tag.
  [[nodiscard]] bool isWild() const { return peer < 0 || tag < 0; }
};

/// One message. A failure that concerns only this message (truncation, dtype, deadline) leaves the communicator usable.
class MessageOperation final : public Operation, public QueuedReceive, private SendOperation, private RecvOperation {
 public:
  /// bind() must follow.
  explicit MessageOperation(MessageContext& context);
  MessageOperation(MessageContext& context, const MessageCall& call);
  ~MessageOperation() override;
  /// Prepares the operation for another message, when the last one is over.
  void bind(const MessageCall& call) {
    bindLightly(call);
    bindRest();
  }
  /// The part of bind() that suffices as long as transports do not know the message.
  void bindLightly(const MessageCall& call);
  void bindRest();
  /// Whether the message has two ends in different ranks and no earlier receive may claim it: then it may complete
  /// without the loop.
  [[nodiscard]] bool mayEndAtOnceOnLoop() const GOSS_ON_LOOP;
  /// Starts the message without making it an operation of the loop, and looks up to `looks` times whether it has come.
  /// True: it is complete, with success. False: OperationTable::startOnLoop() must follow, and goes on from here.
  bool tryRunOnLoop(int looks) GOSS_ON_LOOP;

  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override;
  bool pollOnLoop() GOSS_ON_LOOP override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;

  [[nodiscard]] Pattern pattern() const override { return {call_.peer, call_.tag}; }
  void takeOnLoop(const goss_message& found) GOSS_ON_LOOP override;
  void giveBackOnLoop() GOSS_ON_LOOP override;
  void giveUpOnLoop(const Status& why) GOSS_ON_LOOP override;

  [[nodiscard]] const MessageCall& call() const { return call_; }

 private:
  void aimAt(int peer, std::int32_t tag);
  void postOnLoop() GOSS_ON_LOOP;
  void postToPeerOnLoop() GOSS_ON_LOOP;
  void postToSelfOnLoop() GOSS_ON_LOOP;
  /// This receive and `send` complete with each other.
  void takeFromSelfOnLoop(MessageOperation& send) GOSS_ON_LOOP;
  void queueOnLoop() GOSS_ON_LOOP;
  void takeBackOnLoop() GOSS_ON_LOOP;
  void onTakenBack() GOSS_ON_LOOP override;
  void onSent(const Status& status) GOSS_ON_LOOP override;
  Status onMatched(const Envelope& received, std::size_t length) GOSS_ON_LOOP override;
  void onReceived(const Status& status) GOSS_ON_LOOP override;
  /// World rank of the sender of the message that this receive is posted for; -1: none.
  [[nodiscard]] int senderInWorld() const;
  void ended(const Status& status) GOSS_ON_LOOP;

  MessageContext& context_;
  MessageCall call_;
  iovec piece_;
  int peer_ = -1;        ///< Rank whose message this operation is posted for.
  std::int32_t tag_ = 0; ///< Tag of that message.
  bool posted_ = false;
  bool ended_ = false;
  bool taken_back_ = false; ///< The sender has cancelled its message: a wildcard receive looks for another one.
  bool at_once_ = false;    ///< tryRunOnLoop() has started it, and the loop does not know it.
  Status result_;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_POINT_TO_POINT_H_

/// The sending half of a link that sends one frame after the other.
#ifndef GOSS_TRANSPORTS_COMMON_MULTIPART_OUTBOX_H_
#define GOSS_TRANSPORTS_COMMON_MULTIPART_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/multipart_recvs.h"
#include "transports/common/multipart_sends.h"
#include "transports/common/operation_list.h"

namespace goss::transports {

/// Frames without payload by which the two halves of a link control the flow of messages.
struct ControlFrame {
  enum class Kind {
    grant,  ///< To the sender of the message `number` in parts: send all of it.
    skip,   ///< To the sender of the message `number` in parts: drop the bytes that were to wait for a grant.
    cut,    ///< The sender has cancelled message `number`: no more of it comes.
    credit, ///< The flow of `tag` has `number` bytes of credit again.
  };
  Kind kind = Kind::grant;
  std::uint64_t number = 0;
  Tag tag = 0;
};

/// Chooses what is sent next: control frames, then messages with kUrgentTag, then headers and short messages
/// alternating with parts, so that neither waits for all of the other. The derived link says how a frame is sent. One
/// thread; only run() and fail() call operations back.
class MultipartOutbox {
 public:
  MultipartOutbox(const MultipartOutbox&) = delete;
  MultipartOutbox& operator=(const MultipartOutbox&) = delete;

  /// As Transport::send; `now`: frames may be sent.
  bool post(SendOperation& operation, bool now);
  /// As Transport::cancel.
  void cancel(SendOperation& operation);
  void tell(const ControlFrame& frame);
  /// Sends the answers and the credit that the receiving half owes the peer.
  void tellOf(MultipartRecvs& recvs);
  /// The peer has answered the message `number` in parts: it wants all of it, or no more than goes without a grant.
  void onAnswer(std::uint64_t number, bool wanted);
  /// The peer has released `cost` bytes of credit for messages of the flow of `tag`.
  void onReturned(Tag tag, std::uint64_t cost) { sends_.giveBack(tag, cost); }

  /// Sends frames while the link has space. Returns whether a frame was sent or an operation completed.
  bool run();
  /// Whether no frame is to be sent, whatever space there is, and no operation is to be completed.
  [[nodiscard]] bool isIdle() const { return idle_; }
  /// Whether run() would do anything.
  [[nodiscard]] bool hasWork() const;
  /// Whether the next bytes of a message that has begun may be sent.
  [[nodiscard]] bool isInMessage() const { return sends_.next() != nullptr; }
  /// Completes all operations with `status`.
  void fail(const Status& status);

 protected:
  MultipartOutbox() = default;
  ~MultipartOutbox() = default;

  /// Value of SendOperation::hook.extra: the message takes another way than frames and completes by it.
  static constexpr std::uint64_t kElsewhere = 2;

  /// Whether there is space for a frame with payload of a message, or a part, of so many bytes.
  [[nodiscard]] virtual bool hasRoom(std::uint64_t bytes) const = 0;
  enum class Elsewhere { no, full, taken };
  /// Whether a message is sent another way than by frames; `full`: it is, once that way has space.
  virtual Elsewhere sendElsewhere(SendOperation& operation) {
    (void)operation;
    return Elsewhere::no;
  }
  /// Whether a message is short enough for one frame and may be sent now; then this takes its credit, if it costs any.
  virtual bool goesWhole(const SendOperation& operation) = 0;
  // run() calls the next three only after hasRoom() has said that the frame fits.
  virtual void write(const ControlFrame& frame) = 0;
  virtual void writeWhole(const SendOperation& operation) = 0;
  /// Sends the next bytes of `send` that may go, at most as many as fit, behind the header where this is the `first`
  /// frame of it. Moves send.rest; returns how many bytes were sent.
  virtual std::size_t writePart(const SendOperation& operation, MultipartSend& send, bool first) = 0;

  MultipartSends sends_;

 private:
  // SendOperation::hook.extra says where the operation is: in no list, in a list, elsewhere, or the address of its
  // Open.
  static constexpr std::uint64_t kNowhere = 0;
  static constexpr std::uint64_t kQueued = 1;

  struct Open : MultipartSend {
    SendOperation* operation = nullptr; ///< Null: the message is complete or cancelled.
  };
  using List = OperationList<SendOperation>;
  enum class Launched { blocked, whole, begun, elsewhere };

  [[nodiscard]] List& listOf(const SendOperation& operation) { return operation.tag == kUrgentTag ? urgent_ : queue_; }
  Launched launch(SendOperation& operation);
  bool sendNext();
  bool sendFront(List& list);
  void sendPart(Open& open, bool first);
  Open& takeOpen(SendOperation& operation);
  /// Removes the entry and returns its operation.
  SendOperation& close(Open& open);
  [[nodiscard]] bool partsAreNext() const {
    return sends_.next() != nullptr && (header_was_last_ || queue_.empty()) && urgent_.empty();
  }

  std::deque<ControlFrame> controls_;
  List urgent_; ///< Not begun yet.
  List queue_;  ///< Not begun yet.
  std::vector<std::unique_ptr<Open>> all_;
  std::vector<Open*> free_;
  std::vector<Open*> answered_; ///< Sent and answered, waiting for run() to complete them.
  bool header_was_last_ = false;
  bool idle_ = true;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MULTIPART_OUTBOX_H_

/// The sending half of a link over which one frame goes after the other.
#ifndef GOSS_TRANSPORTS_COMMON_PARTED_OUTBOX_H_
#define GOSS_TRANSPORTS_COMMON_PARTED_OUTBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/operation_list.h"
#include "transports/common/parted_recvs.h"
#include "transports/common/parted_sends.h"

namespace goss::transports {

/// What the two halves of links tell each other beside messages.
struct ControlFrame {
  enum class Kind {
    grant,  ///< To the sender of message `number` of those in parts: send all of it.
    skip,   ///< To the same: nobody wants more of it than was to come without a grant.
    cut,    ///< No more of message `number` comes: its sender has taken it back.
    credit, ///< The flow of `tag` has `number` bytes of credit again.
  };
  Kind kind = Kind::grant;
  std::uint64_t number = 0;
  Tag tag = 0;
};

/// Chooses what goes next: control frames, then messages with kUrgentTag, then headers and short messages in turn with
/// parts, so that neither waits for all of the other. How a frame goes is the link's, which derives from this. One
/// thread; only run() and fail() call operations back.
class PartedOutbox {
 public:
  PartedOutbox(const PartedOutbox&) = delete;
  PartedOutbox& operator=(const PartedOutbox&) = delete;

  /// As Transport::send; `now`: frames may go.
  bool post(SendOperation& operation, bool now);
  /// As Transport::cancel.
  void cancel(SendOperation& operation);
  void tell(const ControlFrame& frame);
  /// What the peer is to know of its messages.
  void tellOf(PartedRecvs& recvs);
  /// The peer has answered a message that goes in parts: it wants all of it, or no more than goes without a grant.
  void onAnswer(std::uint64_t number, bool wanted);
  /// The peer has so much room again for messages of the flow of `tag`.
  void onReturned(Tag tag, std::uint64_t cost) { sends_.giveBack(tag, cost); }

  /// Sends what there is room for. Returns whether a frame went or an operation was completed.
  bool run();
  /// There is nothing to be sent now, whatever room there were, and nothing to be completed.
  [[nodiscard]] bool isIdle() const { return idle_; }
  /// run() would do something.
  [[nodiscard]] bool hasWork() const;
  /// Bytes of a message, of which others have left, may leave.
  [[nodiscard]] bool isInMessage() const { return sends_.next() != nullptr; }
  /// Completes everything with `status`.
  void fail(const Status& status);

 protected:
  PartedOutbox() = default;
  ~PartedOutbox() = default;

  /// A message took another way, and completes by it; SendOperation::hook.extra says so.
  static constexpr std::uint64_t kElsewhere = 2;

  /// Whether there is room for a frame with payload of a message, or a part, of so many bytes.
  [[nodiscard]] virtual bool hasRoom(std::uint64_t bytes) const = 0;
  enum class Elsewhere { no, full, taken };
  /// Whether a message takes another way; full: it does, when that has room.
  virtual Elsewhere sendElsewhere(SendOperation& operation) {
    (void)operation;
    return Elsewhere::no;
  }
  /// Whether a message is short enough to go in one frame, and may; then that takes its credit, if it costs some.
  virtual bool goesWhole(const SendOperation& operation) = 0;
  // run() calls these three only after hasRoom() has said that the frame fits.
  virtual void write(const ControlFrame& frame) = 0;
  virtual void writeWhole(const SendOperation& operation) = 0;
  /// The next bytes of `send` that may go, but at most so many as fit, behind the header where this is the `first`
  /// frame of it. Moves send.rest; returns how many went.
  virtual std::size_t writePart(const SendOperation& operation, PartedSend& send, bool first) = 0;

  PartedSends sends_;

 private:
  // SendOperation::hook.extra says where the operation is: nowhere, in a list, elsewhere, or the address of its Open.
  static constexpr std::uint64_t kNowhere = 0;
  static constexpr std::uint64_t kQueued = 1;

  struct Open : PartedSend {
    SendOperation* operation = nullptr; ///< Null: it is over.
  };
  using List = OperationList<SendOperation>;
  enum class Launched { blocked, whole, begun, elsewhere };

  [[nodiscard]] List& listOf(const SendOperation& operation) { return operation.tag == kUrgentTag ? urgent_ : queue_; }
  Launched launch(SendOperation& operation);
  bool sendNext();
  bool sendFront(List& list);
  void sendPart(Open& open, bool first);
  Open& takeOpen(SendOperation& operation);
  /// Returns its operation.
  SendOperation& close(Open& open);
  [[nodiscard]] bool partsAreNext() const {
    return sends_.next() != nullptr && (header_was_last_ || queue_.empty()) && urgent_.empty();
  }

  std::deque<ControlFrame> controls_;
  List urgent_; ///< Not begun.
  List queue_;  ///< Not begun.
  std::vector<std::unique_ptr<Open>> all_;
  std::vector<Open*> free_;
  std::vector<Open*> answered_; ///< Are over, and to be completed.
  bool header_was_last_ = false;
  bool idle_ = true;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PARTED_OUTBOX_H_

/// The messages to one peer, on their way into its connections.
#ifndef GOSS_TRANSPORTS_TCP_OUTFLOW_H_
#define GOSS_TRANSPORTS_TCP_OUTFLOW_H_

#include <memory>
#include <span>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/operation_list.h"
#include "transports/common/piece_cursor.h"
#include "transports/common/remainder.h"
#include "transports/tcp/connection.h"
#include "transports/tcp/wire.h"

namespace goss::transports::tcp {

/// Messages leave in order, one at a time. connections[0] carries the frames and their payload; the payload of large
/// messages goes round connections[1..] where there are any, and each of these moves on as fast as it can. One thread.
/// Bytes go from the caller's pieces to the system without a copy in between.
class Outflow {
 public:
  /// The connections outlive this and are open before the first post().
  explicit Outflow(std::vector<Connection>& connections) : connections_(connections) {}

  /// Writes what it can at once. True: all of it, the operation is complete.
  bool post(SendOperation& operation);
  /// Writes more; completes operations with onSent(). To be called out of progress(). Returns whether bytes moved.
  bool flush();
  /// What is partly on the wire goes on as a copy. False: it cannot, and the stream cannot go on.
  bool cancel(SendOperation& operation);
  /// Completes every operation with `status`.
  void fail(const Status& status);
  [[nodiscard]] bool isEmpty() const { return queue_.empty() && !connections_[0].hasOutput(); }
  /// Makes the peer's system say whether its process still has the connection. False: the stream is spoilt.
  bool probe();
  /// Says goodbye, once, if the stream stands between two messages, as far as it has room; nothing may be posted
  /// afterwards.
  void goodbye();
  [[nodiscard]] bool hasSaidGoodbye() const { return said_goodbye_ && frame_left_ == 0; }
  [[nodiscard]] bool hasMessages() const { return !queue_.empty(); }

 private:
  enum class Progress { done, blocked, broken };
  /// One payload connection's share of the message under way.
  struct Share {
    PieceCursor cursor;
    std::uint64_t at = 0;          ///< Of the cursor, in the message.
    std::uint64_t left = 0;        ///< Of this message.
    std::size_t left_in_piece = 0; ///< Until the cursor skips what the others send.
  };

  void begin(const SendOperation& operation);
  bool continueAsCopy(SendOperation& operation);
  void pace(const SendOperation& operation);
  void beginShares(const SendOperation& operation);
  Progress writeHead();
  Progress writeFrame();
  Progress writeShare(std::size_t index);

  std::vector<Connection>& connections_;
  OperationList<SendOperation> queue_; ///< The first is under way.
  FrameBytes frame_{};
  std::size_t frame_left_ = 0;
  PieceCursor cursor_; ///< Payload that follows the frame on connection 0.
  std::uint64_t payload_left_ = 0;
  std::vector<Share> shares_;  ///< By payload connection.
  std::size_t next_share_ = 0; ///< Whose turn the next striped message begins with.
  bool striped_ = false;
  std::uint64_t unpaced_bytes_ = 0;      ///< Of messages since the last one with a pace.
  std::unique_ptr<Remainder> remainder_; ///< When it is the first of the queue.
  bool moved_ = false;
  bool said_goodbye_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_OUTFLOW_H_

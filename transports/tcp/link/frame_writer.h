/// Writes the messages for one peer into its connections.
#ifndef GOSS_TRANSPORTS_TCP_LINK_FRAME_WRITER_H_
#define GOSS_TRANSPORTS_TCP_LINK_FRAME_WRITER_H_

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/credit.h"
#include "transports/common/operation_list.h"
#include "transports/common/piece_cursor.h"
#include "transports/common/remainder.h"
#include "transports/tcp/link/connection.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// Headers are sent in order. A short message is sent with its header if there is credit for it; any other is
/// announced, and sent in chunks when its receiver has granted it, except for the bytes that the credit allows at once.
/// More urgent frames are sent between two chunks: frames that answer the peer, then messages with kUrgentTag, then
/// headers and short messages in turn with chunks. connections[0] carries the frames and their payload; the payload of
/// large messages goes round connections[1..] where there are any, and each of these advances at its own speed. Bytes
/// go from the caller's pieces to the system without a copy in between. One thread.
class FrameWriter {
 public:
  /// Bytes of a message that are sent before it is granted: enough to fill the path until the grant arrives.
  static constexpr std::size_t kMinEagerBytes = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kMaxEagerBytes = std::size_t{32} * 1024 * 1024;

  /// The connections outlive this and are open before the first post().
  FrameWriter(std::vector<Connection>& connections, std::size_t eager_bytes)
      : connections_(connections), eager_bytes_(eager_bytes), payload_chunks_(connections.size() - 1) {}

  /// Writes what it can at once. True: it wrote the whole message, and the operation is complete.
  bool post(SendOperation& operation);
  /// As post(), but flush() writes it.
  void add(SendOperation& operation);
  /// Writes more; completes operations with onSent(). Called out of progress(). Returns whether bytes moved.
  bool flush();
  /// Cancels a send. A chunk that is partly on the wire continues as a copy, and the rest is withdrawn. False: memory
  /// is short, and the stream cannot go on.
  bool cancel(SendOperation& operation);
  /// Completes every operation with `status`.
  void fail(const Status& status);
  /// Whether flush() would write without waiting for the sockets.
  [[nodiscard]] bool hasWork() const {
    return !finished_.empty() ||
           (!main_.isUnderWay() && (!control_frames_.empty() || !urgent_.empty() || !sending_.empty() ||
                                    (!queue_.empty() && announced_.size() < kMaxAnnounced)));
  }
  [[nodiscard]] bool isEmpty() const {
    return !hasMessages() && control_frames_.empty() && !connections_[0].hasOutput();
  }
  /// Sends the goodbye, once, if the stream is between two messages and the socket has space; nothing may be posted
  /// afterwards. Messages that wait for a grant do not count.
  void goodbye();
  [[nodiscard]] bool saysGoodbye() const { return said_goodbye_; }
  [[nodiscard]] bool hasSaidGoodbye() const { return said_goodbye_ && control_frames_.empty() && !main_.isUnderWay(); }
  /// Whether messages, or parts of them, are to be written that need no grant.
  [[nodiscard]] bool hasMessages() const;

  /// Sends a control frame, which has no payload, before all messages that wait.
  void sendControl(FrameKind kind, Tag tag, std::uint64_t bytes = 0);

  // Each of these functions handles a kind of control frame that the peer has sent. It returns false if the frame is
  // malformed, or does not fit the state of the link.
  [[nodiscard]] bool handleRoom(std::uint64_t bytes);
  [[nodiscard]] bool handleCredit(Tag flow, std::uint64_t bytes);
  [[nodiscard]] bool handleGrant(std::uint64_t number);
  [[nodiscard]] bool handleDrop(std::uint64_t number);

 private:
  enum class Progress { done, blocked, broken };
  /// A message that was announced and was not sent completely.
  struct Announced {
    SendOperation* operation = nullptr; ///< Null: it is complete, or was withdrawn.
    std::uint64_t number = 0;
    PieceCursor cursor; ///< First byte that no chunk has.
    std::uint64_t at = 0;
    std::uint64_t allowed = 0; ///< Bytes that may be sent.
    std::uint64_t bytes = 0;
    std::size_t chunks = 0; ///< Number of its chunks that are being written.
    bool striped = false;
    bool queued = false; ///< It is in sending_ or striping_.
  };
  /// Payload that is being written into one connection, of an announced or of a short message.
  struct Chunk {
    Announced* announced = nullptr;
    SendOperation* message = nullptr;
    PieceCursor cursor;
    std::size_t left = 0;
    std::unique_ptr<Remainder> copy; ///< The bytes that the cursor walks when the message was withdrawn.
  };
  /// The bytes that are being written into connection 0: frames, then a chunk.
  struct Main {
    std::array<char, 2 * kFrameBytes> frames{};
    std::string control_frames; ///< Not empty: are written instead of `frames`.
    std::size_t at = 0;         ///< Position in the frames that are written.
    std::size_t end = 0;
    Chunk chunk;
    bool active = false;
    [[nodiscard]] bool isUnderWay() const { return active; }
    void add(const FrameBytes& frame) {
      std::copy(frame.begin(), frame.end(), frames.begin() + static_cast<std::ptrdiff_t>(end));
      end += frame.size();
    }
  };

  bool beginNext();
  void beginControlFrames();
  void beginMessage(SendOperation& operation);
  void announce(SendOperation& operation);
  void beginChunk(Announced& announced);
  bool beginStripes();
  void advance();
  void allow(Announced& announced, std::uint64_t bytes);
  void enqueue(Announced& announced);
  void dequeue(Announced& announced);
  Progress writeMain();
  Progress writeChunk(Connection& connection, Chunk& chunk);
  void writePayloadConnections();
  std::size_t writePayloadConnection(std::size_t index);
  void finishMain();
  void finishChunk(Chunk& chunk);
  void finish(SendOperation& operation);
  /// Withdraws a message: its chunks that are being written continue as copies, and no more are sent.
  bool withdraw(Announced& announced);
  static bool continueAsCopy(Chunk& chunk, const SendOperation& operation);
  void pace(const SendOperation& operation, bool striped);
  [[nodiscard]] bool stripes(std::uint64_t bytes) const;

  std::vector<Connection>& connections_;
  const std::size_t eager_bytes_;
  Credit credit_;
  bool has_limit_ = false;
  OperationList<SendOperation> urgent_;          ///< Not begun yet.
  OperationList<SendOperation> queue_;           ///< Not begun yet.
  OperationList<SendOperation> finished_;        ///< flush() will complete them.
  std::map<std::uint64_t, Announced> announced_; ///< By number.
  std::uint64_t last_number_ = 0;                ///< Number of the message that was announced last.
  /// Flow and number of announced messages of which no byte may be sent.
  std::set<std::pair<Tag, std::uint64_t>> without_credit_;
  /// Messages with bytes for connection 0 that may be sent, in order.
  std::deque<Announced*> sending_;
  /// Messages with bytes for the payload connections that may be sent, in order.
  std::deque<Announced*> striping_;
  std::string control_frames_; ///< Queued by sendControl().
  Main main_;
  bool message_was_last_ = false;
  std::vector<std::deque<Chunk>> payload_chunks_; ///< By payload connection.
  std::size_t turn_ = 0;                          ///< Payload connection of the next stripe.
  SendOperation* posting_ = nullptr;              ///< The operation that post() handles; null when it is finished.
  std::uint64_t unpaced_bytes_ = 0;               ///< Bytes of messages without a pace since the last one with a pace.
  bool moved_ = false;
  bool broken_ = false; ///< The bytes that must be sent next are lost.
  bool said_goodbye_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_FRAME_WRITER_H_

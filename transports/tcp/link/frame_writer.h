/// The messages to one peer, on their way into its connections.
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

/// Headers leave in order. A short message goes with its header if there is credit for it; any other is announced, and
/// goes in chunks when its receiver has granted it, but for the bytes that the credit lets go at once. Between two
/// chunks goes what is more urgent: frames that answer the peer, then messages with kUrgentTag, then headers and short
/// messages in turn with chunks. connections[0] carries the frames and their payload; the payload of large messages
/// goes round connections[1..] where there are any, and each of these moves on as fast as it can. Bytes go from the
/// caller's pieces to the system without a copy in between. One thread.
class FrameWriter {
 public:
  /// Of a message that must be granted so many bytes go before that: enough to fill the way until the answer is there.
  static constexpr std::size_t kMinEagerBytes = std::size_t{4} * 1024 * 1024;
  static constexpr std::size_t kMaxEagerBytes = std::size_t{32} * 1024 * 1024;

  /// The connections outlive this and are open before the first post().
  FrameWriter(std::vector<Connection>& connections, std::size_t eager_bytes)
      : connections_(connections), eager_bytes_(eager_bytes), lanes_(connections.size() - 1) {}

  /// Writes what it can at once. True: all of it, the operation is complete.
  bool post(SendOperation& operation);
  /// Writes more; completes operations with onSent(). To be called out of progress(). Returns whether bytes moved.
  bool flush();
  /// A chunk that is partly on the wire goes on as a copy, and the rest is taken back. False: memory is short, and the
  /// stream cannot go on.
  bool cancel(SendOperation& operation);
  /// Completes every operation with `status`.
  void fail(const Status& status);
  /// flush() would write something that the connections do not wait for.
  [[nodiscard]] bool hasWork() const {
    return !finished_.empty() || (!main_.isUnderWay() && (!notes_.empty() || !urgent_.empty() || !sending_.empty() ||
                                                          (!queue_.empty() && parcels_.size() < kMaxAnnounced)));
  }
  [[nodiscard]] bool isEmpty() const { return !hasMessages() && notes_.empty() && !connections_[0].hasOutput(); }
  /// Says goodbye, once, if the stream stands between two messages, as far as it has room; nothing may be posted
  /// afterwards. Messages that wait to be granted do not count.
  void goodbye();
  [[nodiscard]] bool saysGoodbye() const { return said_goodbye_; }
  [[nodiscard]] bool hasSaidGoodbye() const { return said_goodbye_ && notes_.empty() && !main_.isUnderWay(); }
  /// Something is to be written that the peer need not ask for any more.
  [[nodiscard]] bool hasMessages() const;

  /// A frame without payload leaves before all messages that wait.
  void say(FrameKind kind, Tag tag, std::uint64_t bytes = 0);

  // What the peer says. False: it makes no sense.
  [[nodiscard]] bool handleRoom(std::uint64_t bytes);
  [[nodiscard]] bool handleCredit(Tag flow, std::uint64_t bytes);
  [[nodiscard]] bool handleGrant(std::uint64_t number);
  [[nodiscard]] bool handleDrop(std::uint64_t number);

 private:
  enum class Progress { done, blocked, broken };
  /// A message that was announced and has not gone as a whole.
  struct Parcel {
    SendOperation* operation = nullptr; ///< Null: it is complete, or was taken back.
    std::uint64_t number = 0;
    PieceCursor cursor; ///< Of the first byte that no chunk has.
    std::uint64_t at = 0;
    std::uint64_t allowed = 0; ///< Bytes that may go.
    std::uint64_t bytes = 0;
    std::size_t chunks = 0; ///< Under way.
    bool striped = false;
    bool queued = false; ///< In sending_ or striping_.
  };
  /// Payload on its way into one connection, of a parcel or of a short message.
  struct Chunk {
    Parcel* parcel = nullptr;
    SendOperation* message = nullptr;
    PieceCursor cursor;
    std::size_t left = 0;
    std::unique_ptr<Remainder> copy; ///< What the cursor walks when the message was taken back.
  };
  /// What connection 0 is busy with: frames, then a chunk.
  struct Main {
    std::array<char, 2 * kFrameBytes> frames{};
    std::string notes;  ///< In place of `frames`.
    std::size_t at = 0; ///< Of the frames or notes.
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
  void beginNotes();
  void beginMessage(SendOperation& operation);
  void announce(SendOperation& operation);
  void beginChunk(Parcel& parcel);
  bool beginStripes();
  void advance();
  void allow(Parcel& parcel, std::uint64_t bytes);
  void enqueue(Parcel& parcel);
  void dequeue(Parcel& parcel);
  Progress writeMain();
  Progress writeChunk(Connection& connection, Chunk& chunk);
  void writeLanes();
  std::size_t writeLane(std::size_t lane);
  void finishMain();
  void finishChunk(Chunk& chunk);
  void finish(SendOperation& operation);
  /// No more of it goes than what is under way, which goes on as a copy.
  bool takeBack(Parcel& parcel);
  static bool continueAsCopy(Chunk& chunk, const SendOperation& operation);
  void pace(const SendOperation& operation, bool striped);
  [[nodiscard]] bool stripes(std::uint64_t bytes) const;

  std::vector<Connection>& connections_;
  const std::size_t eager_bytes_;
  Credit credit_;
  bool has_room_ = false;
  OperationList<SendOperation> urgent_;     ///< Not begun.
  OperationList<SendOperation> queue_;      ///< Not begun.
  OperationList<SendOperation> finished_;   ///< For flush() to complete.
  std::map<std::uint64_t, Parcel> parcels_; ///< By number.
  std::uint64_t announced_ = 0;
  std::set<std::pair<Tag, std::uint64_t>> without_credit_; ///< Of parcels that nothing allows: their flow and number.
  std::deque<Parcel*> sending_;                            ///< Have bytes for connection 0 that may go, in order.
  std::deque<Parcel*> striping_;                           ///< The same, for the payload connections.
  std::string notes_;                                      ///< Frames of say().
  Main main_;
  bool message_was_last_ = false;
  std::vector<std::deque<Chunk>> lanes_; ///< By payload connection.
  std::size_t turn_ = 0;                 ///< Payload connection of the next stripe.
  SendOperation* posting_ = nullptr;     ///< The one that post() looks at; null when it is finished.
  std::uint64_t unpaced_bytes_ = 0;      ///< Of messages since the last one with a pace.
  bool moved_ = false;
  bool spoilt_ = false; ///< Bytes that must go next are not to be had any more.
  bool said_goodbye_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_FRAME_WRITER_H_

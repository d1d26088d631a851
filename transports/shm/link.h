/// One end of the link between two processes of a host.
#ifndef GOSS_TRANSPORTS_SHM_LINK_H_
#define GOSS_TRANSPORTS_SHM_LINK_H_

#include "gossamer/message.h"
#include "gossamer/short_messages.h"
#include "gossamer/transport_context.h"
#include "platform/fd.h"
#include "transports/common/deferred.h"
#include "transports/common/matcher.h"
#include "transports/common/multipart_recvs.h"
#include "transports/shm/address_reading.h"
#include "transports/shm/direct_receiver.h"
#include "transports/shm/direct_sender.h"
#include "transports/shm/doorbell.h"
#include "transports/shm/link_end.h"
#include "transports/shm/outbox.h"
#include "transports/shm/ring.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// Lengths and settings that decide how a message is sent; see gossamer/config.h.
struct LinkOptions {
  std::size_t unexpected_bytes = 0;
  std::size_t direct_bytes = 0; ///< Minimum length of a message that is read in place.
  bool maps = true;             ///< Whether peers read lent memory in place.
  CrossMemory addresses = CrossMemory::ifFaster;
  bool fences = false; ///< This process has joined platform/fence.h, and passes such a fence before it sleeps.
};

/// The rings between this rank and one peer, and the operations posted on them. The socket beside them carries no data:
/// a packet on it wakes a sleeper or lends memory, and its end shows the peer's death. Long messages in memory that the
/// peer can read are described instead of copied: see direct.h.
///
///     from        condition                              to
///     unattached  attach()                               attached
///     attached    becomeReady()                          ready (may send)
///     any         end of the socket, goodbye was said    leaving: reads on until its ring is empty
///     any         end of the socket otherwise            gone
///     leaving     ring empty                             gone
///     any         corrupt record, broken promise         gone
///
/// One thread; callbacks come out of progress() alone.
class Link {
 public:
  /// `lending` and `deferred` outlive this object.
  Link(int rank, const LinkOptions& options, LentRegions& lending, Deferred& deferred);

  void attach(Segment segment, platform::UniqueFd socket);
  [[nodiscard]] bool attached() const { return segment_.valid(); }
  void becomeReady();
  [[nodiscard]] bool isReady() const { return is_ready_; }
  /// Whether the called side has sent its welcome, with its board.
  [[nodiscard]] bool hasWelcome() const { return board_.valid(); }
  platform::UniqueFd takeBoard() { return std::move(board_); }
  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] Segment& segment() { return segment_; }
  [[nodiscard]] Matcher& matcher() { return matcher_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }

  /// The link must be ready, and its peer not leaving.
  bool send(SendOperation& operation);
  /// As ShortMessages::trySend and tryRecv. The link must be ready, and its peer not leaving.
  bool trySend(Tag tag, const Envelope& envelope, std::span<const std::byte> bytes);
  TryResult tryRecv(Tag tag, const Envelope& envelope, std::span<std::byte> room, std::size_t& bytes);
  void cancel(SendOperation& operation);

  /// Reads the packets in the socket. Returns whether the other side has closed it.
  bool readPackets();
  /// `region` is no longer lent.
  void forget(std::uint64_t region) { direct_sender_.forget(region); }
  void tellForgotten() { direct_sender_.tellForgotten(); }
  /// The socket has ended: the other process closed it or died.
  void socketEnded();
  /// Reads, delivers and writes. Returns whether anything happened.
  bool progress();
  /// Whether the last progress() read a message in place, which takes long.
  [[nodiscard]] bool isReadingDirectly() const { return reading_directly_; }
  /// Whether the link ends, and why. When it is over, the owner calls fail().
  [[nodiscard]] const LinkEnd& end() const { return end_; }
  /// Ends the link, for this reason.
  void breakOff(const Status& reason) { end_.breakOff(reason); }
  /// Fails all pending operations, calling back, and unmaps the segment.
  void fail();

  /// Wakes the other side, and tells it when this side sleeps.
  [[nodiscard]] Doorbell& doorbell() { return doorbell_; }

  /// Whether nothing can have happened since the last progress(), so that a call would find nothing. Cheap.
  [[nodiscard]] bool isQuiet() const {
    if (matcher_.hasWork() || end_.isOver()) return false;
    if (!segment_.valid()) return true;
    return reader_.empty() && outbox_.isIdle() && !recvs_.hasWork() && !end_.isLeaving() && direct_receiver_.isIdle() &&
           !direct_sender_.isOutstanding();
  }

  /// Tells the other side that this rank is going to sleep. Then the caller passes a fence (platform/fence.h) and asks
  /// hasWork() for the last time.
  void announceSleep();
  [[nodiscard]] bool hasWork();
  /// Closes this side on purpose: the peer still gets the messages that were written.
  void leave();

 private:
  bool read();
  void consume(const RingReader::Record& record);
  void release();
  bool accept(const RingReader::Record& record);
  bool acceptDirect(const RingReader::Record& record);
  bool readDirect();
  void acceptControl(const RingReader::Record& record);
  bool writePending();
  void updateOversubscribed();
  void failSends(const Status& status);

  const int rank_;
  const LinkOptions options_;
  Matcher matcher_;
  MessageSink sink_; ///< Sink of short messages.
  MultipartRecvs recvs_;
  Segment segment_;
  platform::UniqueFd socket_;
  Doorbell doorbell_;
  RingWriter writer_;
  RingReader reader_;
  DirectSender direct_sender_;
  DirectReceiver direct_receiver_;
  Outbox outbox_;
  bool oversubscribed_ = false; ///< The flag that this side has published.
  bool is_ready_ = false;
  bool reading_directly_ = false;
  platform::UniqueFd board_; ///< The other side's board, until somebody takes it.
  LinkEnd end_;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_LINK_H_

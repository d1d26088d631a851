/// The receiving half of a UCX link.
#ifndef GOSS_TRANSPORTS_UCX_INBOX_H_
#define GOSS_TRANSPORTS_UCX_INBOX_H_

#include <ucp/api/ucp.h>

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/matcher.h"
#include "transports/common/multipart_recvs.h"
#include "transports/ucx/station.h"
#include "transports/ucx/wire.h"

namespace goss::transports::ucx {

/// UCX hands messages over in arrive() and may do so out of order; run() gives all of them to the matcher in order.
/// Short messages and parts come with their bytes; for others UCX keeps a descriptor, with which the bytes are fetched
/// straight into the receive's buffer once the message has matched a receive.
///
/// One thread. Only run(), finish() and what they call in the matcher call operations back, except that arrive() calls
/// onData too where the station passes parts on.
class Inbox {
 public:
  Inbox(const Station& station, Matcher& matcher, MultipartRecvs& recvs)
      : station_(station), matcher_(matcher), recvs_(recvs) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Called by UCX. The status says who keeps `data`, as UCX defines it.
  ucs_status_t arrive(const Header& header, Incoming incoming);
  /// Called by UCX: the sender cancels message `number`, if it was not fetched.
  void revoke(std::uint64_t number);
  /// As Transport::discard.
  void discard(Tag mask, Tag value);
  /// Called by UCX: the sender has given the link up and reuses its buffers, so bytes that were fetched since may be
  /// wrong.
  void distrust() { distrusted_ = true; }

  /// Returns whether anything happened.
  bool run();
  [[nodiscard]] bool hasWork() const;
  /// Whether run() would do anything.
  [[nodiscard]] bool hasArrivals() const { return !arrivals_.empty(); }
  /// Whether run() has come to the peer's goodbye.
  [[nodiscard]] bool departed() const { return departed_; }
  /// Whether UCX writes into none of this link's buffers.
  [[nodiscard]] bool isIdle() const { return in_flight_ == 0; }
  /// Why UCX could not fetch a message, or why the peer's headers are malformed; ok while neither happened.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// Whether UCX writes into the buffers of this receive. Asked before the matcher cancels the receive: until this is
  /// false the buffers must stay.
  [[nodiscard]] bool writesTo(const RecvOperation& operation) const;

  /// After the endpoint is closed: delivers messages that came whole; other messages count as not received.
  void finish();
  /// Returns to UCX the memory that it keeps for messages that nobody will receive. The endpoint is closed, or their
  /// senders are told that the messages were received.
  void release();

 private:
  struct Arrival {
    Header header;
    void* data = nullptr; ///< UCX's memory; null when there is none or it was copied.
    std::size_t bytes = 0;
    bool rendezvous = false;
    std::unique_ptr<std::byte[]> copy;
  };
  /// A message that comes by rendezvous.
  struct Fetch {
    explicit Fetch(Inbox& inbox) : owner(inbox), sink(inbox.matcher_) {}
    Inbox& owner;
    MessageSink sink;
    void* data = nullptr; ///< UCX's descriptor until the fetch begins.
    std::size_t bytes = 0;
    std::uint64_t number = 0;
    Tag tag = 0;
    bool busy = false;   ///< The entry holds a message.
    bool flying = false; ///< UCX fetches the message.
    bool direct = false; ///< UCX fetches into the receive's own buffers.
    ucs_status_t status = UCS_OK;
    std::vector<iovec> room;
    std::vector<ucp_dt_iov_t> pieces;
    std::unique_ptr<std::byte[]> scratch;
    std::size_t scratch_bytes = 0;
  };

  /// Appends the next message, in order.
  void append(Arrival arrival);
  /// Appends the early messages whose turn has come.
  void appendEarly();
  /// Delivers the bytes of a part that may go to their receive now. Returns whether those were all.
  bool passOn(const Header& header, Incoming& incoming);
  void take(Arrival& arrival);
  Status takeBytes(const Header& header, std::span<const std::byte> bytes);
  Status takeLong(Arrival& arrival);
  void fail(const Status& why) {
    if (trouble_.isOk()) trouble_ = why;
  }
  Fetch& freeFetch();
  void startReady();
  void start(Fetch& fetch);
  void prepareRoom(Fetch& fetch);
  static void onFetched(void* request, ucs_status_t status, std::size_t bytes, void* fetch);
  bool land();
  void recycle(Fetch& fetch);
  void releaseData(void*& data);

  const Station& station_;
  Matcher& matcher_;
  MultipartRecvs& recvs_;
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, Arrival> early_; ///< By number: messages that came before an older one.
  std::deque<Arrival> arrivals_;           ///< In order, for run().
  std::vector<std::unique_ptr<Fetch>> fetches_;
  std::vector<Fetch*> free_;
  std::vector<Fetch*> ready_;  ///< Fetches that have matched their receive.
  std::vector<Fetch*> landed_; ///< Fetches that UCX has completed.
  std::size_t in_flight_ = 0;
  bool departed_ = false;
  bool closed_ = false;
  bool distrusted_ = false;
  Status trouble_;
};

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_INBOX_H_

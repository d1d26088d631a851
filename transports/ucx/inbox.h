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
#include "transports/common/parted_recvs.h"
#include "transports/ucx/station.h"
#include "transports/ucx/wire.h"

namespace goss::transports::ucx {

/// UCX hands messages over in arrive() and may do so out of order; run() gives all of them to the matcher in order.
/// Short ones and parts come with their bytes; of others UCX keeps a descriptor, with which the bytes are fetched,
/// straight into the receive's buffer, once there is a receive.
///
/// One thread. Only run(), finish() and what they call in the matcher call operations back, but for onData, which
/// arrive() calls too where the station passes on.
class Inbox {
 public:
  Inbox(const Station& station, Matcher& matcher, PartedRecvs& recvs)
      : station_(station), matcher_(matcher), recvs_(recvs) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Out of UCX. The status says who keeps `data`, as UCX wants it.
  ucs_status_t arrive(const Header& header, Incoming incoming);
  /// Out of UCX: the sender wants message `number` back, if it has not been fetched.
  void revoke(std::uint64_t number);
  /// As Transport::discard.
  void discard(Tag mask, Tag value);
  /// Out of UCX: the sender has given the link up and its buffers back, so what was fetched of late may be anything.
  void distrust() { distrusted_ = true; }

  /// Returns whether anything happened.
  bool run();
  [[nodiscard]] bool hasWork() const;
  /// Whether run() has something to do.
  [[nodiscard]] bool hasArrivals() const { return !arrivals_.empty(); }
  /// The goodbye was reached.
  [[nodiscard]] bool departed() const { return departed_; }
  /// Whether UCX writes into none of our buffers.
  [[nodiscard]] bool isIdle() const { return in_flight_ == 0; }
  /// Why UCX could not fetch a message, or what came makes no sense; ok while neither was so.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// UCX writes into the buffers of this receive. To be asked before the matcher cancels it: until this is false the
  /// buffers must stay.
  [[nodiscard]] bool writesTo(const RecvOperation& operation) const;

  /// The endpoint is closed: delivers what came whole; whatever else waits has not come.
  void finish();
  /// Gives UCX back what it keeps for messages that nobody takes any more. The endpoint is closed, or their senders are
  /// told that they were received.
  void release();

 private:
  struct Arrival {
    Header header;
    void* data = nullptr; ///< Of UCX; null when there is none or it was copied.
    std::size_t bytes = 0;
    bool rendezvous = false;
    std::unique_ptr<std::byte[]> copy;
  };
  /// A message that comes by rendezvous.
  struct Fetch {
    explicit Fetch(Inbox& inbox) : owner(inbox), inflow(inbox.matcher_) {}
    Inbox& owner;
    MessageSink inflow;
    void* data = nullptr; ///< UCX's descriptor until the fetch begins.
    std::size_t bytes = 0;
    std::uint64_t number = 0;
    Tag tag = 0;
    bool busy = false;   ///< Holds a message.
    bool flying = false; ///< UCX fetches it.
    bool direct = false; ///< Into the receive's own buffers.
    ucs_status_t status = UCS_OK;
    std::vector<iovec> room;
    std::vector<ucp_dt_iov_t> pieces;
    std::unique_ptr<std::byte[]> scratch;
    std::size_t scratch_bytes = 0;
  };

  /// In order.
  void append(Arrival arrival);
  /// Takes the messages that came out of order and are next now.
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
  PartedRecvs& recvs_;
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, Arrival> early_; ///< By number: an older one is missing.
  std::deque<Arrival> arrivals_;           ///< In order.
  std::vector<std::unique_ptr<Fetch>> fetches_;
  std::vector<Fetch*> free_;
  std::vector<Fetch*> ready_;  ///< Met their receive.
  std::vector<Fetch*> landed_; ///< UCX is through.
  std::size_t in_flight_ = 0;
  bool departed_ = false;
  bool closed_ = false;
  bool distrusted_ = false;
  Status trouble_;
};

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_INBOX_H_

/// The sending half of a UCX link.
#ifndef GOSS_TRANSPORTS_UCX_OUTBOX_H_
#define GOSS_TRANSPORTS_UCX_OUTBOX_H_

#include <ucp/api/ucp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/operation_list.h"
#include "transports/common/parted_sends.h"
#include "transports/ucx/station.h"
#include "transports/ucx/wire.h"

namespace goss::transports::ucx {

/// One thread. Only run() and fail() call operations back.
class Outbox {
 public:
  /// Both outlive this. `owed`: room that the peer has again, of which the headers of messages tell.
  Outbox(const Station& station, int peer, FlowBytes& owed) : station_(station), peer_(peer), owed_(owed) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void open(ucp_ep_h endpoint, std::uint64_t key, const Route& route);
  /// From now on control messages go nowhere.
  void close() { endpoint_ = nullptr; }
  /// As Transport::send.
  bool post(SendOperation& operation);
  /// False: its bytes are on their way and the peer does not react; the endpoint must be closed by force, and
  /// forget() must follow.
  bool cancel(SendOperation& operation);
  void forget(SendOperation& operation);
  /// A message without bytes; `header` says its kind and what that kind means something to.
  void sendControl(Header header);
  /// The peer has answered a message that goes in parts: Header::Kind::grant or skip.
  void onAnswer(Header::Kind kind, std::uint64_t number);
  /// The peer has so much room again for messages of the flow of `tag`.
  void onReturned(Tag tag, std::uint64_t cost) { sends_.giveBack(tag, cost); }
  /// Room that the peer has for messages without a receive.
  [[nodiscard]] std::uint64_t limit() const { return sends_.limit(); }

  /// Completes what UCX has completed and starts what has room now. Returns whether there was anything.
  bool run();
  [[nodiscard]] bool hasWork() const {
    return !landed_.empty() || (hasRoom() && (!queue_.empty() || sends_.next() != nullptr));
  }
  /// UCX holds nothing of ours.
  [[nodiscard]] bool isIdle() const { return in_flight_ == 0; }
  /// So much it holds, but for what goes by rendezvous.
  [[nodiscard]] std::size_t heldBytes() const { return held_bytes_; }
  /// Why UCX refused to send; ok while it has not.
  [[nodiscard]] const Status& trouble() const { return trouble_; }
  /// Completes everything with `status`. The endpoint is closed.
  void fail(const Status& status);

 private:
  /// What UCX reads until the message is sent.
  struct Flight : PartedSend {
    Outbox* owner = nullptr;
    HeaderBytes header{};
    std::vector<ucp_dt_iov_t> pieces;
    SendOperation* operation = nullptr; ///< Null: a control message, a part, or forgotten.
    Flight* whole = nullptr;            ///< Of a part: the flight of its message, which itself carries nothing.
    std::size_t parts = 0;              ///< Of a message in parts: UCX holds so many.
    std::uint64_t order = 0;            ///< Header::number.
    std::size_t held_bytes = 0;         ///< Of Outbox::heldBytes() while UCX holds it.
    bool rendezvous = false;
    bool landed = false;
    ucs_status_t status = UCS_OK;
  };

  [[nodiscard]] bool goesInParts(std::size_t bytes) const { return route_.part_bytes > 0 && bytes > route_.part_bytes; }
  [[nodiscard]] bool goesByRendezvous(std::size_t bytes) const {
    return bytes > route_.most_eager_bytes && !goesInParts(bytes);
  }
  /// UCX may be given more.
  [[nodiscard]] bool hasRoom() const { return endpoint_ != nullptr && held_bytes_ < route_.held_bytes; }
  /// Returns true when the operation is complete.
  bool launch(SendOperation& operation);
  bool launchInParts(Flight& whole);
  /// As much of what may go as UCX may be given: headers and short messages in turn with parts, so that neither waits
  /// for all of the other. Returns whether anything went.
  bool launchNext();
  /// The next bytes that may go of a message, but for its first part with the header of it.
  void launchPart(Flight& whole, Header::Kind kind);
  void appendRest(Flight& flight, Flight& whole, std::size_t bytes) const;
  /// Nothing more is to be given to UCX of a message, and it holds none of it.
  void landIfSent(Flight& whole);
  /// Returns true when nothing more is to come of it.
  bool startPieces(Flight& flight, std::size_t bytes);
  Flight& takeFlight();
  void recycle(Flight& flight) {
    flight.operation = nullptr;
    flight.whole = nullptr;
    free_.push_back(&flight);
  }
  void encode(Flight& flight, Header header);
  bool start(Flight& flight, const void* buffer, std::size_t count, ucp_datatype_t datatype, std::uint32_t flags);
  static void onSent(void* request, ucs_status_t status, void* flight);
  bool land();

  const Station& station_;
  const int peer_;
  FlowBytes& owed_;
  ucp_ep_h endpoint_ = nullptr;
  std::uint64_t key_ = 0;
  Route route_;
  PartedSends sends_;
  std::uint64_t next_number_ = 0;
  OperationList<SendOperation> queue_;
  bool header_was_last_ = false;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<Flight*> free_;
  std::vector<Flight*> landed_;
  std::size_t in_flight_ = 0;
  std::size_t held_bytes_ = 0;
  Status trouble_;
  Status failure_;
};

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_OUTBOX_H_

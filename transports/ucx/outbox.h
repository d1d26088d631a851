/// The sending half of a UCX link.
#ifndef GOSS_TRANSPORTS_UCX_OUTBOX_H_
#define GOSS_TRANSPORTS_UCX_OUTBOX_H_

#include <ucp/api/ucp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/operation_list.h"
#include "transports/common/piece_cursor.h"
#include "transports/ucx/station.h"
#include "transports/ucx/wire.h"

namespace goss::transports::ucx {

/// One thread. Only run() and fail() call operations back.
class Outbox {
 public:
  /// Both outlive this. `tally`: of what comes from this peer, told in every header.
  Outbox(const Station& station, int peer, Tally& tally) : station_(station), peer_(peer), tally_(tally) {}
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
  /// A message without bytes. `number` only means something to Header::Kind::revoke.
  void sendControl(Header::Kind kind, std::uint64_t number = 0, const Envelope& envelope = {});
  /// The peer has taken messages of so much cost in all.
  void onTaken(std::uint64_t taken);

  /// Completes what UCX has completed and starts what has room now. Returns whether there was anything.
  bool run();
  [[nodiscard]] bool hasWork() const {
    if (!landed_.empty()) return true;
    if (parted_ != nullptr) return hasRoom(costOf(nextPart(*parted_), false));
    return !queue_.empty() && hasRoom(*queue_.front());
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
  struct Flight {
    Outbox* owner = nullptr;
    HeaderBytes header{};
    std::vector<ucp_dt_iov_t> pieces;
    SendOperation* operation = nullptr; ///< Null: a control message, a part, or forgotten.
    Flight* whole = nullptr;            ///< Of a part: the flight of its message, which itself carries nothing.
    PieceCursor rest;                   ///< Of a message in parts, as the next two: what is to be sent yet,
    std::size_t rest_bytes = 0;         ///< and how much that is.
    std::size_t parts = 0;              ///< UCX holds so many.
    std::uint64_t number = 0;
    std::size_t held_bytes = 0; ///< Of Outbox::heldBytes() while UCX holds it.
    bool rendezvous = false;
    bool landed = false;
    ucs_status_t status = UCS_OK;
  };

  [[nodiscard]] bool goesInParts(std::size_t bytes) const { return route_.part_bytes > 0 && bytes > route_.part_bytes; }
  [[nodiscard]] bool goesByRendezvous(std::size_t bytes) const {
    return bytes > route_.most_eager_bytes && !goesInParts(bytes);
  }
  [[nodiscard]] std::size_t nextPart(const Flight& whole) const {
    return std::min(whole.rest_bytes, route_.part_bytes);
  }
  [[nodiscard]] bool hasRoom(std::uint64_t cost) const;
  [[nodiscard]] bool hasRoom(const SendOperation& operation) const;
  /// Returns true when the operation is complete.
  bool launch(SendOperation& operation);
  /// What has room of the message that goes in parts. As launch().
  bool launchParts();
  void launchPart(Flight& whole, std::size_t bytes);
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
  Tally& tally_;
  ucp_ep_h endpoint_ = nullptr;
  std::uint64_t key_ = 0;
  Route route_;
  Flight* parted_ = nullptr; ///< The message of which parts are to be sent yet. Nothing overtakes it.
  std::uint64_t next_number_ = 0;
  std::uint64_t sent_cost_ = 0;
  std::uint64_t taken_cost_ = 0; ///< Of sent_cost_, as the peer says.
  OperationList<SendOperation> queue_;
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

/// The sending half of a UCX link.
#ifndef GOSS_TRANSPORTS_UCX_OUTBOX_H_
#define GOSS_TRANSPORTS_UCX_OUTBOX_H_

#include <ucp/api/ucp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "gossamer/message.h"
#include "transports/common/multipart_sends.h"
#include "transports/common/operation_list.h"
#include "transports/ucx/station.h"
#include "transports/ucx/wire.h"

namespace goss::transports::ucx {

/// One thread. Only run() and fail() call operations back.
class Outbox {
 public:
  /// Both outlive this object. `owed`: credit that the peer has again, which the headers of messages carry.
  Outbox(const Station& station, int peer, FlowBytes& owed) : station_(station), peer_(peer), owed_(owed) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void open(ucp_ep_h endpoint, std::uint64_t key, const Route& route);
  /// From now on control messages are dropped.
  void close() { endpoint_ = nullptr; }
  /// As Transport::send.
  bool post(SendOperation& operation);
  /// False: the message is being sent and the peer does not react; the endpoint must be closed by force, and forget()
  /// must follow.
  bool cancel(SendOperation& operation);
  void forget(SendOperation& operation);
  /// Sends a message without bytes; the kind of `header` says which of its fields matter.
  void sendControl(Header header);
  /// The peer has answered a message in parts: Header::Kind::grant or skip.
  void onAnswer(Header::Kind kind, std::uint64_t number);
  /// The peer has released `cost` bytes of credit for messages of the flow of `tag`.
  void onReturned(Tag tag, std::uint64_t cost) { sends_.giveBack(tag, cost); }
  /// Credit that the peer gives for unexpected messages.
  [[nodiscard]] std::uint64_t limit() const { return sends_.limit(); }

  /// Completes operations that UCX has completed, and starts those for which there is space now. Returns whether there
  /// were any.
  bool run();
  [[nodiscard]] bool hasWork() const {
    return !landed_.empty() || (hasRoom() && (!queue_.empty() || sends_.next() != nullptr));
  }
  /// Whether UCX holds none of this link's messages.
  [[nodiscard]] bool isIdle() const { return in_flight_ == 0; }
  /// Bytes that UCX holds, except those that go by rendezvous.
  [[nodiscard]] std::size_t heldBytes() const { return held_bytes_; }
  /// Why UCX refused to send; ok while it has not.
  [[nodiscard]] const Status& trouble() const { return trouble_; }
  /// Completes all operations with `status`. The endpoint is closed.
  void fail(const Status& status);

 private:
  /// The memory that UCX reads until the message is sent.
  struct Flight : MultipartSend {
    Outbox* owner = nullptr;
    HeaderBytes header{};
    std::vector<ucp_dt_iov_t> pieces;
    SendOperation* operation = nullptr; ///< Null: a control message, a part, or a forgotten operation.
    Flight* whole = nullptr;            ///< For a part: the flight of its message, which itself sends nothing.
    std::size_t parts = 0;              ///< For a message in parts: number of parts that UCX holds.
    std::uint64_t order = 0;            ///< Header::number.
    std::size_t held_bytes = 0;         ///< Part of Outbox::heldBytes() while UCX holds it.
    bool rendezvous = false;
    bool landed = false;
    ucs_status_t status = UCS_OK;
  };

  [[nodiscard]] bool goesInParts(std::size_t bytes) const { return route_.part_bytes > 0 && bytes > route_.part_bytes; }
  [[nodiscard]] bool goesByRendezvous(std::size_t bytes) const {
    return bytes > route_.most_eager_bytes && !goesInParts(bytes);
  }
  /// Whether UCX may be given more.
  [[nodiscard]] bool hasRoom() const { return endpoint_ != nullptr && held_bytes_ < route_.held_bytes; }
  /// Returns true when the operation is complete.
  bool launch(SendOperation& operation);
  bool launchInParts(Flight& whole);
  /// Gives UCX as much as it may take: headers and short messages alternating with parts, so that neither waits for all
  /// of the other. Returns whether anything was sent.
  bool launchNext();
  /// Sends the next bytes of a message that may be sent; its first part carries the header too.
  void launchPart(Flight& whole, Header::Kind kind);
  void appendRest(Flight& flight, Flight& whole, std::size_t bytes) const;
  /// Completes a message that was sent completely, when UCX holds none of its parts.
  void landIfSent(Flight& whole);
  /// Returns true when the request is complete.
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
  MultipartSends sends_;
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

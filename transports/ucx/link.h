/// Everything between this rank and one peer over UCX.
#ifndef GOSS_TRANSPORTS_UCX_LINK_H_
#define GOSS_TRANSPORTS_UCX_LINK_H_

#include <ucp/api/ucp.h>

#include <string>

#include "gossamer/transport.h"
#include "platform/fd.h"
#include "transports/common/matcher.h"
#include "transports/common/multipart_recvs.h"
#include "transports/ucx/inbox.h"
#include "transports/ucx/outbox.h"
#include "transports/ucx/station.h"
#include "transports/ucx/wire.h"

namespace goss::transports::ucx {

/// States:
///
///     from        to       when
///     connecting  ready    the endpoint stands, and the peer has said hello
///     connecting  failed   connect() was refused
///     any         failed   end(): the peer said goodbye, died, or broke the link, or this rank did
///
/// One thread. Only run() and end() call operations back. Not movable, because UCX knows its address.
class Link {
 public:
  Link(int peer, Station& station);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] int peer() const { return matcher_.peer(); }
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] const Status& error() const;
  Status connect(const Address& address);
  /// Readable when the peer's process has died; -1 where that cannot be watched.
  [[nodiscard]] int deathFd() const { return death_fd_.get(); }

  bool send(SendOperation& operation) { return outbox_.post(operation); }
  void cancel(SendOperation& operation);
  void cancel(RecvOperation& operation);
  Matcher& matcher() { return matcher_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }

  /// Whether a message that shows `key` belongs to this world.
  [[nodiscard]] bool knows(std::uint64_t key) const { return key == station_.key; }
  /// Called by UCX.
  ucs_status_t arrive(const Header& header, Incoming incoming);

  /// Returns whether something happened; afterwards hasEnded() may hold, and end() must follow.
  bool run();
  [[nodiscard]] bool hasWork() const;
  [[nodiscard]] bool hasEnded() const;
  [[nodiscard]] bool departed() const { return why_.isOk() && inbox_.departed(); }
  /// Whether the link ended without a goodbye.
  [[nodiscard]] bool broke() const { return !why_.isOk(); }
  /// As Transport::abandon.
  void abandon(const Status& why);
  void discard(Tag mask, Tag value) { inbox_.discard(mask, value); }
  /// Fails all operations and closes. Returns the reason.
  Status end();
  /// Ends the link because of `why`; the first reason wins.
  void endWith(const Status& why);

  /// Says goodbye, if the link is ready.
  void beginClose();
  /// Whether the peer has read the goodbye, or will not.
  [[nodiscard]] bool isClosed() const;
  /// Begins to send everything that was posted, on a link that works; for Worker::finish().
  ucs_status_ptr_t flush();
  /// Makes UCX release all buffers of operations.
  void closeByForce();

 private:
  void arriveControl(const Header& header);
  static void onEndpointError(void* link, ucp_ep_h endpoint, ucs_status_t status);
  void tell(Header::Kind kind);
  /// Sends answers and credit that the peer must know.
  void tellPeer();
  /// Messages to the peer carry the credit that it has again; so much is not kept back for one.
  [[nodiscard]] bool owesCredit() {
    return endpoint_ != nullptr && why_.isOk() && recvs_.owed().total() > outbox_.limit() / 8;
  }
  /// Ends the link in the middle of a message, from this side.
  void breakOff(const Status& why);

  Station& station_;
  Matcher matcher_;
  MultipartRecvs recvs_;
  Outbox outbox_;
  Inbox inbox_;
  ucp_ep_h endpoint_ = nullptr;
  platform::UniqueFd death_fd_;
  bool same_process_ = false;
  bool greeted_ = false;      ///< The peer's hello has come.
  bool goodbye_came_ = false; ///< The goodbye has come, though earlier messages may not have been taken yet.
  bool goodbye_read_ = false; ///< The peer has read this rank's goodbye.
  Status refused_;
  Status why_; ///< Set when the link is to end.
};

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_LINK_H_

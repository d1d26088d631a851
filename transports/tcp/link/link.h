/// The connections to one peer, from the first until the link is lost.
#ifndef GOSS_TRANSPORTS_TCP_LINK_LINK_H_
#define GOSS_TRANSPORTS_TCP_LINK_LINK_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/deferred.h"
#include "transports/common/matcher.h"
#include "transports/common/operation_list.h"
#include "transports/tcp/link/connection_set.h"
#include "transports/tcp/link/frame_reader.h"
#include "transports/tcp/link/frame_writer.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// One thread. States:
///
///     from        to       when
///     idle        connecting  begin(), or the first of its connections was adopted; of an on-demand link alone
///     connecting  ready    the last of its connections was adopted and connect() was called
///     connecting  failed   refuse()
///     ready       failed   run(): the peer said goodbye, closed, or sent what makes no sense
///
/// A resumable link stays ready when connections of it break: see lostConnections(). A connection of a checked link
/// breaks when the network has corrupted bytes.
class Link {
 public:
  /// `room`: bytes of unexpected messages that this end keeps.
  Link(int peer, std::size_t room, Deferred& deferred)
      : matcher_(peer, deferred), deferred_(deferred), room_(room), connections_(peer) {}

  [[nodiscard]] int peer() const { return matcher_.peer(); }
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] const Status& error() const { return refused_.isOk() ? matcher_.failure() : refused_; }

  /// `on_demand`: the link is made at its first use; the link keeps messages until it is ready, and takeRefusal()
  /// reports its refusal.
  void setWanted(bool on_demand = false) {
    wanted_ = true;
    on_demand_ = on_demand;
    urgent_ = connections_.haveRecords(); // Connections that were lost before are to be found now.
  }
  [[nodiscard]] bool wanted() const { return wanted_; }
  [[nodiscard]] bool isOnDemand() const { return on_demand_; }
  /// One of the ends needs this on-demand link.
  void begin() { begun_ = true; }
  /// Keeps a message for which send() is too early. False: the link is ready, or has failed.
  bool keep(SendOperation& operation);
  /// As ConnectionSet::adopt. The last connection makes the link ready.
  Status adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller,
               const std::optional<platform::SocketAddress>& remote, int via = -1);
  [[nodiscard]] const ConnectionSet& connections() const { return connections_; }
  /// Ends a link that never became ready. Called out of progress(), or before anything was posted.
  void refuse(const Status& why, PeerLoss how = PeerLoss::silent);
  /// Whether an on-demand link was refused since the last call.
  [[nodiscard]] bool takeRefusal() { return std::exchange(refusal_is_news_, false); }

  bool send(SendOperation& operation) { return writer_->post(operation); }
  void cancel(SendOperation& operation);
  void cancel(RecvOperation& operation) { matcher_.cancel(operation); }
  void discard(Tag mask, Tag value) { matcher_.discard(mask, value); }
  Matcher& matcher() { return matcher_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }

  /// Moves bytes both ways. `broken`: the poller reported an error or hang-up. Returns whether something happened;
  /// afterwards hasEnded() may hold, and end() must follow.
  bool run(bool broken);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// When the link has ended: how the peer was lost. Where isUnexplained(), a call may show that `silent` is `ended`.
  [[nodiscard]] PeerLoss loss() const { return loss_; }
  /// Whether the peer has sent anything over the link. A peer that leaves while an on-demand link is being made may not
  /// say goodbye over it.
  [[nodiscard]] bool isHeard() const { return heard_; }
  /// Whether a connection that is not resumed ended without a goodbye, or an on-demand link could not be made. Either
  /// the peer's process has ended, or a middlebox on the path causes that.
  [[nodiscard]] bool isUnexplained() const { return unexplained_; }
  /// Fails all operations and closes. Returns the reason.
  Status end();
  /// Ends the link: the next run() says so.
  void giveUp(const Status& why);

  /// Checks what the peer's hello asks of existing or earlier connections. Errors, which the other end reports:
  /// protocol; peerLost when nobody is to blame.
  [[nodiscard]] Status judge(const Hello& hello) const;
  /// Handles a hello that judge() accepts: the stream to `remote` replaces a connection (error: resource), or the
  /// connection is to be made anew.
  Status resume(platform::Stream stream, const Hello& hello, platform::Poller& poller,
                const std::optional<platform::SocketAddress>& remote);
  void recall(const Hello& hello);
  /// The connections to be resumed, of a link that is ready; run() may have found them lost, or ended the link.
  [[nodiscard]] std::vector<std::size_t> lostConnections() const;
  /// No connection can be resumed: the next run(), which must follow, reads the bytes that have arrived and ends the
  /// link.
  void resumptionFailed(const std::string& why, PeerLoss how);
  /// Whether the peer lacks bytes, or the goodbye, that it gets only when a connection is resumed.
  [[nodiscard]] bool owesResumption() const;
  /// As owesResumption(), or whether bytes that were written on a link with records have not reached the peer's system.
  [[nodiscard]] bool hasUndelivered() const;
  /// Whether run() would do anything without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

  /// Whether the link is ready and has nothing to write.
  [[nodiscard]] bool awaitsReading() const { return reader_ && !ended_ && writer_->isEmpty(); }

  /// For a link with records, called between its run()s until it returns true: says goodbye, and closes when the peer
  /// has read that. A link that has ended has nothing to wait for.
  bool leave();
  /// Says goodbye and closes the sending direction of a link that is ready.
  void beginClose();
  /// Reads and drops what comes; returns whether the peer's system has all bytes that were sent, or the connection is
  /// gone.
  bool isDrained();

 private:
  [[nodiscard]] bool departed() const { return loss_ == PeerLoss::departed; }
  void judgeEnd(bool broken, bool read);

  Matcher matcher_;
  Deferred& deferred_;
  const std::size_t room_;
  ConnectionSet connections_;
  bool urgent_ = false; ///< run() must check something.
  std::unique_ptr<FrameWriter> writer_;
  std::unique_ptr<FrameReader> reader_;
  OperationList<SendOperation> kept_; ///< Messages for an on-demand link that is not ready.
  bool wanted_ = false;
  bool on_demand_ = false;
  bool begun_ = false;           ///< The on-demand link is being made: begin() was called.
  bool refusal_is_news_ = false; ///< See takeRefusal().
  bool given_up_ = false;        ///< The stream cannot go on, or the peer was given up.
  Status why_given_up_;          ///< Why, when the connections do not tell.
  bool heard_ = false;           ///< See isHeard().
  bool ended_ = false;
  PeerLoss loss_ = PeerLoss::silent;
  bool unexplained_ = false;
  bool left_ = false; ///< This end has left, and the peer knows it.
  Status refused_;
  Status why_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_LINK_H_

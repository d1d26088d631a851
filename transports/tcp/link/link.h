/// The connections to one peer, from the first until the link is lost.
#ifndef GOSS_TRANSPORTS_TCP_LINK_LINK_H_
#define GOSS_TRANSPORTS_TCP_LINK_LINK_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/deferred.h"
#include "transports/common/matcher.h"
#include "transports/tcp/link/connection.h"
#include "transports/tcp/link/frame_reader.h"
#include "transports/tcp/link/frame_writer.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// One thread. States:
///
///     from        to       when
///     connecting  ready    the last of its connections was adopted and connect() was called
///     connecting  failed   refuse()
///     ready       failed   run(): the peer said goodbye, closed, or sent what makes no sense
///
/// A link that is resumable stays ready when connections of it break: see lostConnections(). Bytes that were corrupted
/// on the network break a connection of a checked link.
class Link {
 public:
  /// `room`: bytes of unexpected messages that this end keeps.
  Link(int peer, std::size_t room, Deferred& deferred) : matcher_(peer, deferred), room_(room) {}

  [[nodiscard]] int peer() const { return matcher_.peer(); }
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] const Status& error() const { return refused_.isOk() ? matcher_.failure() : refused_; }

  void setWanted() {
    wanted_ = true;
    urgent_ = hasRecords(); // Connections that were lost before are to be found now.
  }
  [[nodiscard]] bool wanted() const { return wanted_; }
  /// Takes the connection on which `hello` was said: by the peer, where hello.from is its rank, else by this end. The
  /// rank `via` relays it (-1: none). Errors: the link has that connection already, or was told another count;
  /// resource.
  Status adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller, int via = -1);
  /// The rank that relays this link, or -1.
  [[nodiscard]] int via() const { return via_; }
  [[nodiscard]] bool isBegun() const { return adopted_ > 0; }
  /// Ends a link that never became ready.
  void refuse(const Status& why);

  bool send(SendOperation& operation) { return outflow_->post(operation); }
  void cancel(SendOperation& operation);
  void cancel(RecvOperation& operation) { matcher_.cancel(operation); }
  void discard(Tag mask, Tag value) { matcher_.discard(mask, value); }
  Matcher& matcher() { return matcher_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }

  /// Moves bytes both ways. `broken`: the poller reported an error or hang-up. Returns whether something happened;
  /// afterwards hasEnded() may hold, and end() must follow.
  bool run(bool broken);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// How the peer was lost, once the link has ended. `silent` may be found to be `ended` by asking: see
  /// isUnexplained().
  [[nodiscard]] PeerLoss loss() const { return loss_; }
  /// Whether a connection that is not resumed ended without a goodbye. Both a process that has ended and a middlebox on
  /// the path cause that.
  [[nodiscard]] bool isUnexplained() const { return unexplained_; }
  /// Fails all operations and closes. Returns the reason.
  Status end();
  /// Ends the link: the next run() says so.
  void giveUp(const Status& why);

  [[nodiscard]] bool isResumable() const { return resumable_; }
  /// Whether its connections have records; then they find out by reading that they are lost.
  [[nodiscard]] bool hasRecords() const { return resumable_ || checked_; }
  /// Whether a connection is lost because bytes were corrupted on the network.
  [[nodiscard]] bool wasChanged() const;
  /// Whether this end has made the connections, and makes them anew.
  [[nodiscard]] bool calls() const { return calls_; }
  /// Checks what the peer's hello asks of existing or earlier connections. Errors, which the other end reports:
  /// protocol; peerLost when nobody is to blame.
  [[nodiscard]] Status judge(const Hello& hello) const;
  /// Handles a hello that judge() accepts: the stream replaces a connection (error: resource), or the connection is to
  /// be made anew.
  Status resume(platform::Stream stream, const Hello& hello, platform::Poller& poller);
  void recall(const Hello& hello);
  /// The connections to be resumed, of a link that is ready; run() may have found them lost, or ended the link.
  [[nodiscard]] std::vector<std::size_t> lostConnections() const;
  /// The hello that resumes (or recalls) this connection, without its sender and receiver.
  [[nodiscard]] Hello greeting(std::size_t index, Purpose purpose) const;
  /// Whether the other end of connection `index` ended it in an orderly way.
  [[nodiscard]] bool wasClosed(std::size_t index) const { return connections_[index].wasClosed(); }
  /// The other end's address of connection `index` when it was first made.
  [[nodiscard]] const std::optional<platform::SocketAddress>& remote(std::size_t index) const {
    return remotes_[index];
  }
  /// No connection can be resumed: the link ends after the bytes that have arrived. run() must follow.
  void resumptionFailed(const std::string& why, PeerLoss how);
  /// Whether a connection is being resumed without which the peer would lack bytes, or the goodbye.
  [[nodiscard]] bool owesResumption() const;
  /// As owesResumption(), or whether bytes that were written on a link with records have not reached the peer's system.
  [[nodiscard]] bool hasUndelivered() const;
  /// Counters of bytes of a link with records: read by the peer; sent from here; received by the peer's system. Each
  /// changes when bytes make progress.
  [[nodiscard]] std::uint64_t acknowledged() const;
  [[nodiscard]] std::uint64_t carried() const;
  [[nodiscard]] std::uint64_t underway() const;
  /// Whether run() would do anything without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

  /// Whether nothing is to be written, and messages are read as they come.
  [[nodiscard]] bool awaitsReading() const { return intake_ && !ended_ && outflow_->isEmpty(); }

  /// For a link with records, called between its run()s until it returns true: says goodbye, and closes when the peer
  /// has read that. A link that has ended has nothing to wait for.
  bool leave();
  /// Says goodbye and closes the sending direction of a link that is ready.
  void beginClose();
  /// Reads and drops what comes; returns whether the peer's system has all bytes that were sent, or the connection is
  /// gone.
  bool isDrained();

 private:
  [[nodiscard]] bool isOver() const;
  [[nodiscard]] std::string lossReason(std::string otherwise) const;
  [[nodiscard]] bool departed() const { return loss_ == PeerLoss::departed; }
  void judgeEnd(bool broken, bool read);
  [[nodiscard]] bool isMalformed() const;

  Matcher matcher_;
  const std::size_t room_;
  std::vector<Connection> connections_; ///< By index.
  std::size_t adopted_ = 0;
  int via_ = -1;
  std::vector<std::optional<platform::SocketAddress>> remotes_; ///< By index.
  std::string address_;                                         ///< Address of the peer, as connection 0 sees it.
  bool resumable_ = false;
  bool checked_ = false;
  bool calls_ = false; ///< This end has made the connections.
  LinkToken token_{};
  bool urgent_ = false; ///< run() must check something.
  std::unique_ptr<FrameWriter> outflow_;
  std::unique_ptr<FrameReader> intake_;
  bool wanted_ = false;
  bool doomed_ = false; ///< The stream cannot go on, or the peer was given up.
  Status doom_;         ///< Why, when the connections do not tell.
  bool ended_ = false;
  PeerLoss loss_ = PeerLoss::silent;
  bool unexplained_ = false;
  bool left_ = false; ///< This end has left, and the peer knows it.
  Status refused_;
  Status why_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_LINK_H_

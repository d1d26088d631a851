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
/// A link that is resumable stays ready when connections of it break: see lostConnections(). Bytes that were changed on
/// their way are a break where the link is checked.
class Link {
 public:
  /// `room`: bytes that may lie here without a receive.
  Link(int peer, std::size_t room, Deferred& deferred) : matcher_(peer, deferred), room_(room) {}

  [[nodiscard]] int peer() const { return matcher_.peer(); }
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] const Status& error() const { return refused_.isOk() ? matcher_.failure() : refused_; }

  void setWanted() {
    wanted_ = true;
    urgent_ = hasRecords(); // What was lost before is to be found now.
  }
  [[nodiscard]] bool wanted() const { return wanted_; }
  /// Takes the connection that `hello` was said on, by the peer or, if it is not from there, by this end; the rank
  /// `via` relays it, or nobody (-1). Errors: it has that one already, or was told another count; resource.
  Status adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller, int via = -1);
  /// The rank that relays this link, or -1.
  [[nodiscard]] int via() const { return via_; }
  [[nodiscard]] bool isBegun() const { return adopted_ > 0; }
  /// Never became ready.
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
  /// Once it has ended. Silent may be asked about: see isUnexplained().
  [[nodiscard]] PeerLoss loss() const { return loss_; }
  /// A connection that is not to be resumed ended without a word. Both a process that has ended and a box on the way do
  /// that.
  [[nodiscard]] bool isUnexplained() const { return unexplained_; }
  /// Fails all operations and closes. Returns the reason.
  Status end();
  /// Ends the link: the next run() says so.
  void giveUp(const Status& why);

  [[nodiscard]] bool isResumable() const { return resumable_; }
  /// Then its connections find out for themselves, by reading, that they are lost.
  [[nodiscard]] bool hasRecords() const { return resumable_ || checked_; }
  /// A connection is lost because bytes were changed on their way.
  [[nodiscard]] bool wasChanged() const;
  /// This end has made the connections, and makes them anew.
  [[nodiscard]] bool calls() const { return calls_; }
  /// What the peer's hello asks of connections that stand, or did. Errors, for people at the other end: protocol;
  /// peerLost when nobody is to be blamed.
  [[nodiscard]] Status judge(const Hello& hello) const;
  /// The hello, which judge() accepts, is one of these: the stream takes a connection's place (error: resource), or the
  /// connection is to be made anew.
  Status resume(platform::Stream stream, const Hello& hello, platform::Poller& poller);
  void recall(const Hello& hello);
  /// Connections to be resumed, of a link that is ready; a run() may have found them, or ended the link.
  [[nodiscard]] std::vector<std::size_t> lostConnections() const;
  /// What a hello says to resume (or recall) this connection: all but who says it to whom.
  [[nodiscard]] Hello greeting(std::size_t index, Purpose purpose) const;
  /// The other end of connection `index` ended it in an orderly way.
  [[nodiscard]] bool wasClosed(std::size_t index) const { return connections_[index].wasClosed(); }
  /// Where connection `index` went to, or came from, when it was made first.
  [[nodiscard]] const std::optional<platform::SocketAddress>& remote(std::size_t index) const {
    return remotes_[index];
  }
  /// There is no way: the link ends with what has arrived. run() must follow.
  void resumptionFailed(const std::string& why, PeerLoss how);
  /// A connection is being resumed, without which the peer would lack bytes, or the goodbye.
  [[nodiscard]] bool owesResumption() const;
  /// Or something that was written, of a link that has records, has not reached the peer's system.
  [[nodiscard]] bool hasUndelivered() const;
  /// Each changes when bytes that a link that has records keeps go on: are read by the peer; or leave here, too; or
  /// reach the peer's system.
  [[nodiscard]] std::uint64_t acknowledged() const;
  [[nodiscard]] std::uint64_t carried() const;
  [[nodiscard]] std::uint64_t underway() const;
  /// run() would do something without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

  /// Nothing is to be written, and messages are read as they come.
  [[nodiscard]] bool awaitsReading() const { return intake_ && !ended_ && outflow_->isEmpty(); }

  /// For a link that has records, between its run()s until it is true: says goodbye and closes when the peer has said
  /// that it has read that. A link that has ended has nothing to wait for.
  bool leave();
  /// Says goodbye and ends the writing, for a link that is ready.
  void beginClose();
  /// Reads and forgets what comes; whether the peer's system has all that was sent, or the connection is gone.
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
  std::string address_;                                         ///< Of the peer, as connection 0 sees it.
  bool resumable_ = false;
  bool checked_ = false;
  bool calls_ = false; ///< This end has made the connections.
  LinkToken token_{};
  bool urgent_ = false; ///< run() has something to find out.
  std::unique_ptr<FrameWriter> outflow_;
  std::unique_ptr<FrameReader> intake_;
  bool wanted_ = false;
  bool doomed_ = false; ///< The stream is spoilt, or the peer was given up.
  Status doom_;         ///< Why, when it is not told by the rest.
  bool ended_ = false;
  PeerLoss loss_ = PeerLoss::silent;
  bool unexplained_ = false;
  bool left_ = false; ///< By this end, and the peer knows it.
  Status refused_;
  Status why_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_LINK_H_

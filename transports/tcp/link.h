/// The connections to one peer, from the first until the link is lost.
#ifndef GOSS_TRANSPORTS_TCP_LINK_H_
#define GOSS_TRANSPORTS_TCP_LINK_H_

#include <memory>
#include <string>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/deferred.h"
#include "transports/common/matcher.h"
#include "transports/tcp/connection.h"
#include "transports/tcp/intake.h"
#include "transports/tcp/outflow.h"

namespace goss::transports::tcp {

/// One thread. States:
///
///     from        to       when
///     connecting  ready    the last of its connections was adopted and connect() was called
///     connecting  failed   refuse()
///     ready       failed   run(): the peer said goodbye, closed, or sent what makes no sense
class Link {
 public:
  Link(int peer, std::size_t unexpected_limit, Deferred& deferred) : matcher_(peer, unexpected_limit, deferred) {}

  [[nodiscard]] int peer() const { return matcher_.peer(); }
  [[nodiscard]] LinkState state() const;
  [[nodiscard]] const Status& error() const { return refused_.isOk() ? matcher_.failure() : refused_; }

  void setWanted() { wanted_ = true; }
  [[nodiscard]] bool wanted() const { return wanted_; }
  /// Takes connection `index` of `count`, which the rank `via` relays, or nobody (-1). Errors: it has that one already,
  /// or was told another count; resource.
  Status adopt(platform::Stream stream, std::size_t index, std::size_t count, platform::Poller& poller, int via = -1);
  /// The rank that relays this link, or -1.
  [[nodiscard]] int via() const { return via_; }
  [[nodiscard]] bool isBegun() const { return adopted_ > 0; }
  /// Never became ready.
  void refuse(const Status& why);

  bool send(SendOperation& operation) { return outflow_->post(operation); }
  void cancel(SendOperation& operation);
  Matcher& matcher() { return matcher_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }

  /// Moves bytes both ways. `broken`: the poller reported an error or hang-up. Returns whether something happened;
  /// afterwards hasEnded() may hold, and end() must follow.
  bool run(bool broken);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  [[nodiscard]] bool departed() const { return departed_; }
  /// Fails all operations and closes. Returns the reason.
  Status end();
  /// Ends the link: the next run() says so.
  void giveUp(const Status& why);
  /// Messages from the peer are held back, so that its death would not be read.
  [[nodiscard]] bool isStalled() const { return intake_ && !ended_ && intake_->isStalled(); }
  /// While isStalled(): asks the peer's system for a sign of life.
  void probe();
  /// run() would do something without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

  /// Nothing is to be written, and messages are read as they come.
  [[nodiscard]] bool awaitsReading() const {
    return intake_ && !ended_ && outflow_->isEmpty() && !intake_->isStalled();
  }

  /// Says goodbye and ends the writing, for a link that is ready.
  void beginClose();
  /// Reads and forgets what comes; whether the peer's system has all that was sent, or the connection is gone.
  bool isDrained();

 private:
  void judgeEnd(bool broken, bool read);

  Matcher matcher_;
  std::vector<Connection> connections_; ///< By index.
  std::size_t adopted_ = 0;
  int via_ = -1;
  std::string address_; ///< Of the peer, as connection 0 sees it.
  std::unique_ptr<Outflow> outflow_;
  std::unique_ptr<Intake> intake_;
  bool wanted_ = false;
  bool doomed_ = false; ///< The stream is spoilt, or the peer was given up.
  Status doom_;         ///< Why, when it is not told by the rest.
  bool ended_ = false;
  bool departed_ = false;
  Status refused_;
  Status why_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_H_

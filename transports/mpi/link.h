/// Everything between this rank and one peer over MPI.
#ifndef GOSS_TRANSPORTS_MPI_LINK_H_
#define GOSS_TRANSPORTS_MPI_LINK_H_

#include <mpi.h>

#include <array>
#include <cstddef>
#include <utility>

#include "gossamer/transport.h"
#include "platform/fd.h"
#include "transports/common/matcher.h"
#include "transports/common/multipart_recvs.h"
#include "transports/mpi/inbox.h"
#include "transports/mpi/outbox.h"

namespace goss::transports::mpi {

/// States:
///
///     from        to       when
///     connecting  ready    both have said hello
///     connecting  failed   endWith(): MPI did not make the communicator
///     any         failed   end(): the peer said goodbye, died, or broke the link, or this rank did
///
/// One thread; open(), run(), end(), and those for closing only where MPI may be called. Only run() and end() call
/// operations back.
class Link {
 public:
  Link(int peer, std::size_t unexpected_limit, Deferred& deferred)
      : matcher_(peer, deferred),
        recvs_(matcher_, kWindowBytes),
        outbox_(peer, unexpected_limit, matcher_.statistics().movements, recvs_.owed()),
        inbox_(matcher_, recvs_, outbox_) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] int peer() const { return matcher_.peer(); }
  [[nodiscard]] LinkState state() const;
  /// Why the link failed; ok while it has not.
  [[nodiscard]] const Status& error() const { return matcher_.hasFailed() ? matcher_.failure() : why_; }
  void watch(platform::UniqueFd death_fd) { death_fd_ = std::move(death_fd); }
  /// Readable when the peer's process has died; -1 where that cannot be watched.
  [[nodiscard]] int deathFd() const { return death_fd_.get(); }

  /// Says hello and begins to receive. In `comm` the peer's rank is peer().
  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// As Transport::send; `now`: MPI may be called.
  bool send(SendOperation& operation, bool now) { return outbox_.post(operation, now); }
  void cancel(SendOperation& operation) { outbox_.cancel(operation); }
  void cancel(RecvOperation& operation) { matcher_.cancel(operation); }
  void discard(Tag mask, Tag value) { matcher_.discard(mask, value); }
  Matcher& matcher() { return matcher_; }
  [[nodiscard]] const Matcher& matcher() const { return matcher_; }

  /// Returns whether something happened; afterwards hasEnded() may hold, and end() must follow.
  bool run();
  [[nodiscard]] bool hasWork() const;
  [[nodiscard]] bool hasEnded() const { return !matcher_.hasFailed() && (!why_.isOk() || inbox_.departed()); }
  [[nodiscard]] bool departed() const { return why_.isOk() && inbox_.departed(); }
  /// Fails all operations and tells the peer. Returns the reason.
  Status end();
  /// Ends the link because of `why`; the first reason wins.
  void endWith(const Status& why);
  /// Ends the link because the process at the other end has died.
  void doomDead();

  /// Says goodbye behind the messages that were sent; true when the peer has received it and sends nothing more.
  bool close();
  /// Ends the wait for close(). False: MPI still has requests on the communicator.
  bool giveUp();

 private:
  Matcher matcher_;
  MultipartRecvs recvs_;
  Outbox outbox_;
  Inbox inbox_;
  platform::UniqueFd death_fd_;
  bool opened_ = false;
  bool dead_ = false;
  Status why_; ///< Set when the link is to end.
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_LINK_H_

/// Transport over MPI's point-to-point calls, for machines where only MPI may open the network.
#ifndef GOSS_TRANSPORTS_MPI_MPI_H_
#define GOSS_TRANSPORTS_MPI_MPI_H_

#include <memory>
#include <optional>
#include <vector>

#include "gossamer/transport.h"
#include "gossamer/transport_names.h"
#include "platform/clock.h"
#include "platform/poller.h"
#include "platform/timer.h"
#include "transports/common/links.h"

namespace goss::transports {

namespace mpi {
class Link;
class Session;
} // namespace mpi

/// All processes of a world must be of one MPI job, one rank in each. They get a communicator of their own. MPI cannot
/// wake a sleeping thread: it polls again after a time as long as it has been idle, at most 40 ms.
///
/// With less than MPI_THREAD_MULTIPLE only the thread that called open() moves bytes; operations that other threads
/// post wait for it.
///
/// A process that dies on the same host is noticed. On other hosts MPI decides: it may end the whole job.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const TransportContext& context);
  /// Waits up to two seconds until the peers have received all messages that were sent.
  ~MpiTransport() override;

  [[nodiscard]] std::string_view name() const override { return transport_names::kMpi; }
  Result<std::string> open() override;
  [[nodiscard]] bool reaches(std::string_view address) const override;
  Status connect(int peer, std::string_view address) override;
  [[nodiscard]] LinkState link(int peer) const override;
  [[nodiscard]] Status linkError(int peer) const override;
  bool send(SendOperation& operation) override;
  void recv(RecvOperation& operation) override;
  void cancel(SendOperation& operation) override;
  void cancel(RecvOperation& operation) override;
  bool progress() override;
  [[nodiscard]] int pollFd() const override { return poller_->fd(); }
  bool prepareToSleep() override;
  void sleepEnded() override;
  void discard(Tag mask, Tag value) override;
  void abandon(int peer, const Status& why) override;
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const override;
  [[nodiscard]] PeerStatistics statistics(int peer) const override;

 private:
  bool begin();
  bool lookForDeaths();

  const TransportContext context_;
  std::unique_ptr<mpi::Session> session_;
  Links<mpi::Link> links_;
  std::vector<int> process_ranks_;         ///< Ranks in MPI_COMM_WORLD, by peer.
  int known_ = 1;                          ///< Number of known entries of process_ranks_.
  bool begun_ = false;                     ///< The links are open.
  std::optional<platform::Poller> poller_; ///< The ticker, and processes that may die; set by open().
  std::optional<platform::Ticker> ticker_;
  platform::Clock::time_point idle_since_{};
  bool lost_ = false;  ///< A peer ended without a goodbye.
  bool moved_ = false; ///< Something has happened after idle_since_.
  bool look_for_deaths_ = false;
  unsigned turns_ = 0;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_MPI_MPI_H_

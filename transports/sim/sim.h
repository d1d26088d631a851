/// Transport over a simulated network, for tests: virtual time, and every delay and loss decided by one seed.
#ifndef GOSS_TRANSPORTS_SIM_SIM_H_
#define GOSS_TRANSPORTS_SIM_SIM_H_

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gossamer/transport.h"
#include "gossamer/transport_names.h"
#include "platform/fd.h"
#include "platform/poller.h"
#include "transports/common/deferred.h"
#include "transports/sim/hub.h"

namespace goss::transports {

/// The ranks live in one process, as threads or driven in turn by one thread. Rank 0's address leads the others to the
/// hub that they share, so every rank must connect to rank 0 (and to any others), while rank 0's transport lives. The
/// clock moves only when no rank has anything to do; see SimOptions::patience for ranks that
/// stay away. One thread at a time for each rank.
class SimTransport final : public Transport {
 public:
  /// Seed and drop probability come from the configuration.
  explicit SimTransport(const TransportContext& context);
  /// The options of rank 0 count.
  SimTransport(const TransportContext& context, sim::SimOptions options);
  ~SimTransport() override;

  [[nodiscard]] std::string_view name() const override { return transport_names::kSim; }
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
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const override;
  [[nodiscard]] PeerStatistics statistics(int peer) const override;

  /// Virtual seconds since the beginning; 0 before rank 0 is connected.
  [[nodiscard]] double now_s() const;

 private:
  struct Peer;

  [[nodiscard]] Peer& peer(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  void enter(std::shared_ptr<sim::Hub> hub);
  void handle(Peer& from, const sim::Event& event);
  void begin(Peer& from, const std::shared_ptr<sim::Message>& message);
  bool settle(Peer& from);
  void complete(sim::Message& message);
  void losePeer(Peer& from, const Status& status, PeerLoss how);
  [[nodiscard]] bool hasWork() const;
  void setTimer(std::chrono::milliseconds span);

  const TransportContext context_;
  sim::SimOptions options_;
  std::shared_ptr<sim::Hub> hub_; ///< Null until rank 0's address is known.
  std::uint64_t hub_number_ = 0;  ///< In this process, at rank 0; else 0.
  std::optional<platform::Wakeup> wakeup_;
  std::optional<platform::Poller> poller_;
  platform::UniqueFd timer_; ///< Wakes a sleeping rank that waits for a rank that may be away.
  Deferred deferred_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<sim::Event> incoming_;
  std::unordered_map<SendOperation*, std::shared_ptr<sim::Message>> pending_; ///< Sends that are not complete.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_SIM_SIM_H_

/// Transport between ranks that are threads, or several worlds, of one process.
#ifndef GOSS_TRANSPORTS_LOOPBACK_LOOPBACK_H_
#define GOSS_TRANSPORTS_LOOPBACK_LOOPBACK_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gossamer/lending.h"
#include "gossamer/transport.h"
#include "gossamer/transport_names.h"
#include "transports/common/deferred.h"
#include "transports/common/matcher.h"
#include "transports/common/offer.h"

namespace goss::transports {

namespace loopback {
class Endpoint;
struct Mail;
} // namespace loopback

/// Small messages are copied into the receiver's inbox; large ones are offered, and the receiver copies (or views) them
/// straight from the sender's buffers. A rank may connect to itself. One thread at a time.
class LoopbackTransport final : public Transport, private Lending {
 public:
  explicit LoopbackTransport(const TransportContext& context);
  ~LoopbackTransport() override;

  [[nodiscard]] std::string_view name() const override { return transport_names::kLoopback; }
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
  [[nodiscard]] int pollFd() const override;
  bool prepareToSleep() override;
  void sleepEnded() override;
  void discard(Tag mask, Tag value) override;
  [[nodiscard]] bool peek(int peer, Tag mask, Tag value, Arrived& found) const override;
  [[nodiscard]] PeerStatistics statistics(int peer) const override;
  [[nodiscard]] Lending* lending() override { return this; }

 private:
  struct Peer;

  [[nodiscard]] bool isInProcess() const override { return true; }
  bool tryLend(Tag loan) override;
  bool tryTakeBack(Tag loan) override;
  bool tryBorrow(int peer, Tag loan) override;
  bool tryGiveBack(int peer, Tag loan) override;

  /// Makes all peers at the first call: where all are reached in other ways, none is needed.
  Peer& peer(int rank) {
    if (peers_.empty()) makePeers();
    return *peers_[static_cast<std::size_t>(rank)];
  }
  /// Null: no peer was needed yet.
  [[nodiscard]] const Peer* find(int rank) const {
    return peers_.empty() ? nullptr : peers_[static_cast<std::size_t>(rank)].get();
  }
  void makePeers();
  bool sendEager(SendOperation& operation, Peer& to);
  void offer(SendOperation& operation, Peer& to);
  bool readMails();
  void handle(Peer& from, loopback::Mail& mail);
  void begin(Peer& from, loopback::Mail& mail);
  bool settle(Peer& from);
  void noteWork(Peer& from);
  void completeSend(const std::shared_ptr<Offer>& offer);
  void losePeer(Peer& from, const Status& status, PeerLoss how);
  [[nodiscard]] bool hasWork() const;

  const TransportContext context_;
  std::shared_ptr<loopback::Endpoint> endpoint_;
  Deferred deferred_;
  std::vector<std::unique_ptr<Peer>> peers_; ///< By rank; empty before the first is needed.
  std::vector<Peer*> busy_;                  ///< All peers that have work, and perhaps others.
  std::vector<Peer*> settling_;              ///< Those of busy_ that progress() settles now.
  std::vector<loopback::Mail> incoming_;
  std::unordered_map<SendOperation*, std::shared_ptr<Offer>> offers_; ///< Offers that no receiver has taken yet.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_LOOPBACK_LOOPBACK_H_

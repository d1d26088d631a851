/// Transport between processes of one host, through shared memory.
#ifndef GOSS_TRANSPORTS_SHM_SHM_H_
#define GOSS_TRANSPORTS_SHM_SHM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/shared_regions.h"
#include "gossamer/short_messages.h"
#include "gossamer/transport.h"
#include "gossamer/transport_names.h"
#include "platform/fd.h"
#include "platform/listening_socket.h"
#include "platform/poller.h"
#include "transports/common/deferred.h"
#include "transports/shm/loan_desk.h"
#include "transports/shm/regions.h"
#include "transports/shm/rendezvous.h"

namespace goss::transports {

namespace shm {
class Link;
} // namespace shm

/// Each pair of ranks shares a memfd with a ring for either direction (Config::shm_ring_bytes) and keeps a socket open
/// beside it. Each rank has one board, a memfd that all its peers map. Sending and receiving between ranks that are
/// awake makes no system call. Long messages out of regions are read where they lie (Config::shm_path,
/// shm_direct_bytes); cancelling one while the peer reads it breaks the link. Nothing has a name in a file system, so
/// nothing stays behind, however a process ends. A forked child must not use or destroy the transport of its parent,
/// except that its copy's destructor does nothing to the connections. One thread at a time.
class ShmTransport final : public Transport, private ShortMessages, private SharedRegions {
 public:
  explicit ShmTransport(const TransportContext& context);
  ~ShmTransport() override;

  [[nodiscard]] std::string_view name() const override { return transport_names::kShm; }
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
  [[nodiscard]] Board* board() override;
  [[nodiscard]] ShortMessages* shortMessages() override { return this; }
  [[nodiscard]] SharedRegions* sharedRegions() override { return this; }
  [[nodiscard]] Lending* lending() override { return &loans_; }

 private:
  struct PeerEntry;
  class SharedBoard;

  TryResult trySend(int peer, Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) override;
  TryResult tryRecv(int peer, Tag tag, const Envelope& envelope, std::span<std::byte> room,
                    std::size_t& bytes) override;
  void add(const MemoryRegion& region) override;
  Status remove(const std::byte* data) override;

  /// Makes the entries of all peers at the first call: a rank whose peers other transports reach needs none.
  [[nodiscard]] PeerEntry& entry(int rank) {
    if (entries_.empty()) makeEntries();
    return *entries_[static_cast<std::size_t>(rank)];
  }
  /// Null: no entry was needed yet.
  [[nodiscard]] PeerEntry* find(int rank) const {
    return entries_.empty() ? nullptr : entries_[static_cast<std::size_t>(rank)].get();
  }
  void makeEntries();
  Status dial(int rank);
  bool retryDials();
  Status attach(int rank, shm::Segment segment, platform::UniqueFd socket);
  bool checkSockets();
  void acceptCallers();
  bool readCallerHello(int fd);
  void readSocket(int rank);
  void handleWelcome(int rank);
  void losePeer(int rank);

  const TransportContext context_;
  const std::int64_t process_; ///< The process that made the connections; a forked child does not own them.
  std::string host_;
  std::optional<platform::Poller> poller_;
  std::optional<platform::ListeningSocket> listener_; ///< Made by open().
  std::vector<platform::UniqueFd> callers_;           ///< In the order of their calls; no hello has come from them yet.
  Deferred deferred_;
  shm::LentRegions lending_;
  shm::LoanDesk loans_;
  /// Whether this process has joined platform/fence.h, so that peers' writes need no fences of their own.
  const bool fences_;
  std::vector<std::unique_ptr<PeerEntry>> entries_; ///< By rank; empty before one is needed.
  std::unique_ptr<SharedBoard> board_;              ///< Made by open().
  /// Number of links that connect() asked for and that are not ready. While there is one, each progress() polls the
  /// sockets.
  int unready_ = 0;
  bool poll_sockets_ = false; ///< The next progress() polls the sockets.
  unsigned calls_ = 0;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_SHM_SHM_H_

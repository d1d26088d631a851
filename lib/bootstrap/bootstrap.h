/// How the ranks of a world find each other: who am I (detectLaunch), and what do the others say (Rendezvous).
///
/// Every rank calls rank 0, which gathers one opaque card from each and gives all of them to all. docs/formats.md has
/// the bytes.
#ifndef GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_
#define GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/config.h"
#include "gossamer/status.h"
#include "gossamer/transport.h"
#include "platform/socket.h"

namespace goss {

/// A process's place in the world to be.
struct Launch {
  int rank = 0;
  int ranks = 1;
  int local_rank = -1; ///< Among the ranks of this host, as the launcher says; -1: it does not.
  std::string host;    ///< Where rank 0 listens; "" when it is alone.
  std::uint16_t port = 0;
  std::vector<platform::SocketAddress> alternatives; ///< Further addresses at which rank 0 can be called.
  /// Rank 0 began to listen before anybody could know its address: when nothing listens there any more, it is gone.
  bool listens_already = false;
  int listen_fd = -1;              ///< Rank 0 only: a socket that listens already; Rendezvous::connect closes it.
  std::array<std::byte, 16> job{}; ///< Secret of this world; see docs/environment.md for where it only identifies.
  /// "unique id", "environment", "mpirun" (Open MPI), "mpiexec" (PMI), "srun" (PMIx), "slurm" (its variables), "alone".
  std::string source = "alone";
};

/// Reads rank, size and meeting point from `fields` where it has them (may be null) and from the launcher's variables
/// for the rest. The first that applies: a unique id; MASTER_ADDR and MASTER_PORT; mpirun's PMIx; mpiexec's PMI; srun's
/// PMIx; the first node of a Slurm step; alone. Where a launcher passes the meeting point around it blocks until all
/// ranks have called it. Errors: invalidArgument naming the variable or field, also when a launcher says that there are
/// more ranks but not how to meet them; bootstrap; resource.
Result<Launch> detectLaunch(const Config& config, const goss_config* fields);

/// Opens the socket that rank 0 will listen on and writes down how to reach it. The calling process must become rank 0,
/// once: the socket stays open until then. Errors: resource, invalidArgument (interface).
Result<goss_unique_id> makeUniqueId(const Config& config);
/// Closes that socket. Errors: invalidArgument when this process did not make the id, has used or destroyed it.
Status destroyUniqueId(const goss_unique_id& id);

/// One rank's end of the meeting. Used by one thread, which blocks; makes no threads. All ranks call allGather()
/// equally often.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Rank 0 begins to listen, the others find it, up to bootstrap_timeout_ms; the first allGather() shares that span.
  /// Errors: bootstrap naming rank 0 and its address, or rank 0's reason for refusing us; resource.
  static Result<std::unique_ptr<Rendezvous>> connect(const Launch& launch, const Config& config);

  /// Gives every rank the cards of all, in rank order; returns when all ranks have called it (a barrier). At most
  /// kMaxCardBytes a card. `timeout_ms` 0: Config::bootstrap_timeout_ms. Errors: bootstrap, naming the ranks that did
  /// not come or that left, on every rank that came; the meeting is over after an error.
  virtual Result<std::vector<std::string>> allGather(const std::string& card, std::int64_t timeout_ms) = 0;

  /// Between two calls of allGather(): whether the meeting still stands. Returns at once, but for an error, which rank
  /// 0 takes up to a second to tell the others. Errors: as those of allGather().
  virtual Status check() = 0;

  /// Where routers stand between this rank and rank 0.
  [[nodiscard]] const Site& site() const { return site_; }

  /// From now on allGather() calls `turn` every kTurnMs and more often while it waits, on its thread.
  void whileWaiting(std::function<void()> turn) { turn_ = std::move(turn); }

  static constexpr std::size_t kMaxCardBytes = 64u << 10;

 protected:
  static constexpr int kTurnMs = 5;
  std::function<void()> turn_; ///< Empty: nothing is to be called.
  Site site_;
};

/// connect() and one allGather().
Result<std::vector<std::string>> rendezvous(const Launch& launch, const std::string& card, const Config& config);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_

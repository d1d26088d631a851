/// A process's rank in its future world, and where it meets the other ranks: from the caller's fields, the environment
/// or the launcher.
#ifndef GOSS_LIB_BOOTSTRAP_LAUNCH_H_
#define GOSS_LIB_BOOTSTRAP_LAUNCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "gossamer/gossamer.h"
#include "gossamer/status.h"
#include "platform/fd.h"
#include "platform/socket.h"

namespace goss {

/// A process's position in its future world, and the meeting point. Movable, because it may own a socket.
struct Launch {
  int rank = 0;
  int ranks = 1;
  int local_rank = -1; ///< Number among the ranks of this host, from the launcher; -1: unknown.
  std::string host;    ///< Address at which rank 0 listens; "" when it is alone.
  std::uint16_t port = 0;
  std::vector<platform::SocketAddress> alternatives; ///< Further addresses at which rank 0 can be called.
  /// Rank 0 began to listen before any rank could know its address: when nothing listens there any more, rank 0 is
  /// gone.
  bool listens_already = false;
  platform::UniqueFd listener;     ///< Rank 0 only: a socket that listens already.
  std::array<std::byte, 16> job{}; ///< Secret of this world; docs/environment.md says where it is only an identifier.
  /// How the meeting point was found: "unique id", "environment", "mpirun" (Open MPI), "mpiexec" (PMI), "srun" (PMIx),
  /// "slurm" (its variables), "alone".
  std::string source = "alone";
};

/// Reads rank, size and meeting point from `fields` where it has them (may be null) and from the launcher's variables
/// for the rest. The first that applies: a unique id; MASTER_ADDR and MASTER_PORT; mpirun's PMIx; mpiexec's PMI; srun's
/// PMIx; the first node of a Slurm step; alone. Where a launcher passes the meeting point around it blocks until all
/// ranks have called it. Errors: invalidArgument naming the variable or field, also when a launcher says that there are
/// more ranks but not how to meet them; bootstrap; resource.
Result<Launch> detectLaunch(const Config& config, const goss_config* fields);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_LAUNCH_H_

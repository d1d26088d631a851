/// Initialises MPI where the application has not, and makes the communicator that the ranks of a world share.
#ifndef GOSS_TRANSPORTS_MPI_SESSION_H_
#define GOSS_TRANSPORTS_MPI_SESSION_H_

#include <mpi.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <thread>
#include <vector>

#include "gossamer/status.h"

namespace goss::transports::mpi {

/// GOSS_ERR_RESOURCE, or PEER_LOST for `peer` >= 0, with MPI's own text.
Status mpiError(int peer, std::string_view what, int code);

/// One thread at a time; mayCall() says which thread may call MPI.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Initialises MPI if the application has not; MPI is then finalised when the process ends, if each connect() was
  /// followed by settle(). Errors: unsupported.
  Status open();
  /// This process's rank in MPI_COMM_WORLD.
  [[nodiscard]] int processRank() const { return process_rank_; }
  /// Makes comm(), in which the processes with these ranks of MPI_COMM_WORLD have the ranks of this list. All of them
  /// call it, and it waits for them. `job`: the world's secret, the same in all. Errors: unsupported when they are not
  /// different processes of this job, and those of MPI.
  Status connect(const std::vector<int>& process_ranks, const std::array<std::byte, 16>& job);
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  /// After connect(): all ranks have said goodbye.
  static void settle();
  /// Frees comm(), of which no request may be pending.
  void disconnect();
  /// Whether this thread may call MPI now: any thread where MPI allows it, else the thread that called open(); and MPI
  /// is not finalised.
  [[nodiscard]] bool mayCall() const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int level_ = MPI_THREAD_SINGLE;
  int process_rank_ = 0;
  std::thread::id opener_;
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_SESSION_H_

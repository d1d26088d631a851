/// The peer library's side of a comparison. Built from mpi_engine.cc where MPI was found, else from mpi_absent.cc.
#ifndef GOSS_BENCH_SUITE_MPI_ENGINE_H_
#define GOSS_BENCH_SUITE_MPI_ENGINE_H_

#include <memory>

#include "bench/suite/engine.h"

namespace goss::bench {

/// MPI_Init and MPI_Finalize around a comparison. Everything here throws std::runtime_error when it fails.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// A Gossamer communicator over the ranks of MPI_COMM_WORLD.
  goss_comm_t createComm(const goss_config& config) const;
  std::unique_ptr<Engine> makeEngine() const;
  /// Ends all ranks at once, as a rank that failed must, because the others may be inside MPI.
  [[noreturn]] void abort() const;
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_MPI_ENGINE_H_

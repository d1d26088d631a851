#include <cstdlib>
#include <stdexcept>

#include "bench/suite/mpi_engine.h"

namespace goss::bench {

MpiSession::MpiSession() {
  throw std::runtime_error(
      "this goss-bench was built without MPI; install libopenmpi-dev and build again for --compare mpi");
}
MpiSession::~MpiSession() {} // A defaulted one would be trivial here, but not in builds with MPI.
goss_comm_t MpiSession::createComm(const goss_config&) const { return nullptr; }
std::unique_ptr<Engine> MpiSession::makeEngine() const { return nullptr; }
void MpiSession::abort() const { std::exit(1); }

} // namespace goss::bench

#include "bindings/mpi/settings.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>

namespace goss::interposer {

namespace {

std::string text(const char* variable) {
  const char* found = std::getenv(variable);
  return found == nullptr ? "" : found;
}

/// Processors that this process may run on.
long processors() {
  cpu_set_t mine;
  return ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : ::sysconf(_SC_NPROCESSORS_ONLN);
}

Settings read() {
  Settings read;
  read.codec = text("GOSS_MPI_CODEC");
  const std::string report = text("GOSS_MPI_REPORT");
  read.report = !report.empty() && report != "0";
  read.has_timeout = !text("GOSS_TIMEOUT_MS").empty();
  read.has_spin = !text("GOSS_SPIN_US").empty();
  read.shares_processors = std::atol(text("OMPI_COMM_WORLD_LOCAL_SIZE").c_str()) > processors();
  read.is_encrypted = !text("GOSS_TLS").empty();
  read.is_over_mpi = text("GOSS_TRANSPORT") == "mpi";
  return read;
}

} // namespace

const Settings& settings() {
  static const Settings once = read();
  return once;
}

} // namespace goss::interposer

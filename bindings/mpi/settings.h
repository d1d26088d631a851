/// The settings of the interposer, from environment variables. The library's own variables, such as GOSS_TLS, apply
/// too.
#ifndef GOSS_BINDINGS_MPI_SETTINGS_H_
#define GOSS_BINDINGS_MPI_SETTINGS_H_

#include <string>

namespace goss::interposer {

struct Settings {
  std::string codec;        ///< GOSS_MPI_CODEC: codec of all-reduces of MPI_FLOAT by MPI_SUM; "": none.
  bool report = false;      ///< GOSS_MPI_REPORT=1: rank 0 reports at MPI_Finalize who served which calls.
  bool has_timeout = false; ///< GOSS_TIMEOUT_MS is set. Else a rank may wait as long as MPI would.
  bool has_spin = false;    ///< GOSS_SPIN_US is set. Else a rank polls as long as MPI would, unless shares_processors.
  bool shares_processors = false; ///< Open MPI has started more ranks on this host than it has processors.
  bool is_encrypted = false;      ///< GOSS_TLS is set: no call goes to MPI because Gossamer ran out of something.
  bool is_over_mpi = false;       ///< GOSS_TRANSPORT=mpi, which cannot be served here.
};

/// Read once.
const Settings& settings();

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_SETTINGS_H_

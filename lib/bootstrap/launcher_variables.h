/// The variables by which launchers tell a process its rank, the number of ranks, and their meeting point.
#ifndef GOSS_LIB_BOOTSTRAP_LAUNCHER_VARIABLES_H_
#define GOSS_LIB_BOOTSTRAP_LAUNCHER_VARIABLES_H_

#include <optional>
#include <string>
#include <string_view>

#include "gossamer/status.h"

namespace goss {

/// A process's rank and number of ranks, from one launcher; -1: the launcher does not tell.
struct LauncherRank {
  int rank = -1;
  int ranks = -1;
  int local_rank = -1;

  /// Whether the launcher says anything about ranks.
  [[nodiscard]] bool known() const { return rank >= 0 || ranks >= 0; }
};

struct LauncherVariables {
  LauncherRank torchrun; ///< RANK, WORLD_SIZE, LOCAL_RANK: torchrun's, or set by hand.
  LauncherRank mpirun;   ///< OMPI_COMM_WORLD_RANK and so on: Open MPI's.
  LauncherRank pmi;      ///< PMI_RANK, PMI_SIZE, MPI_LOCALRANKID: MPICH's hydra, Intel MPI, srun --mpi=pmi2.
  LauncherRank slurm;    ///< SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID: a task of srun.
  std::string master_addr;
  int master_port = -1;
  std::string run_id;
  bool agent_store = false; ///< torchrun's agent listens on MASTER_PORT itself.
  int pmi_fd = -1;          ///< PMI_FD: the descriptor on which the launcher speaks PMI-1.
  bool pmix = false;        ///< PMIX_NAMESPACE is set: the launcher has a PMIx server.
  std::string slurm_job;    ///< SLURM_JOB_ID and SLURM_STEP_ID, "" outside of a step.
  std::string slurm_nodes;  ///< SLURM_STEP_NODELIST, as "n[01-03,7]".

  /// The ranks of the first launcher that knows this process. A batch script of Slurm is not a task:
  /// SLURM_STEP_NUM_TASKS is not set there.
  [[nodiscard]] const LauncherRank& given() const;

  /// Reads the environment. Errors: invalidArgument naming a malformed variable.
  static Result<LauncherVariables> read();
};

/// The error (bootstrap) of a rank that cannot meet the others through its launcher's `interface`, PMI or PMIx. It says
/// what to do instead.
Status launcherError(std::string_view interface, std::string_view why);

/// The first host in a list of Slurm: "n01" for "n[01-03,7],m2". nullopt when the text is no such list.
std::optional<std::string> firstSlurmHost(std::string_view nodes);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_LAUNCHER_VARIABLES_H_

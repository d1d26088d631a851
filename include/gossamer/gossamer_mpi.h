/// A Gossamer communicator over the ranks of an MPI communicator, for programs that have MPI already.
///
/// Header-only, so that the library itself does not link MPI: include it where mpi.h can be found.
#ifndef GOSSAMER_GOSSAMER_MPI_H_
#define GOSSAMER_GOSSAMER_MPI_H_

#include <mpi.h>

#include "gossamer/gossamer.h"

/// Collective over `mpi_comm`: makes a communicator with the same ranks in the same order. MPI is used only during this
/// call and may be finalized before `*comm` is destroyed. `config` NULL: defaults and the environment; else its rank,
/// ranks and unique_id are ignored. Errors: as goss_comm_create. When one rank cannot begin, all ranks fail: that rank
/// with its own error, the others with GOSS_ERR_BOOTSTRAP; a failure of MPI itself counts as GOSS_ERR_BOOTSTRAP.
/// `*comm` is set only on success.
static inline goss_status goss_comm_create_from_mpi(MPI_Comm mpi_comm, const goss_config* config, goss_comm_t* comm) {
  goss_config settings;
  goss_unique_id id;
  goss_status mine = goss_config_init(&settings);
  int rank = 0;
  int ranks = 0;
  int own = 0;
  int worst = 0;
  if (MPI_Comm_rank(mpi_comm, &rank) != MPI_SUCCESS || MPI_Comm_size(mpi_comm, &ranks) != MPI_SUCCESS) {
    return GOSS_ERR_BOOTSTRAP;
  }
  if (config) {
    settings = *config;
    mine = GOSS_SUCCESS;
  }
  if (mine == GOSS_SUCCESS && rank == 0) mine = goss_unique_id_create(&id);
  /* All errors are negative, so the smallest says whether anybody has one. */
  own = (int)mine;
  if (MPI_Allreduce(&own, &worst, 1, MPI_INT, MPI_MIN, mpi_comm) != MPI_SUCCESS) return GOSS_ERR_BOOTSTRAP;
  if (worst != 0) return mine != GOSS_SUCCESS ? mine : GOSS_ERR_BOOTSTRAP;
  if (MPI_Bcast(id.bytes, (int)sizeof(id.bytes), MPI_BYTE, 0, mpi_comm) != MPI_SUCCESS) return GOSS_ERR_BOOTSTRAP;
  settings.rank = (int32_t)rank;
  settings.ranks = (int32_t)ranks;
  settings.unique_id = &id;
  return goss_comm_create(&settings, comm);
}

#endif // GOSSAMER_GOSSAMER_MPI_H_

/// Makes a communicator over the processes of an MPI_Comm. Header only (C99), so that the library itself does not link
/// MPI: include it in a program that does.
#ifndef GOSSAMER_GOSSAMER_MPI_H_
#define GOSSAMER_GOSSAMER_MPI_H_

#include <mpi.h>
#include <string.h>

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Collective over `mpi`: its rank 0 makes a unique id, MPI_Bcast passes it on, and all call goss_comm_create with
/// their ranks in `mpi`. `config` NULL: everything from the environment; its rank, ranks and unique_id are ignored. The
/// communicator outlives `mpi` and does not use it. Errors: those of goss_config_init, goss_unique_id_create (on all
/// ranks then) and goss_comm_create; GOSS_ERR_INVALID_ARGUMENT when an MPI call fails and its error handler returns.
static inline goss_status goss_comm_create_from_mpi(MPI_Comm mpi, const goss_config* config, goss_comm_t* comm) {
  struct {
    int32_t status;
    goss_unique_id id;
  } message;
  goss_config settings;
  goss_status mine;
  int rank = 0;
  int ranks = 0;
  if (MPI_Comm_rank(mpi, &rank) != MPI_SUCCESS || MPI_Comm_size(mpi, &ranks) != MPI_SUCCESS)
    return GOSS_ERR_INVALID_ARGUMENT;
  memset(&message, 0, sizeof message);
  mine = goss_config_init(&settings);
  if (rank == 0) message.status = (int32_t)(mine == GOSS_SUCCESS ? goss_unique_id_create(&message.id) : mine);
  // Also after a failure: the other ranks wait here.
  if (MPI_Bcast(&message, (int)sizeof message, MPI_BYTE, 0, mpi) != MPI_SUCCESS) return GOSS_ERR_INVALID_ARGUMENT;
  if (mine != GOSS_SUCCESS) return mine;
  if (message.status != 0) return (goss_status)message.status;
  if (config != NULL) memcpy(&settings, config, config->size < sizeof settings ? config->size : sizeof settings);
  settings.size = sizeof settings;
  settings.rank = rank;
  settings.ranks = ranks;
  settings.unique_id = &message.id;
  return goss_comm_create(&settings, comm);
}

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_GOSSAMER_MPI_H_

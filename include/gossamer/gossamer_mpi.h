/// A Gossamer communicator over the ranks of an MPI communicator, for programs that have MPI already.
///
/// Header-only, so that the library itself does not link MPI: include it where mpi.h can be found.
#ifndef GOSSAMER_GOSSAMER_MPI_H_
#define GOSSAMER_GOSSAMER_MPI_H_

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "gossamer/gossamer.h"

/// The error of one rank, as goss_comm_create_from_mpi sends it to the other ranks. `text` ends with a zero byte.
typedef struct goss_mpi_outcome {
  int32_t status;
  char text[1020];
} goss_mpi_outcome;

static inline goss_status goss_mpi_failed(void) {
  return goss_set_last_error(GOSS_ERR_BOOTSTRAP, "goss_comm_create_from_mpi: a call of MPI failed");
}

/// A part of goss_comm_create_from_mpi, collective: returns GOSS_SUCCESS if `mine` is GOSS_SUCCESS on all ranks.
/// Otherwise a rank whose `mine` is an error returns `mine`, and the other ranks return GOSS_ERR_BOOTSTRAP with the
/// error text of the first such rank.
static inline goss_status goss_mpi_agree(MPI_Comm mpi_comm, int rank, goss_status mine) {
  struct {
    int order; /* 0: failed by itself; 1: missed others, which have more to tell; 2: has no error. */
    int rank;
  } own, first;
  goss_mpi_outcome outcome;
  char text[sizeof outcome.text + 64];
  memset(&outcome, 0, sizeof outcome);
  outcome.status = mine;
  if (mine != GOSS_SUCCESS) snprintf(outcome.text, sizeof outcome.text, "%s", goss_last_error());
  own.order = mine == GOSS_SUCCESS ? 2 : mine == GOSS_ERR_BOOTSTRAP ? 1 : 0;
  own.rank = rank;
  if (MPI_Allreduce(&own, &first, 1, MPI_2INT, MPI_MINLOC, mpi_comm) != MPI_SUCCESS) return goss_mpi_failed();
  if (first.order == 2) return GOSS_SUCCESS;
  if (MPI_Bcast(&outcome, (int)sizeof outcome, MPI_BYTE, first.rank, mpi_comm) != MPI_SUCCESS) return goss_mpi_failed();
  if (own.order == 0 || first.rank == rank) return mine;
  snprintf(text, sizeof text, "rank %d failed (%s): %s", first.rank, goss_status_string((goss_status)outcome.status),
           outcome.text);
  return goss_set_last_error(GOSS_ERR_BOOTSTRAP, text);
}

// NOLINTBEGIN(modernize-use-nullptr): C has no nullptr.
/// Collective over `mpi_comm`: makes a communicator with the same ranks in the same order. MPI is used only during this
/// call and may be finalized before `*comm` is destroyed. `config` NULL: defaults and the environment; else its rank,
/// ranks and unique_id are ignored. Errors: as goss_comm_create. When one rank fails, all ranks fail: that rank with
/// its own error, the others with GOSS_ERR_BOOTSTRAP and its text in goss_last_error(); a failure of MPI itself counts
/// as GOSS_ERR_BOOTSTRAP. `*comm` is set only on success, and after a failure nothing is left open.
static inline goss_status goss_comm_create_from_mpi(MPI_Comm mpi_comm, const goss_config* config, goss_comm_t* comm) {
  goss_config settings;
  goss_unique_id id;
  goss_comm_t made = NULL;
  goss_status mine = config != NULL ? goss_config_check(config) : goss_config_init(&settings);
  goss_status all = GOSS_SUCCESS;
  int rank = 0;
  int ranks = 0;
  int has_id = 0;
  if (MPI_Comm_rank(mpi_comm, &rank) != MPI_SUCCESS || MPI_Comm_size(mpi_comm, &ranks) != MPI_SUCCESS) {
    return goss_mpi_failed();
  }
  if (comm == NULL) mine = goss_set_last_error(GOSS_ERR_INVALID_ARGUMENT, "goss_comm_create_from_mpi: comm is NULL");
  if (mine == GOSS_SUCCESS && config != NULL) settings = *config;
  if (mine == GOSS_SUCCESS && rank == 0) {
    mine = goss_unique_id_create_with(&settings, &id);
    has_id = mine == GOSS_SUCCESS;
  }
  all = goss_mpi_agree(mpi_comm, rank, mine);
  if (all == GOSS_SUCCESS && MPI_Bcast(id.bytes, (int)sizeof(id.bytes), MPI_BYTE, 0, mpi_comm) != MPI_SUCCESS) {
    all = goss_mpi_failed();
  }
  if (all == GOSS_SUCCESS) {
    settings.rank = (int32_t)rank;
    settings.ranks = (int32_t)ranks;
    settings.unique_id = &id;
    all = goss_mpi_agree(mpi_comm, rank, goss_comm_create(&settings, &made));
  }
  if (all == GOSS_SUCCESS) {
    *comm = made;
    return GOSS_SUCCESS;
  }
  goss_comm_destroy(made);
  if (has_id) {
    /* goss_comm_create has mostly taken it; then this fails, and the text is the first error's again. */
    char text[1024];
    snprintf(text, sizeof text, "%s", goss_last_error());
    if (goss_unique_id_destroy(&id) != GOSS_SUCCESS) goss_set_last_error(all, text);
  }
  return all;
}
// NOLINTEND(modernize-use-nullptr)

#endif // GOSSAMER_GOSSAMER_MPI_H_

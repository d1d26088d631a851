/// The Gossamer communicator of an MPI communicator, cached as its attribute.
///
/// Gossamer serves a collective on all ranks or on none. So at each call either all ranks of the MPI communicator have
/// a Gossamer communicator or none has. It is made in functions that are collective over the MPI communicator: in
/// MPI_Init, in functions that make a communicator from one that has a Gossamer communicator, and else in the first
/// blocking collective. Until then MPI serves non-blocking collectives, because they must not wait for other ranks.
#ifndef GOSS_BINDINGS_MPI_COMMUNICATOR_H_
#define GOSS_BINDINGS_MPI_COMMUNICATOR_H_

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bindings/mpi/last_lookup.h"
#include "gossamer/gossamer.h"

namespace goss::interposer {

/// Lives as long as the MPI communicator and all operations that use it, or until closeAll().
class Communicator {
 public:
  Communicator(MPI_Comm mpi, goss_comm_t goss);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  goss_comm_t goss() const { return goss_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// The communicator whose error handler gets failures; MPI_COMM_WORLD after MPI_Comm_free.
  MPI_Comm mpi() const { return is_freed_ ? MPI_COMM_WORLD : mpi_; }
  void setFreed() { is_freed_ = true; }

  /// The neighbours in the communicator's topology; MPI_PROC_NULL where a grid ends.
  const std::vector<int>& sources() const { return sources_; }
  const std::vector<int>& destinations() const { return destinations_; }
  /// Whether this rank has a topology whose lists of neighbours hold neither the rank itself nor any rank twice.
  /// Gossamer serves no others.
  bool hasPlainNeighbors() const;
  /// Whether hasPlainNeighbors() on all ranks; set when they have agreed.
  bool serves_neighbors = false;

  void close();

 private:
  void readTopology();

  MPI_Comm mpi_;
  std::atomic<goss_comm_t> goss_;
  std::atomic<bool> is_freed_{false};
  int rank_ = 0;
  int ranks_ = 0;
  bool has_topology_ = false;
  std::vector<int> sources_;
  std::vector<int> destinations_;
};

/// What find() returns: Gossamer's communicator of an MPI communicator, or why it has none.
struct Found {
  std::shared_ptr<Communicator> communicator; ///< Null: MPI serves the collectives.
  std::string reason;                         ///< Why MPI serves them.
  int error = MPI_SUCCESS;                    ///< Error of setting it up; the error handler has been called.
};

/// Counts the communicators that have been freed.
FreedCounter& freedCommunicators();

/// The Gossamer communicator of `comm`. With `may_make` it makes one where there is none yet; the call is then
/// collective over `comm`.
Found find(MPI_Comm comm, bool may_make);

/// Makes the Gossamer communicator of `made`, which a function of MPI has just made of ranks of `parent` (MPI_COMM_NULL
/// on the others). Collective over `parent`. Returns MPI_SUCCESS, or the error for that function.
int adopt(MPI_Comm parent, MPI_Comm made);

/// Makes another communicator of the same ranks, whose operations have an order of their own. Collective over
/// `original`.
Found duplicate(const std::shared_ptr<Communicator>& original);

/// Closes all communicators before MPI_Finalize. From then on MPI serves all collectives.
void closeAll();

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_COMMUNICATOR_H_

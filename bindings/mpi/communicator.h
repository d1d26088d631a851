/// The Gossamer communicator of an MPI communicator, cached as its attribute.
///
/// A collective goes to Gossamer on all ranks or on none, so whether there is a Gossamer communicator must be the same
/// on all ranks at each call. It is made where all ranks of an MPI communicator pass in the same order among its
/// collectives: in MPI_Init, in functions that make a communicator of one that has it, and else in the first blocking
/// collective. Until then non-blocking collectives, which must not wait for other ranks, go to MPI.
#ifndef GOSS_BINDINGS_MPI_COMMUNICATOR_H_
#define GOSS_BINDINGS_MPI_COMMUNICATOR_H_

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bindings/mpi/last_seen.h"
#include "gossamer/gossamer.h"

namespace goss::interposer {

/// Destroyed with the last operation that uses it, or by closeAll.
class Communicator {
 public:
  Communicator(MPI_Comm mpi, goss_comm_t goss);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  goss_comm_t goss() const { return goss_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  /// Whose error handler is called; MPI_COMM_WORLD after MPI_Comm_free.
  MPI_Comm mpi() const { return is_freed_ ? MPI_COMM_WORLD : mpi_; }
  void setFreed() { is_freed_ = true; }

  /// Ranks of the topology, with MPI_PROC_NULL where a grid ends.
  const std::vector<int>& sources() const { return sources_; }
  const std::vector<int>& destinations() const { return destinations_; }
  /// Whether this rank has a topology whose lists of neighbours hold neither the rank itself nor any rank twice.
  /// Gossamer matches no others.
  bool hasPlainNeighbors() const;
  /// Whether that holds for all ranks; set when they have agreed.
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
  std::shared_ptr<Communicator> communicator; ///< Null: its collectives go to MPI.
  std::string reason;                         ///< Why they do.
  int error = MPI_SUCCESS;                    ///< Error of setting it up; the error handler has been called.
};

/// The communicators that have been freed.
Freed& freedCommunicators();

/// Makes one where there is none yet, if `may_make`: then collective over `comm`.
Found find(MPI_Comm comm, bool may_make);

/// Collective over `parent`, after a function made `made` (MPI_COMM_NULL on ranks that are not in it) of its ranks.
/// Returns MPI_SUCCESS or what that function shall return.
int adopt(MPI_Comm parent, MPI_Comm made);

/// Collective over `original`: another of the same ranks, whose operations have an order of their own. Null: reason
/// and error say why.
Found duplicate(const std::shared_ptr<Communicator>& original);

/// Before MPI_Finalize. From then on all collectives go to MPI.
void closeAll();

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_COMMUNICATOR_H_

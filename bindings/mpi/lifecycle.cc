// MPI_Init and MPI_Finalize, and the functions that make communicators from communicators.
#include <mpi.h>

#include "bindings/mpi/communicator.h"
#include "bindings/mpi/real.h"
#include "bindings/mpi/report.h"
#include "bindings/mpi/requests.h"

namespace goss::interposer {

namespace {

int afterInit(int result) {
  if (result != MPI_SUCCESS) return result;
  startRequests();
  return find(MPI_COMM_WORLD, true).error;
}

template <class Function, class... Arguments>
int makeCommunicator(const Real<Function>& real, MPI_Comm parent, MPI_Comm* made, Arguments... arguments) {
  const int result = real(parent, arguments..., made);
  return result == MPI_SUCCESS ? adopt(parent, *made) : result;
}

} // namespace

} // namespace goss::interposer

using namespace goss::interposer;

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  static const Real<decltype(MPI_Init)> real("PMPI_Init");
  return afterInit(real(argc, argv));
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  static const Real<decltype(MPI_Init_thread)> real("PMPI_Init_thread");
  return afterInit(real(argc, argv, required, provided));
}

int MPI_Finalize(void) {
  static const Real<int()> real("PMPI_Finalize");
  printReport();
  stopRequests();
  closeAll();
  return real();
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  static const Real<decltype(MPI_Comm_dup)> real("PMPI_Comm_dup");
  return makeCommunicator(real, comm, made);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  static const Real<decltype(MPI_Comm_dup_with_info)> real("PMPI_Comm_dup_with_info");
  return makeCommunicator(real, comm, made, info);
}

int MPI_Comm_split(MPI_Comm comm, int color, int order, MPI_Comm* made) {
  static const Real<decltype(MPI_Comm_split)> real("PMPI_Comm_split");
  return makeCommunicator(real, comm, made, color, order);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm* made) {
  static const Real<decltype(MPI_Comm_split_type)> real("PMPI_Comm_split_type");
  return makeCommunicator(real, comm, made, type, order, info);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  static const Real<decltype(MPI_Comm_create)> real("PMPI_Comm_create");
  return makeCommunicator(real, comm, made, group);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int lengths[], const int periods[], int reorder,
                    MPI_Comm* made) {
  static const Real<decltype(MPI_Cart_create)> real("PMPI_Cart_create");
  return makeCommunicator(real, comm, made, dimensions, lengths, periods, reorder);
}

int MPI_Cart_sub(MPI_Comm comm, const int remaining[], MPI_Comm* made) {
  static const Real<decltype(MPI_Cart_sub)> real("PMPI_Cart_sub");
  return makeCommunicator(real, comm, made, remaining);
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* made) {
  static const Real<decltype(MPI_Graph_create)> real("PMPI_Graph_create");
  return makeCommunicator(real, comm, made, nodes, index, edges, reorder);
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[],
                          const int weights[], MPI_Info info, int reorder, MPI_Comm* made) {
  static const Real<decltype(MPI_Dist_graph_create)> real("PMPI_Dist_graph_create");
  return makeCommunicator(real, comm, made, n, nodes, degrees, targets, weights, info, reorder);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[], const int source_weights[],
                                   int outdegree, const int destinations[], const int destination_weights[],
                                   MPI_Info info, int reorder, MPI_Comm* made) {
  static const Real<decltype(MPI_Dist_graph_create_adjacent)> real("PMPI_Dist_graph_create_adjacent");
  return makeCommunicator(real, comm, made, indegree, sources, source_weights, outdegree, destinations,
                          destination_weights, info, reorder);
}

} // extern "C"

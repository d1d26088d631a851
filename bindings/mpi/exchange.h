/// Sends and receives of blocks of any lengths between a rank and others, for MPI's collectives in which no rank but
/// perhaps one knows all counts.
#ifndef GOSS_BINDINGS_MPI_EXCHANGE_H_
#define GOSS_BINDINGS_MPI_EXCHANGE_H_

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "bindings/mpi/operation.h"

namespace goss::interposer {

/// A block that this rank sends to `peer` or receives from it. With MPI_PROC_NULL nothing is sent or received.
struct Part {
  int peer = MPI_PROC_NULL;
  Block block;
};

/// Completes the operation `made`: it sends and receives these parts. A list must not name a rank twice, or this rank.
/// For each part that one rank sends, the other must receive one of as many bytes.
Plan exchange(std::unique_ptr<Operation> made, const std::vector<Part>& sends, const std::vector<Part>& recvs);

/// The blocks of a call whose name ends in v, such as MPI_Gatherv: block i is that of rank or neighbour i. `counts` and
/// `displs` are MPI's arguments.
struct Vector {
  const void* base = nullptr;
  const int* counts = nullptr;
  const int* displs = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  bool isValid(std::size_t size) const;
  /// `made` keeps copies of the lists, which describe `size` blocks (Operation::holdList).
  void holdLists(Operation& made, std::size_t size) const {
    made.holdList(counts, size);
    made.holdList(displs, size);
  }
  Block operator[](std::size_t i) const { return block(base, displs[i], counts[i], type); }
};

/// The blocks of a call whose name ends in w, such as MPI_Alltoallw: each has a type of its own. `Displacement` is in
/// bytes: an int, or an MPI_Aint among neighbours.
template <class Displacement>
struct TypedVector {
  const void* base = nullptr;
  const int* counts = nullptr;
  const Displacement* displs = nullptr;
  const MPI_Datatype* types = nullptr;

  bool isValid(std::size_t size) const {
    if (size > 0 && (counts == nullptr || displs == nullptr || types == nullptr)) return false;
    for (std::size_t i = 0; i < size; ++i)
      if (counts[i] < 0 || types[i] == MPI_DATATYPE_NULL) return false;
    return true;
  }
  void holdLists(Operation& made, std::size_t size) const {
    made.holdList(counts, size);
    made.holdList(displs, size);
    made.holdList(types, size);
  }
  Block operator[](std::size_t i) const {
    const auto first = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(MPI_Aint{displs[i]});
    return block(reinterpret_cast<const void*>(first), counts[i], types[i]);
  }
};

/// Whether all counts are equal, so that a collective without a list of counts does the same.
template <class Count>
bool areEqual(const std::vector<Count>& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

/// The first `size` blocks of a Vector or TypedVector.
template <class Blocks>
std::vector<Block> blocksOf(const Blocks& from, std::size_t size) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < size; ++i)
    blocks.push_back(from[i]);
  return blocks;
}

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_EXCHANGE_H_

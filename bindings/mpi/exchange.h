/// Blocks of any lengths between a rank and others: the calls of MPI whose counts are known in parts to each rank.
#ifndef GOSS_BINDINGS_MPI_EXCHANGE_H_
#define GOSS_BINDINGS_MPI_EXCHANGE_H_

#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "bindings/mpi/operation.h"

namespace goss::interposer {

/// A block for `peer`, or from it; with MPI_PROC_NULL none.
struct Part {
  int peer = MPI_PROC_NULL;
  Block block;
};

/// `made` sends and receives these parts; no rank may be twice in a list, or this rank in one. Each part of one rank
/// must have its like at the other.
Plan exchange(std::unique_ptr<Operation> made, const std::vector<Part>& sends, const std::vector<Part>& recvs);

/// The block of one rank in a call whose name ends in v, or (where each rank has a type) in w. `counts` and `displs`
/// are MPI's, `i` counts ranks or neighbours.
struct Vector {
  const void* base = nullptr;
  const int* counts = nullptr;
  const int* displs = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  bool isValid(std::size_t size) const;
  /// `made` follows from the first `size` blocks.
  void tell(Operation& made, std::size_t size) const {
    made.followsFrom(counts, size);
    made.followsFrom(displs, size);
  }
  Block operator[](std::size_t i) const { return block(base, displs[i], counts[i], type); }
};

/// `Displacement` in bytes: int, or MPI_Aint among neighbours.
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
  void tell(Operation& made, std::size_t size) const {
    made.followsFrom(counts, size);
    made.followsFrom(displs, size);
    made.followsFrom(types, size);
  }
  Block operator[](std::size_t i) const {
    const auto first = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(MPI_Aint{displs[i]});
    return block(reinterpret_cast<const void*>(first), counts[i], types[i]);
  }
};

/// Whether all ranks have blocks of one length, so that a call with counts is one without.
template <class Count>
bool areEqual(const std::vector<Count>& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

/// The first `size` blocks of either kind.
template <class Blocks>
std::vector<Block> blocksOf(const Blocks& from, std::size_t size) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < size; ++i)
    blocks.push_back(from[i]);
  return blocks;
}

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_EXCHANGE_H_

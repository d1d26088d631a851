/// Blocks of any lengths between a rank and others: the calls of MPI whose counts are known in parts to each rank.
#ifndef GOSS_BINDINGS_MPI_EXCHANGE_H_
#define GOSS_BINDINGS_MPI_EXCHANGE_H_

#include <mpi.h>

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
  Block operator[](std::size_t i) const {
    const auto first = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(MPI_Aint{displs[i]});
    return block(reinterpret_cast<const void*>(first), counts[i], types[i]);
  }
};

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

/// The types and reduction operations of Gossamer that equal MPI's.
#ifndef GOSS_BINDINGS_MPI_TYPES_H_
#define GOSS_BINDINGS_MPI_TYPES_H_

#include <mpi.h>

#include <cstddef>
#include <optional>

#include "bindings/mpi/last_lookup.h"
#include "gossamer/gossamer.h"

namespace goss::interposer {

/// How one element of a type lies in memory.
struct TypeFacts {
  std::size_t bytes = 0;      ///< Size of an element's data.
  MPI_Aint extent = 0;        ///< From one element to the next.
  bool is_contiguous = false; ///< Whether its bytes lie without gaps in the order in which MPI sends them.
};

/// `type` is any but MPI_DATATYPE_NULL. The facts are cached as an attribute of the type.
TypeFacts factsOf(MPI_Datatype type);
/// Counts the types that have been freed.
FreedCounter& freedTypes();

/// A reduction that Gossamer has.
struct Arithmetic {
  goss_dtype dtype = GOSS_UINT8;
  goss_op op = GOSS_SUM;
  std::size_t per_element = 1; ///< Elements of `dtype` in one of MPI's: 2 for complex numbers.
};

/// The reduction of Gossamer that equals MPI's; nullopt: none, and MPI must serve or refuse the call. Depends on
/// nothing but its arguments, which MPI requires to be the same on all ranks.
std::optional<Arithmetic> arithmeticOf(MPI_Datatype type, MPI_Op op);

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_TYPES_H_

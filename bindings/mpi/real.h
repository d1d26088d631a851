/// Calls MPI's own functions.
///
/// This library defines MPI_X and PMPI_X, because Open MPI's Fortran functions call PMPI_X. So MPI's own function is
/// the next PMPI_X that the dynamic linker finds. A function that this library does not define is called as PMPI_X
/// directly.
#ifndef GOSS_BINDINGS_MPI_REAL_H_
#define GOSS_BINDINGS_MPI_REAL_H_

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace goss::interposer {

template <class Function>
class Real {
 public:
  /// `name` begins with P and lives as long as the program.
  explicit Real(const char* name) : name_(name), function_(reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name))) {
    if (function_ != nullptr) return;
    std::fprintf(stderr, "gossamer mpi: the MPI of this program has no function %s\n", name);
    std::abort();
  }

  template <class... Arguments>
  int operator()(Arguments... arguments) const {
    return function_(arguments...);
  }

  /// The name by which the program calls it: MPI_X.
  const char* name() const { return name_ + 1; }

 private:
  const char* name_;
  Function* function_;
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_REAL_H_

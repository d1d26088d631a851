/// MPI's own functions behind ours.
///
/// The library defines MPI_X and PMPI_X, because Open MPI's Fortran functions call PMPI_X. So MPI's own is the next one
/// that the dynamic linker finds. Functions that are not redefined here are called as PMPI_X.
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

  /// As the program calls it.
  const char* name() const { return name_ + 1; }

 private:
  const char* name_;
  Function* function_;
};

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_REAL_H_

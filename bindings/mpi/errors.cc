#include "bindings/mpi/errors.h"

#include <cstdio>
#include <map>
#include <mutex>

namespace goss::interposer {

namespace {

int classOf(goss_status status) {
  switch (status) {
    case GOSS_ERR_INVALID_ARGUMENT:
      return MPI_ERR_ARG;
    case GOSS_ERR_UNSUPPORTED:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case GOSS_ERR_RESOURCE:
      return MPI_ERR_NO_MEM;
    case GOSS_ERR_TRUNCATED:
      return MPI_ERR_TRUNCATE;
    case GOSS_ERR_INTERNAL:
      return MPI_ERR_INTERN;
    default:
      return MPI_ERR_OTHER;
  }
}

} // namespace

int codeOf(goss_status status, const std::string& text) {
  static std::mutex mutex;
  static std::map<goss_status, int>& codes = *new std::map<goss_status, int>;
  const std::lock_guard lock(mutex);
  auto found = codes.find(status);
  if (found == codes.end()) {
    int code = MPI_ERR_OTHER;
    if (PMPI_Add_error_code(classOf(status), &code) != MPI_SUCCESS) return MPI_ERR_OTHER;
    found = codes.emplace(status, code).first;
  }
  const std::string all = "Gossamer (" + std::string(goss_status_string(status)) + "): " + text;
  PMPI_Add_error_string(found->second, all.substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
  return found->second;
}

int raise(MPI_Comm comm, goss_status status, const std::string& text) {
  return raise(comm, codeOf(status, text), text);
}

int raise(MPI_Comm comm, int code, const std::string& text) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(comm, &handler);
  if (handler == MPI_ERRORS_ARE_FATAL) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    std::fprintf(stderr, "gossamer mpi: rank %d: %s\n", rank, text.c_str());
  }
  if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

} // namespace goss::interposer

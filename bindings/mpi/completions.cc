// MPI's functions that wait for requests, test, start and free them.
//
// MPI's own functions do the work. Before the call, each handle of a persistent operation of Gossamer is replaced by
// the generalized request of its last start (or by MPI_REQUEST_NULL while it is inactive, which MPI treats alike).
// After the call, the handle is put back, and a failure of the operation is passed to the error handler of its
// communicator, which MPI does not know for such requests.
#include <mpi.h>

#include <algorithm>

#include "bindings/mpi/errors.h"
#include "bindings/mpi/real.h"
#include "bindings/mpi/requests.h"

namespace goss::interposer {

namespace {

/// The requests of one call, some of which are replaced while MPI's function runs.
class Replaced {
 public:
  Replaced(int count, MPI_Request* requests) : requests_(requests) {
    for (int i = 0; i < count && requests != nullptr && !hasNoRequests(); ++i)
      if (auto pending = requests[i] == MPI_REQUEST_NULL ? nullptr : pendingOf(requests[i]))
        ours_.push_back({i, pending});
    if (ours_.empty()) return;
    handles_.assign(requests, requests + count);
    for (const Ours& each : ours_)
      if (each.pending->persistent != MPI_REQUEST_NULL)
        handles_[static_cast<std::size_t>(each.index)] = each.pending->active;
  }

  /// The handles for MPI's function.
  MPI_Request* handles() { return handles_.empty() ? requests_ : handles_.data(); }

  /// Gives the program its handles back after MPI's function. Returns the first operation of Gossamer that has failed,
  /// or null.
  Pending* putBack() {
    if (handles_.empty()) return nullptr;
    Pending* failed = nullptr;
    for (const Ours& each : ours_) {
      MPI_Request& handle = handles_[static_cast<std::size_t>(each.index)];
      Pending& pending = *each.pending;
      const bool has_completed = pending.active != MPI_REQUEST_NULL && handle == MPI_REQUEST_NULL;
      if (has_completed) pending.active = MPI_REQUEST_NULL;
      if (pending.persistent != MPI_REQUEST_NULL) handle = pending.persistent;
      if (!has_completed || pending.outcome.status == GOSS_SUCCESS) continue;
      failures_.push_back({each.index, &pending});
      if (failed == nullptr) failed = &pending;
    }
    std::copy(handles_.begin(), handles_.end(), requests_);
    return failed;
  }

  /// For functions of one request, after MPI's function returned `result`: returns the result for the program.
  int finish(int result) {
    const Pending* failed = putBack();
    if (failed == nullptr || result != MPI_SUCCESS) return result;
    return raise(failed->owner->mpi(), failed->outcome.status, failed->outcome.text);
  }

  /// For functions of many requests: status i of `count` is that of request indices[i], or i where `indices` is null.
  int finish(int result, int count, const int* indices, MPI_Status* statuses) {
    const Pending* failed = putBack();
    if (failed == nullptr || (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)) return result;
    for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; ++i) {
      if (result == MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
      for (const Failure& each : failures_)
        if (each.index == (indices == nullptr ? i : indices[i]))
          statuses[i].MPI_ERROR = codeOf(each.pending->outcome.status, each.pending->outcome.text);
    }
    return raise(failed->owner->mpi(), MPI_ERR_IN_STATUS, failed->outcome.text);
  }

 private:
  struct Ours {
    int index;
    std::shared_ptr<Pending> pending;
  };
  struct Failure {
    int index;
    Pending* pending;
  };

  MPI_Request* requests_;
  std::vector<MPI_Request> handles_; ///< Empty: none is Gossamer's.
  std::vector<Ours> ours_;
  std::vector<Failure> failures_;
};

} // namespace

} // namespace goss::interposer

using namespace goss::interposer;

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  static const Real<decltype(MPI_Wait)> real("PMPI_Wait");
  Replaced replaced(1, request);
  return replaced.finish(real(replaced.handles(), status));
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  static const Real<decltype(MPI_Test)> real("PMPI_Test");
  Replaced replaced(1, request);
  return replaced.finish(real(replaced.handles(), flag, status));
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  static const Real<decltype(MPI_Waitany)> real("PMPI_Waitany");
  Replaced replaced(count, requests);
  return replaced.finish(real(count, replaced.handles(), index, status));
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  static const Real<decltype(MPI_Testany)> real("PMPI_Testany");
  Replaced replaced(count, requests);
  return replaced.finish(real(count, replaced.handles(), index, flag, status));
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  static const Real<decltype(MPI_Waitall)> real("PMPI_Waitall");
  Replaced replaced(count, requests);
  const int result = real(count, replaced.handles(), statuses);
  return replaced.finish(result, count, nullptr, statuses);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  static const Real<decltype(MPI_Testall)> real("PMPI_Testall");
  Replaced replaced(count, requests);
  const int result = real(count, replaced.handles(), flag, statuses);
  return replaced.finish(result, *flag != 0 ? count : 0, nullptr, statuses);
}

int MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  static const Real<decltype(MPI_Waitsome)> real("PMPI_Waitsome");
  Replaced replaced(count, requests);
  const int result = real(count, replaced.handles(), done, indices, statuses);
  return replaced.finish(result, *done == MPI_UNDEFINED ? 0 : *done, indices, statuses);
}

int MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  static const Real<decltype(MPI_Testsome)> real("PMPI_Testsome");
  Replaced replaced(count, requests);
  const int result = real(count, replaced.handles(), done, indices, statuses);
  return replaced.finish(result, *done == MPI_UNDEFINED ? 0 : *done, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  static const Real<decltype(MPI_Request_get_status)> real("PMPI_Request_get_status");
  const auto pending = hasNoRequests() || request == MPI_REQUEST_NULL ? nullptr : pendingOf(request);
  return real(pending != nullptr ? pending->active : request, flag, status);
}

int MPI_Start(MPI_Request* request) {
  static const Real<decltype(MPI_Start)> real("PMPI_Start");
  const auto pending =
      request == nullptr || hasNoRequests() || *request == MPI_REQUEST_NULL ? nullptr : pendingOf(*request);
  if (pending == nullptr) return real(request);
  if (pending->persistent == MPI_REQUEST_NULL || pending->active != MPI_REQUEST_NULL) {
    const char* text = "MPI_Start: the request is not an inactive persistent one";
    return raise(pending->owner->mpi(), MPI_ERR_REQUEST, text);
  }
  const Outcome outcome = start(pending);
  return outcome.status == GOSS_SUCCESS ? MPI_SUCCESS : raise(pending->owner->mpi(), outcome.status, outcome.text);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  static const Real<decltype(MPI_Startall)> real("PMPI_Startall");
  if (hasNoRequests()) return real(count, requests);
  for (int i = 0; i < count; ++i)
    if (const int result = MPI_Start(requests + i); result != MPI_SUCCESS) return result;
  return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request* request) {
  static const Real<decltype(MPI_Request_free)> real("PMPI_Request_free");
  const auto pending =
      request == nullptr || hasNoRequests() || *request == MPI_REQUEST_NULL ? nullptr : pendingOf(*request);
  if (pending == nullptr || pending->persistent == MPI_REQUEST_NULL) return real(request);
  // A started operation runs to its end. Until then `active` is its generalized request, which MPI frees at completion.
  removePersistent(pending);
  if (MPI_Request active = pending->active; active != MPI_REQUEST_NULL) real(&active);
  return real(request);
}

} // extern "C"

#include "bindings/mpi/requests.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace goss::interposer {

namespace {

using Shared = std::shared_ptr<Pending>;

struct Handles {
  std::mutex mutex;
  std::unordered_map<MPI_Request, Shared> all;
  std::atomic<std::size_t> count{0};
};

Handles& handles() {
  static Handles& only = *new Handles;
  return only;
}

struct Started {
  std::mutex mutex;
  std::vector<Shared> all;
  std::atomic<std::size_t> count{0};
};

Started& started() {
  static Started& only = *new Started;
  return only;
}

void insert(MPI_Request handle, const Shared& pending) {
  const std::lock_guard lock(handles().mutex);
  handles().all[handle] = pending;
  handles().count = handles().all.size();
}

void erase(MPI_Request handle, const Shared& pending) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().all.find(handle);
  if (found != handles().all.end() && found->second == pending) handles().all.erase(found);
  handles().count = handles().all.size();
}

/// The status of a collective is empty. The functions in completions.cc report its error.
int query(void*, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  return MPI_SUCCESS;
}

/// The state of a generalized request until MPI frees it. It has its own copy of the handle, because the thread that
/// waited may have set Pending::active to null by then.
struct Generalized {
  Shared pending;
  MPI_Request handle = MPI_REQUEST_NULL;
};

/// MPI calls this when it frees the request, before another request can get the same handle.
int released(void* state) {
  const std::unique_ptr<Generalized> request(static_cast<Generalized*>(state));
  if (request->pending->persistent == MPI_REQUEST_NULL) erase(request->handle, request->pending);
  return MPI_SUCCESS;
}

/// MPI has no cancelled collectives.
int cancel(void*, int) { return MPI_SUCCESS; }

/// Whether the operation has ended. If so, its results are in the program's buffers.
bool hasEnded(Pending& pending) {
  int done = 0;
  const goss_status status = goss_test(&pending.request, &done, nullptr);
  if (done == 0) return false;
  pending.outcome = outcomeOf(status);
  if (status == GOSS_SUCCESS) pending.operation->finish();
  record(pending.function, "", pending.operation->bytes(), pending.started);
  return true;
}

/// Tests all started operations. MPI's progress engine calls it; if several threads do, one of them does the work.
int poll() {
  if (started().count.load(std::memory_order_relaxed) == 0) return 0;
  std::vector<MPI_Request> ended;
  {
    const std::unique_lock lock(started().mutex, std::try_to_lock);
    if (!lock.owns_lock()) return 0;
    std::erase_if(started().all, [&ended](const Shared& each) {
      if (!hasEnded(*each)) return false;
      ended.push_back(each->active);
      return true;
    });
    started().count = started().all.size();
  }
  for (const MPI_Request each : ended)
    PMPI_Grequest_complete(each);
  // This thread may spin for Gossamer's thread, or for a rank, that needs this processor.
  if (ended.empty()) std::this_thread::yield();
  return static_cast<int>(ended.size());
}

} // namespace

Outcome start(const Shared& pending) {
  pending->started = reportedTime();
  pending->outcome = {};
  pending->operation->prepare();
  Outcome outcome = pending->operation->start(pending->communicator->goss(), &pending->request);
  if (outcome.status != GOSS_SUCCESS) return outcome;
  auto* const request = new Generalized{pending};
  PMPI_Grequest_start(query, released, cancel, request, &request->handle);
  pending->active = request->handle;
  if (pending->persistent == MPI_REQUEST_NULL) insert(pending->active, pending);
  const std::lock_guard lock(started().mutex);
  started().all.push_back(pending);
  started().count = started().all.size();
  return {};
}

int makePersistent(const Shared& pending) {
  const int failed = PMPI_Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &pending->persistent);
  if (failed == MPI_SUCCESS) insert(pending->persistent, pending);
  return failed;
}

bool hasNoRequests() { return handles().count.load(std::memory_order_relaxed) == 0; }

Shared pendingOf(MPI_Request request) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().all.find(request);
  return found == handles().all.end() ? nullptr : found->second;
}

void removePersistent(const Shared& pending) { erase(pending->persistent, pending); }

void startRequests() { startProgress(poll); }
void stopRequests() { stopProgress(poll); }

} // namespace goss::interposer

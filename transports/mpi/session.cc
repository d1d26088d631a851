#include "transports/mpi/session.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "platform/host.h"
#include "transports/common/errors.h"

namespace goss::transports::mpi {

namespace {

bool isFinalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

/// The process that has called MPI_Init_thread: the process that first calls this function.
std::int64_t initializer() {
  static const std::int64_t process = platform::processId();
  return process;
}

/// Number of worlds of this process (which share one MPI) of which not all ranks have said goodbye.
std::atomic<int> unsettled{0};

/// MPI_Finalize waits for all processes of the job: for ever if one is stopped or cut off, and sometimes if one has
/// died. A process that does not know that all others have reached their end therefore only unregisters from the
/// launcher, where that is PMIx (Open MPI has loaded the library and holds it once): if the process ended without that,
/// mpirun would end the whole job, including the other survivors. MPI's other resources end with the process.
void finalizeAtExit() {
  if (initializer() != platform::processId() || isFinalized()) return; // A forked child leaves MPI to its parent.
  if (unsettled == 0) {
    MPI_Finalize();
    return;
  }
  using Finalize = int (*)(const void*, std::size_t);
  const auto leave = reinterpret_cast<Finalize>(::dlsym(RTLD_DEFAULT, "PMIx_Finalize"));
  if (leave != nullptr) leave(nullptr, 0);
}

} // namespace

Status mpiError(int peer, std::string_view what, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  const std::string whole = fmt::format("{}: {}", what, std::string_view(text, static_cast<std::size_t>(length)));
  return peer >= 0 ? peerLostError(peer, whole) : Status::error(GOSS_ERR_RESOURCE, whole);
}

Status Session::open() {
  static std::mutex one_at_a_time; // MPI is one per process, so only one thread at a time initialises it.
  const std::lock_guard lock(one_at_a_time);
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (isFinalized())
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         "MPI is finalized, and GOSS_TRANSPORT=mpi needs it until the end; make "
                         "and destroy communicators before MPI_Finalize");
  if (initialized == 0) {
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level_);
    if (code != MPI_SUCCESS) return mpiError(-1, "MPI_Init_thread failed", code);
    (void)initializer();
    std::atexit(finalizeAtExit);
  }
  MPI_Query_thread(&level_);
  if (level_ < MPI_THREAD_FUNNELED)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         "the program has initialised MPI with MPI_THREAD_SINGLE; GOSS_TRANSPORT=mpi needs "
                         "MPI_Init_thread with MPI_THREAD_FUNNELED or more");
  int is_main = 0;
  MPI_Is_thread_main(&is_main);
  if (level_ == MPI_THREAD_FUNNELED && is_main == 0)
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         "with MPI_THREAD_FUNNELED only the thread that initialised MPI can make a communicator over "
                         "GOSS_TRANSPORT=mpi and use it; call from there, or ask MPI_Init_thread for "
                         "MPI_THREAD_MULTIPLE");
  opener_ = std::this_thread::get_id();
  MPI_Comm_rank(MPI_COMM_WORLD, &process_rank_);
  return Status::ok();
}

Status Session::connect(const std::vector<int>& process_ranks, const std::array<std::byte, 16>& job) {
  ++unsettled;
  std::vector<int> sorted = process_ranks;
  std::sort(sorted.begin(), sorted.end());
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() || sorted.back() >= processes)
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        "GOSS_TRANSPORT=mpi needs one process of one MPI job for each rank; start them with one mpirun");
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group ours = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int code = MPI_Group_incl(world, static_cast<int>(process_ranks.size()), process_ranks.data(), &ours);
  // Worlds that several threads make at the same time must not receive each other's messages.
  const int tag = (std::to_integer<int>(job[0]) << 7) ^ std::to_integer<int>(job[1]);
  if (code == MPI_SUCCESS) {
    code = MPI_Comm_create_group(MPI_COMM_WORLD, ours, tag, &comm_);
    MPI_Group_free(&ours);
  }
  MPI_Group_free(&world);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  return code == MPI_SUCCESS ? Status::ok() : mpiError(-1, "MPI_Comm_create_group failed", code);
}

void Session::settle() { --unsettled; }

void Session::disconnect() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

bool Session::mayCall() const {
  if (level_ < MPI_THREAD_MULTIPLE && std::this_thread::get_id() != opener_) return false;
  return !isFinalized();
}

} // namespace goss::transports::mpi

// Making, asking and ending communicators.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/nccl/communicator.h"
#include "bindings/nccl/config.h"
#include "bindings/nccl/errors.h"
#include "bindings/nccl/group.h"
#include "bindings/nccl/settings.h"
#include "bindings/nccl/worlds.h"

using goss::Result;
using goss::nccl::find;
using goss::nccl::refuse;
using goss::nccl::Starter;
using goss::nccl::Turn;

namespace {

/// Enrolls a communicator that `start` creates from `parent` (null: from none). A new world opens the current device
/// here, because to open it later could wait for another communicator's stream, which may wait for this thread.
ncclResult_t make(const std::shared_ptr<ncclComm>& comm, const ncclComm* parent, ncclComm_t* out, Starter start) {
  *out = goss::nccl::enroll(comm);
  return goss::nccl::begin(comm, parent, out, [device = &comm->device, start = std::move(start)](Turn& turn) {
    const goss::devices::cuda::InContext current(goss::nccl::contextOf(*device));
    return start(turn);
  });
}

Result<goss::Device*> currentDevice() {
  auto provider = goss::nccl::devices();
  if (!provider.isOk()) return provider.status();
  return provider.value()->current();
}

ncclResult_t initRank(ncclComm_t* out, int ranks, const ncclUniqueId& id, int rank, const ncclConfig_t* given) {
  if (out == nullptr) return refuse(ncclInvalidArgument, "ncclCommInitRank: comm is NULL");
  *out = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refuse(ncclInvalidArgument, fmt::format("ncclCommInitRank: there is no rank {} of {}", rank, ranks));
  const auto config = goss::nccl::readConfig(given);
  if (!config.isOk()) return goss::nccl::report(config.status());
  const auto device = currentDevice();
  if (!device.isOk()) return goss::nccl::report(device.status());
  return make(std::make_shared<ncclComm>(*device.value(), rank, ranks, config.value()), nullptr, out,
              [=](Turn&) { return goss::nccl::meet(id, rank, ranks); });
}

/// The config of a communicator that is created from another: fields that `given` leaves undefined have the parent's
/// values.
Result<ncclConfig_t> inherit(const ncclComm& parent, const ncclConfig_t* given) {
  auto config = goss::nccl::readConfig(given);
  if (config.isOk() && config.value().blocking == NCCL_CONFIG_UNDEF_INT)
    config.value().blocking = parent.blocking ? 1 : 0;
  return config;
}

ncclResult_t makeOf(const std::shared_ptr<ncclComm>& parent, ncclComm_t* out, const ncclConfig_t* given,
                    Starter start) {
  const auto config = inherit(*parent, given);
  if (!config.isOk()) return goss::nccl::report(config.status());
  return make(std::make_shared<ncclComm>(parent->device, 0, parent->ranks, config.value()), parent.get(), out,
              std::move(start));
}

/// Takes part in a split of `parent` without getting a communicator, because a split is collective.
ncclResult_t joinNone(const std::shared_ptr<ncclComm>& parent, int key) {
  auto hidden = std::make_shared<ncclComm>(parent->device, 0, 1, goss::nccl::emptyConfig());
  return goss::nccl::begin(hidden, parent.get(), nullptr,
                           [=](Turn&) { return goss::nccl::split(*parent, NCCL_SPLIT_NOCOLOR, key); });
}

} // namespace

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return refuse(ncclInvalidArgument, "ncclGetVersion: version is NULL");
  *version = goss::nccl::settings().version;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return refuse(ncclInvalidArgument, "ncclGetUniqueId: id is NULL");
  goss_unique_id made{};
  const goss_status status = goss_unique_id_create(&made);
  if (status != GOSS_SUCCESS) return goss::nccl::report(goss::nccl::lastFailure(status));
  std::memcpy(id, &made, sizeof *id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return goss::nccl::refusedInGroup(initRank(comm, ranks, id, rank, nullptr));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const ncclResult_t result = initRank(comm, ranks, id, rank, config);
  return result == ncclInProgress ? result : goss::nccl::refusedInGroup(result);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int ids, ncclUniqueId* id,
                                      ncclConfig_t* config) {
  if (ids < 1 || id == nullptr) return refuse(ncclInvalidArgument, "ncclCommInitRankScalable: it needs an id");
  return ncclCommInitRankConfig(comm, ranks, id[0], rank, config); // one is enough for all
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* ordinals) {
  if (comms == nullptr || count < 1) return refuse(ncclInvalidArgument, "ncclCommInitAll: it needs a device");
  auto provider = goss::nccl::devices();
  if (!provider.isOk()) return goss::nccl::report(provider.status());
  ncclUniqueId id{};
  if (const ncclResult_t result = ncclGetUniqueId(&id); result != ncclSuccess) return result;
  std::fill(comms, comms + count, nullptr);
  ncclGroupStart();
  ncclResult_t result = ncclSuccess;
  for (int rank = 0; rank < count && result == ncclSuccess; ++rank) {
    const auto device = provider.value()->open(ordinals == nullptr ? rank : ordinals[rank]);
    result = !device.isOk() ? goss::nccl::report(device.status())
                            : make(std::make_shared<ncclComm>(*device.value(), rank, count, goss::nccl::emptyConfig()),
                                   nullptr, &comms[rank], [=](Turn&) { return goss::nccl::meet(id, rank, count); });
  }
  goss::nccl::refusedInGroup(result);
  const ncclResult_t ended = ncclGroupEnd();
  if (result == ncclSuccess) return ended;
  std::for_each(comms, comms + count, goss::nccl::forget);
  return result;
}

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t* out, ncclConfig_t* config) {
  const auto parent = find(handle, "ncclCommSplit");
  if (parent == nullptr || out == nullptr) return ncclInvalidArgument;
  *out = nullptr;
  if (const ncclResult_t result = parent->ready("ncclCommSplit"); result != ncclSuccess) return result;
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR)
    return refuse(ncclInvalidArgument, fmt::format("ncclCommSplit: color is {}; it must not be negative", color));
  if (color == NCCL_SPLIT_NOCOLOR) return joinNone(parent, key);
  return makeOf(parent, out, config, [=](Turn&) { return goss::nccl::split(*parent, color, key); });
}

ncclResult_t ncclCommShrink(ncclComm_t handle, int* excluded, int count, ncclComm_t* out, ncclConfig_t* config,
                            int flags) {
  const auto parent = find(handle, "ncclCommShrink");
  if (parent == nullptr || out == nullptr) return ncclInvalidArgument;
  *out = nullptr;
  const std::vector<int> without(excluded, excluded + std::max(count, 0));
  if (without.empty() || std::find(without.begin(), without.end(), parent->rank.load()) != without.end())
    return refuse(ncclInvalidArgument, "ncclCommShrink: it excludes a rank or more, and those do not call it");
  const bool abort = (flags & NCCL_SHRINK_ABORT) != 0 || parent->revoked || parent->shrunk;
  if (!abort)
    if (const ncclResult_t result = parent->ready("ncclCommShrink"); result != ncclSuccess) return result;
  if (parent->state() == ncclInProgress || parent->order == nullptr)
    return refuse(ncclInvalidUsage, "ncclCommShrink: the communicator was never ready");
  if (abort) {
    parent->shrunk = true; // PyTorch takes an error of the old communicator behind the call for one of the call's.
    parent->abort(fmt::format("rank {} shrinks the communicator", parent->rank.load()));
  }
  return makeOf(parent, out, config, [=](Turn& turn) { return goss::nccl::shrink(*parent, without, abort, turn); });
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t handle, ncclUniqueId* id) {
  const auto comm = find(handle, "ncclCommGetUniqueId");
  return comm == nullptr ? ncclInvalidArgument : ncclGetUniqueId(id);
}

ncclResult_t ncclCommGrow(ncclComm_t handle, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* out,
                          ncclConfig_t* given) {
  if (out == nullptr) return refuse(ncclInvalidArgument, "ncclCommGrow: newcomm is NULL");
  *out = nullptr;
  if (handle == nullptr) {
    if (id == nullptr || rank < 0 || rank >= ranks)
      return refuse(ncclInvalidArgument, "ncclCommGrow: a new rank needs an id, and a number below the count");
    const auto config = goss::nccl::readConfig(given);
    if (!config.isOk()) return goss::nccl::report(config.status());
    const auto device = currentDevice();
    if (!device.isOk()) return goss::nccl::report(device.status());
    return make(std::make_shared<ncclComm>(*device.value(), rank, ranks, config.value()), nullptr, out,
                [same = *id, rank, ranks](Turn&) { return goss::nccl::join(same, rank, ranks); });
  }
  const auto parent = find(handle, "ncclCommGrow");
  if (parent == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t result = parent->ready("ncclCommGrow"); result != ncclSuccess) return result;
  if (ranks <= parent->ranks)
    return refuse(ncclInvalidArgument, fmt::format("ncclCommGrow: {} ranks are no more than there are", ranks));
  const ncclUniqueId same = id == nullptr ? ncclUniqueId{} : *id;
  const bool offers = id != nullptr;
  return makeOf(parent, out, given,
                [=](Turn& turn) { return goss::nccl::grow(*parent, ranks, offers ? &same : nullptr, turn); });
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  const auto comm = find(handle, "ncclCommFinalize");
  if (comm == nullptr) return ncclInvalidArgument;
  if (comm->shrunk) return ncclSuccess; // its calls have ended
  if (const ncclResult_t result = comm->ready("ncclCommFinalize"); result != ncclSuccess) return result;
  comm->order->drain();
  comm->finalized = true;
  return comm->state();
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  if (handle == nullptr) return ncclSuccess;
  auto comm = find(handle, "ncclCommDestroy");
  if (comm == nullptr) return ncclInvalidArgument;
  goss::nccl::forget(handle);
  comm.reset(); // waits for what is in its streams
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  if (handle == nullptr) return ncclSuccess;
  auto comm = find(handle, "ncclCommAbort");
  if (comm == nullptr) return ncclInvalidArgument;
  comm->abort(fmt::format("ncclCommAbort on rank {}", comm->rank.load()));
  goss::nccl::forget(handle);
  // A start that waits for other ranks ends by itself; its thread holds the communicator until then.
  if (!comm->blocking && comm->state() == ncclInProgress && comm->starter.joinable()) comm->starter.detach();
  comm.reset();
  return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t handle, int flags) {
  const auto comm = find(handle, "ncclCommRevoke");
  if (comm == nullptr) return ncclInvalidArgument;
  if (flags != 0) return refuse(ncclInvalidArgument, "ncclCommRevoke: flags must be 0");
  if (comm->state() == ncclInProgress || comm->order == nullptr || comm->finalized)
    return refuse(ncclInvalidUsage, "ncclCommRevoke: the communicator was finalized, or never ready");
  comm->revoked = true;
  comm->abort(fmt::format("rank {} revoked the communicator", comm->rank.load()));
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* error) {
  const auto comm = find(handle, "ncclCommGetAsyncError");
  if (comm == nullptr || error == nullptr) return ncclInvalidArgument;
  *error = comm->state();
  if (*error != ncclSuccess && *error != ncclInProgress) goss::nccl::remember(*error, comm->text());
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t handle, int* count) {
  const auto comm = find(handle, "ncclCommCount");
  if (comm == nullptr || count == nullptr) return ncclInvalidArgument;
  *count = comm->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(ncclComm_t handle, int* device) {
  const auto comm = find(handle, "ncclCommCuDevice");
  if (comm == nullptr || device == nullptr) return ncclInvalidArgument;
  *device = comm->device.ordinal();
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t handle, int* rank) {
  const auto comm = find(handle, "ncclCommUserRank");
  if (comm == nullptr || rank == nullptr) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommSuspend(ncclComm_t handle, int /*flags*/) {
  const auto comm = find(handle, "ncclCommSuspend");
  if (comm == nullptr) return ncclInvalidArgument;
  if (const ncclResult_t result = comm->ready("ncclCommSuspend"); result != ncclSuccess) return result;
  comm->order->drain();
  comm->suspended = true; // there is no memory on the device to give back
  return ncclSuccess;
}

ncclResult_t ncclCommResume(ncclComm_t handle) {
  const auto comm = find(handle, "ncclCommResume");
  if (comm == nullptr) return ncclInvalidArgument;
  comm->suspended = false;
  return ncclSuccess;
}

ncclResult_t ncclCommMemStats(ncclComm_t handle, int statistic, uint64_t* value) {
  const auto comm = find(handle, "ncclCommMemStats");
  if (comm == nullptr || value == nullptr) return ncclInvalidArgument;
  constexpr int kSuspended = 1;
  *value = statistic == kSuspended && comm->suspended ? 1 : 0; // staging memory is the host's
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) { return goss::nccl::describe(result); }

const char* ncclGetLastError(ncclComm_t handle) {
  thread_local std::string text;
  if (handle == nullptr) return goss::nccl::lastError();
  const auto comm = find(handle, "ncclGetLastError");
  text = comm == nullptr ? "" : comm->text();
  return text.empty() ? goss::nccl::lastError() : text.c_str();
}

void ncclResetDebugInit() {}
void ncclResetDebugInitInternal() {}

ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t* config) {
  if (config == nullptr || config->magic != NCCL_API_MAGIC || config->size < sizeof *config)
    return refuse(ncclInvalidArgument, "ncclEncryptionConfig_t: begin from NCCL_ENCRYPTION_CONFIG_INITIALIZER");
  if (config->mode == 0) {
    goss::nccl::setTls("");
    return ncclSuccess;
  }
  // The library reads keys from files: this one has no name.
  const std::string_view key = config->psk == nullptr ? "" : config->psk;
  const int fd = ::memfd_create("key", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, key.data(), key.size()) != static_cast<ssize_t>(key.size()))
    return refuse(ncclSystemError, "ncclSetEncryption: no memory for the key");
  ::fchmod(fd, 0600);
  const std::string setting = fmt::format("psk:/proc/self/fd/{}", fd);
  goss_config check;
  goss_config_init(&check);
  check.tls = setting.c_str();
  if (const goss_status status = goss_config_check(&check); status != GOSS_SUCCESS) {
    ::close(fd);
    return refuse(ncclInvalidArgument, fmt::format("ncclSetEncryption: {}; psk must be the text of a key that "
                                                   "goss-keys psk makes",
                                                   goss_last_error()));
  }
  goss::nccl::setTls(setting); // the descriptor stays: communicators read it when they are made
  return ncclSuccess;
}

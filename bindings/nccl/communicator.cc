#include "bindings/nccl/communicator.h"

#include <fmt/format.h>

#include <cstdio>
#include <unordered_map>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/settings.h"
#include "devices/cuda/cuda.h"

using goss::Result;
using goss::Status;

ncclComm::ncclComm(goss::Device& on, int own_rank, int rank_count, const ncclConfig_t& config)
    : device(on),
      blocking(config.blocking != 0),
      name(config.commName == nullptr ? "" : config.commName),
      rank(own_rank),
      ranks(rank_count) {}

ncclComm::~ncclComm() {
  if (starter.joinable()) {
    if (starter.get_id() == std::this_thread::get_id())
      starter.detach();
    else
      starter.join();
  }
  const auto graphs = order == nullptr ? nullptr : order->graphs();
  order.reset();
  if (comm == nullptr) return;
  if (goss::nccl::settings().report)
    sayWhatRan(graphs == nullptr ? goss::nccl::GraphCalls::Replayed() : graphs->replayed());
  goss_comm_destroy(comm);
}

void ncclComm::started(const Result<goss_comm_t>& made) {
  Status status = made.status();
  if (made.isOk() && made.value() == nullptr) { // a rank that only took part
    state_ = ncclSuccess;
    return;
  }
  if (made.isOk()) {
    comm = made.value();
    std::int32_t number = 0;
    goss_comm_rank(comm, &number);
    rank = number;
    goss_comm_size(comm, &number);
    ranks = number;
    auto begun = goss::nccl::StreamOrder::make(device, comm, turns);
    status = begun.status();
    if (begun.isOk()) order = begun.take();
  }
  if (!status.isOk()) {
    const std::lock_guard lock(text_mutex_);
    text_ = status.text();
  }
  state_ = goss::nccl::report(status);
}

ncclResult_t ncclComm::state() const {
  const ncclResult_t now = start();
  if (now != ncclSuccess || revoked || shrunk || order == nullptr) return now;
  const Status failure = order->failure();
  return failure.isOk() ? ncclSuccess : goss::nccl::resultOf(failure.kind());
}

std::string ncclComm::text() const {
  if (state_ == ncclSuccess) return order == nullptr ? "" : order->failure().text();
  const std::lock_guard lock(text_mutex_);
  return text_;
}

ncclResult_t ncclComm::ready(const char* call) const {
  const auto refuse = [&](ncclResult_t result, const std::string& why) {
    return goss::nccl::refuse(result, fmt::format("{}: {}", call, why));
  };
  const ncclResult_t now = state();
  if (now == ncclInProgress)
    return refuse(ncclInvalidUsage, "the communicator is not ready; poll ncclCommGetAsyncError until it is");
  if (revoked) return refuse(ncclInvalidUsage, "the communicator was revoked; destroy or shrink it");
  if (shrunk) return refuse(ncclInvalidUsage, "the communicator was shrunk, which ended it; destroy it");
  if (finalized) return refuse(ncclInvalidUsage, "the communicator was finalized; destroy it");
  if (suspended) return refuse(ncclInvalidUsage, "the communicator is suspended; call ncclCommResume");
  return now == ncclSuccess ? now : refuse(now, text());
}

void ncclComm::count(const goss::nccl::Call& call) {
  const auto kind = static_cast<std::size_t>(call.kind);
  ++calls_[kind];
  bytes_[kind] += call.count * goss::nccl::elementBytes(call.type);
}

void ncclComm::abort(const std::string& reason) {
  aborted = true;
  if (state_ != ncclSuccess || order == nullptr) return; // a start that is under way ends at its own deadline
  order->abort(reason);
}

void ncclComm::sayWhatRan(const goss::nccl::GraphCalls::Replayed& replayed) const {
  std::string ran;
  for (std::size_t kind = 0; kind < goss::nccl::kKinds; ++kind)
    if (calls_[kind] > 0)
      ran += fmt::format(" {} {} x, {} bytes;", goss::nccl::nameOf(static_cast<goss::nccl::Kind>(kind)),
                         calls_[kind].load(), bytes_[kind].load());
  if (replayed.calls > 0) ran += fmt::format(" {} calls of CUDA graphs;", replayed.calls);
  goss_counters counters;
  goss_counters_init(&counters, sizeof counters);
  goss_comm_counters(comm, &counters);
  const std::string& codec = goss::nccl::settings().codec;
  const std::string line =
      fmt::format("gossamer nccl: rank {} of {}{}:{} sent {} bytes, received {}; codec {}\n", rank.load(), ranks.load(),
                  name.empty() ? "" : " (" + name + ")", ran.empty() ? " nothing;" : ran,
                  counters.wire_bytes_sent + replayed.bytes_sent,
                  counters.wire_bytes_received + replayed.bytes_received, codec.empty() ? "none" : codec);
  std::fputs(line.c_str(), stderr);
}

namespace goss::nccl {

namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<ncclComm_t, std::shared_ptr<ncclComm>> comms;
};

/// Threads of the program may still call while static objects are destroyed.
Registry& registry() {
  static Registry& only = *new Registry;
  return only;
}

} // namespace

Result<DeviceProvider*> devices() {
  static std::mutex mutex;
  static DeviceProvider* provider = nullptr; // for good: buffers of the program live in its contexts
  const std::lock_guard lock(mutex);
  if (provider == nullptr) {
    auto made = devices::cuda::CudaProvider::make(false);
    if (!made.isOk()) return made.status();
    provider = made.take().release();
  }
  return provider;
}

ncclComm_t enroll(std::shared_ptr<ncclComm> comm) {
  const std::lock_guard lock(registry().mutex);
  const ncclComm_t handle = comm.get();
  registry().comms[handle] = std::move(comm);
  return handle;
}

std::shared_ptr<ncclComm> find(ncclComm_t handle, const char* call) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().comms.find(handle);
  if (found != registry().comms.end()) return found->second;
  refuse(ncclInvalidArgument, fmt::format("{}: this is no communicator, or it was destroyed", call));
  return nullptr;
}

void forget(ncclComm_t handle) {
  std::shared_ptr<ncclComm> last;
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().comms.find(handle);
  if (found == registry().comms.end()) return;
  last = std::move(found->second); // destroyed after the lock is given back
  registry().comms.erase(found);
}

} // namespace goss::nccl

#include "bindings/nccl/stream_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/settings.h"

namespace goss::nccl {

namespace {

constexpr auto kPause = std::chrono::microseconds(50);
constexpr std::size_t kScalarBytes = 8;

/// CUDA takes a null stream for the legacy default stream, whose handle is 1.
void* handleOf(cudaStream_t stream) {
  return stream == nullptr ? reinterpret_cast<void*>(std::uintptr_t{1}) : static_cast<void*>(stream);
}

} // namespace

Result<std::unique_ptr<StreamOrder>> StreamOrder::make(Device& device, goss_comm_t comm) {
  std::unique_ptr<StreamOrder> made(new StreamOrder(device, comm));
  for (auto* event : {&made->end_, &made->fork_, &made->scalar_, &made->probe_}) {
    auto fresh = device.event();
    if (!fresh.isOk()) return fresh.status();
    *event = fresh.take();
  }
  return made;
}

StreamOrder::~StreamOrder() {
  drain();
  if (const Status status = failure(); !status.isOk()) goss_comm_abort(comm_, status.cText());
}

// ---- The submitting thread ----

Status StreamOrder::submit(const std::vector<std::shared_ptr<Call>>& calls) {
  const std::lock_guard lock(submit_mutex_);
  if (Status status = failure(); !status.isOk()) return status;
  const auto queues = queuesOf(calls);
  if (!queues.isOk()) return queues.status();
  DeviceQueue& lead = *queues.value().front();
  for (const auto& call : calls)
    if (const Status status = fetchScalar(lead, *call); !status.isOk()) return status;
  Status status = join(queues.value());
  // The library's calls tell the other ranks of a device that has failed.
  if (status.isOk() || status.kind() == GOSS_ERR_DEVICE) status = post(lead.stream(), calls);
  const Status left = leave(queues.value());
  return status.isOk() ? left : status;
}

Result<DeviceQueue*> StreamOrder::queueOf(cudaStream_t stream) {
  auto& queue = queues_[stream];
  if (queue == nullptr) {
    auto made = device_.queue(handleOf(stream));
    if (!made.isOk()) {
      queues_.erase(stream);
      return made.status();
    }
    queue = made.take();
  }
  return queue.get();
}

Result<StreamOrder::Queues> StreamOrder::queuesOf(const std::vector<std::shared_ptr<Call>>& calls) {
  Queues queues;
  for (const auto& call : calls) {
    const auto queue = queueOf(call->stream);
    if (!queue.isOk()) return queue.status();
    if (std::find(queues.begin(), queues.end(), queue.value()) != queues.end()) continue;
    const Status status = queue.value()->check();
    if (!status.isOk() && status.kind() != GOSS_ERR_DEVICE) return status;
    queues.push_back(queue.value());
  }
  return queues;
}

Status StreamOrder::join(const Queues& queues) {
  DeviceQueue& lead = *queues.front();
  if (last_ != nullptr && last_ != &lead)
    if (const Status status = lead.await(*end_); !status.isOk()) return status;
  for (std::size_t i = 1; i < queues.size(); ++i) {
    if (const Status status = queues[i]->record(*fork_); !status.isOk()) return status;
    if (const Status status = lead.await(*fork_); !status.isOk()) return status;
  }
  return {};
}

Status StreamOrder::leave(const Queues& queues) {
  last_ = queues.front();
  if (const Status status = last_->record(*end_); !status.isOk()) return status;
  for (std::size_t i = 1; i < queues.size(); ++i)
    if (const Status status = queues[i]->await(*end_); !status.isOk()) return status;
  return {};
}

/// Waits for the stream until it has the number.
Status StreamOrder::fetchScalar(DeviceQueue& queue, Call& call) {
  if (call.device_scalar == nullptr) return {};
  if (host_scalar_ == nullptr) {
    auto block = device_.allocate(MemoryKind::pinned, kScalarBytes);
    if (!block.isOk()) return block.status();
    host_scalar_ = block.take();
  }
  const CopyJob copy{host_scalar_->data(), call.device_scalar, elementBytes(call.type)};
  if (const Status status = queue.copy({&copy, 1}); !status.isOk()) return status;
  if (const Status status = queue.record(*scalar_); !status.isOk()) return status;
  for (Result<bool> done = false; !done.value(); done = scalar_->isDone()) {
    if (!done.isOk()) return done.status();
    if (Status status = failure(); !status.isOk()) return status; // The stream stays closed.
    std::this_thread::sleep_for(kPause);
  }
  call.scale = scalarValue(host_scalar_->data(), call.type);
  return {};
}

Status StreamOrder::post(void* stream, const std::vector<std::shared_ptr<Call>>& calls) {
  std::vector<goss_request_t> requests;
  Status first;
  // Of a group all data is staged at once, which collectives, of one order on all ranks, do not need.
  const bool messages = std::any_of(calls.begin(), calls.end(), [](const auto& call) { return isMessage(call->kind); });
  const bool grouped = messages && calls.size() > 1;
  if (grouped) goss_group_begin();
  for (const auto& call : calls) {
    goss_request_t request = nullptr;
    first = start(comm_, *call, stream, &request);
    if (!first.isOk()) break;
    if (request != nullptr) requests.push_back(request);
  }
  const Status ended = grouped ? lastFailure(goss_group_end()) : Status::ok();
  const std::lock_guard lock(mutex_);
  pending_.insert(pending_.end(), requests.begin(), requests.end());
  return first.isOk() ? ended : first;
}

// ---- Ends ----

void StreamOrder::note(const Status& failure) {
  if (!failure_.isOk()) return;
  failure_ = failure;
  // Calls of other ranks' devices end as a loss does: this one's lives.
  if (failure.kind() == GOSS_ERR_DEVICE && probe_->isDone().isOk())
    failure_ = Status::error(GOSS_ERR_PEER_LOST, std::string(failure.text()));
  if (settings().log) (void)report(failure_);
}

/// Forgets calls that are over.
void StreamOrder::collect() {
  int done = 1;
  while (!pending_.empty() && done != 0) {
    const goss_status status = goss_test(&pending_.front(), &done, nullptr);
    if (done != 0) pending_.pop_front();
    if (status != GOSS_SUCCESS) note(lastFailure(status));
  }
}

Status StreamOrder::failure() {
  const std::lock_guard lock(mutex_);
  collect();
  goss_status status = GOSS_SUCCESS;
  const char* text = "";
  goss_comm_error(comm_, &status, &text);
  if (status != GOSS_SUCCESS) note(Status::error(status, text));
  return failure_;
}

void StreamOrder::drain() {
  std::unique_lock lock(mutex_);
  while (!pending_.empty() && failure_.isOk()) {
    goss_request_t oldest = pending_.front();
    pending_.pop_front();
    lock.unlock();
    const goss_status status = goss_wait(&oldest, nullptr);
    const Status failure = lastFailure(status);
    lock.lock();
    if (!failure.isOk()) note(failure);
  }
}

void StreamOrder::abort(const std::string& reason) {
  const Status known = failure();
  {
    const std::lock_guard lock(mutex_);
    note(Status::error(GOSS_ERR_ABORTED, reason));
  }
  const std::string told = known.isOk() ? reason : fmt::format("{}: {}", reason, known.text());
  goss_comm_abort(comm_, told.c_str());
}

} // namespace goss::nccl

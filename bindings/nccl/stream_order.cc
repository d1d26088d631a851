#include "bindings/nccl/stream_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/settings.h"
#include "devices/cuda/device.h"

namespace goss::nccl {

namespace {

constexpr auto kPause = std::chrono::microseconds(50);
constexpr std::size_t kScalarBytes = 8;

/// CUDA takes a null stream for the legacy default stream, whose handle is 1.
void* handleOf(cudaStream_t stream) {
  return stream == nullptr ? reinterpret_cast<void*>(std::uintptr_t{1}) : static_cast<void*>(stream);
}

devices::cuda::CudaDevice& cudaOf(Device& device) { return static_cast<devices::cuda::CudaDevice&>(device); }

} // namespace

const devices::cuda::Context& contextOf(Device& device) { return cudaOf(device).context(); }

Result<std::unique_ptr<StreamOrder>> StreamOrder::make(Device& device, goss_comm_t comm, std::shared_ptr<Turns> turns) {
  std::unique_ptr<StreamOrder> made(new StreamOrder(device, comm, std::move(turns)));
  // A rank that is through may end `comm` at once, while others still exchange: their communicators are made, and fail.
  made->replays_made_ = lastFailure(goss_comm_dup(comm, &made->replays_));
  for (auto* event : {&made->end_, &made->fork_, &made->scalar_}) {
    auto fresh = device.event();
    if (!fresh.isOk()) return fresh.status();
    *event = fresh.take();
  }
  return made;
}

StreamOrder::~StreamOrder() {
  drain();
  if (Status status = failure(); !status.isOk()) goss_comm_abort(comm_, status.cText());
  if (graphs_ != nullptr) graphs_->end();
  goss_comm_destroy(replays_);
  // A stream that has not come to the copy uses the memory later.
  if (host_scalar_ == nullptr) return;
  if (const Result<bool> done = scalar_->isDone(); done.isOk() && !done.value()) (void)host_scalar_.release();
}

// ---- The submitting thread ----

Status StreamOrder::fetchScalars(const std::vector<std::shared_ptr<Call>>& calls) {
  const auto needs = [](const auto& call) { return call->device_scalar != nullptr; };
  if (std::none_of(calls.begin(), calls.end(), needs)) return {};
  const std::lock_guard lock(submit_mutex_);
  if (Status status = failure(); !status.isOk()) return status;
  const auto queues = queuesOf(calls);
  if (!queues.isOk()) return queues.status();
  const auto capture = captureOf(queues.value());
  if (!capture.isOk() || capture.value().has_value()) return capture.status(); // A graph reads them whenever it runs.
  for (const auto& call : calls)
    if (Status status = fetchScalar(*call); !status.isOk()) return status;
  return {};
}

Result<bool> StreamOrder::submit(const std::vector<std::shared_ptr<Call>>& calls, const Status& fetched) {
  const std::lock_guard lock(submit_mutex_);
  // The library's calls tell the other ranks of a device that has failed.
  const auto ends = [](const Status& status) { return !status.isOk() && status.kind() != GOSS_ERR_DEVICE; };
  if (ends(fetched)) return fetched;
  if (Status status = failure(); !status.isOk()) return status;
  const auto queues = queuesOf(calls);
  if (!queues.isOk()) return queues.status();
  const auto capture = captureOf(queues.value());
  if (ends(capture.status())) return capture.status();
  if (capture.isOk() && capture.value().has_value()) {
    Status status = submitToGraph(*capture.value(), queues.value(), calls);
    if (status.isOk()) return false;
    // Half a call in a graph would leave the words wrong for all replays. The other ranks may have captured theirs, and
    // wait for this one's when they launch it.
    devices::cuda::breakCapture(contextOf(device_), *queues.value().front());
    const std::lock_guard inner(mutex_);
    fail(status);
    return status;
  }
  // All ranks' exchanges on the communicator come before the calls that follow them in the program.
  turns_->awaitAll();
  DeviceQueue& lead = *queues.value().front();
  Status status = fetched.isOk() ? join(queues.value()) : fetched;
  if (!ends(status))
    if (const Status posted = post(lead.stream(), calls); status.isOk() || !posted.isOk()) status = posted;
  const Status left = leave(queues.value());
  if (status.isOk()) status = left;
  if (status.kind() == GOSS_ERR_DEVICE) { // The program may abort before the library has seen it.
    const std::lock_guard inner(mutex_);
    note(status);
  }
  return status.isOk() ? Result<bool>(true) : status;
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
    if (std::find(queues.begin(), queues.end(), queue.value()) == queues.end()) queues.push_back(queue.value());
  }
  return queues;
}

Result<StreamOrder::Capture> StreamOrder::captureOf(const Queues& queues) const {
  Capture first;
  for (DeviceQueue* queue : queues) {
    Capture capture;
    if (Status status = queue->check(); !status.isOk()) {
      if (status.kind() != GOSS_ERR_UNSUPPORTED) return status;
      auto found = devices::cuda::captureOf(contextOf(device_), *queue);
      if (!found.isOk()) return found.status();
      capture = found.value();
    }
    if (queue == queues.front()) first = capture;
    const bool alike = capture.has_value() == first.has_value() && (!capture || capture->id == first->id);
    if (!alike)
      return Status::error(GOSS_ERR_UNSUPPORTED,
                           fmt::format("{}: one stream of a group of calls is being captured into a CUDA graph, and "
                                       "another is not, or into another graph; end the group before",
                                       device_.name()));
  }
  return first;
}

Status StreamOrder::submitToGraph(const devices::cuda::Capture& capture, const Queues& queues,
                                  const std::vector<std::shared_ptr<Call>>& calls) {
  if (graphs_ == nullptr) {
    if (!replays_made_.isOk()) return replays_made_;
    auto made = GraphCalls::make(cudaOf(device_), replays_);
    if (!made.isOk()) return made.status();
    const std::lock_guard lock(mutex_);
    graphs_ = made.take();
    // A failure or an abort from before graphs_ was set has not reached the graphs' calls.
    if (!failure_.isOk()) graphs_->abort(failure_);
    if (aborted_) graphs_->release();
  }
  DeviceQueue& lead = *queues.front();
  if (Status status = gather(queues); !status.isOk()) return status;
  Status captured = graphs_->capture(capture, lead, calls);
  if (!captured.isOk() || queues.size() == 1) return captured;
  if (Status status = lead.record(*fork_); !status.isOk()) return status;
  return follow(queues, *fork_);
}

Status StreamOrder::join(const Queues& queues) {
  DeviceQueue& lead = *queues.front();
  if (last_ != nullptr && last_ != &lead)
    if (Status status = lead.await(*end_); !status.isOk()) return status;
  return gather(queues);
}

Status StreamOrder::gather(const Queues& queues) {
  for (std::size_t i = 1; i < queues.size(); ++i) {
    if (Status status = queues[i]->record(*fork_); !status.isOk()) return status;
    if (Status status = queues.front()->await(*fork_); !status.isOk()) return status;
  }
  return {};
}

Status StreamOrder::leave(const Queues& queues) {
  if (Status status = queues.front()->record(*end_); !status.isOk()) return status;
  last_ = queues.front();
  return follow(queues, *end_);
}

Status StreamOrder::follow(const Queues& queues, DeviceEvent& event) {
  for (std::size_t i = 1; i < queues.size(); ++i)
    if (Status status = queues[i]->await(event); !status.isOk()) return status;
  return {};
}

Status StreamOrder::fetchScalar(Call& call) {
  if (call.device_scalar == nullptr) return {};
  if (host_scalar_ == nullptr) {
    auto block = device_.allocate(MemoryKind::pinned, kScalarBytes);
    if (!block.isOk()) return block.status();
    host_scalar_ = block.take();
  }
  const auto queue = queueOf(call.stream); // Behind what the call's own stream does, which may write the number.
  if (!queue.isOk()) return queue.status();
  const CopyJob copy{host_scalar_->data(), call.device_scalar, elementBytes(call.type)};
  if (Status status = queue.value()->copy({&copy, 1}); !status.isOk()) return status;
  if (Status status = queue.value()->record(*scalar_); !status.isOk()) return status;
  if (Status status = awaitScalar(call); !status.isOk()) return status;
  call.scale = scalarValue(host_scalar_->data(), call.type);
  return {};
}

Status StreamOrder::awaitScalar(const Call& call) {
  const std::int64_t timeout = call.timeout_ms > 0 ? call.timeout_ms : timeoutMs();
  const auto begun = std::chrono::steady_clock::now();
  Result<bool> done = scalar_->isDone();
  for (; done.isOk() && !done.value(); done = scalar_->isDone()) {
    if (Status status = failure(); !status.isOk()) return status; // The stream stays closed.
    if (std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(timeout)) {
      const std::lock_guard lock(mutex_);
      note(Status::error(GOSS_ERR_TIMEOUT,
                         fmt::format("nccl{}: the stream has not come to the call after {} ms, and the scalar of its "
                                     "PreMulSum is in device memory; look at what the stream does before, or set "
                                     "GOSS_TIMEOUT_MS higher",
                                     nameOf(call.kind), timeout)));
      return failure_;
    }
    std::this_thread::sleep_for(kPause);
  }
  return done.status();
}

Status StreamOrder::post(void* stream, const std::vector<std::shared_ptr<Call>>& calls) {
  // The library takes a call without elements for one of the calling thread's device, which may be another.
  const devices::cuda::InContext current(contextOf(device_));
  std::vector<goss_request_t> requests;
  Status first;
  // A group stages all its data at once. Collectives, which all ranks call in one order, do not need that.
  const bool messages = std::any_of(calls.begin(), calls.end(), [](const auto& call) { return isMessage(call->kind); });
  const bool grouped = messages && calls.size() > 1;
  if (grouped) goss_group_begin();
  for (const auto& call : calls) {
    goss_request_t request = nullptr;
    first = startNext(*call, stream, &request);
    if (!first.isOk()) break;
    if (request != nullptr) requests.push_back(request);
  }
  const Status ended = grouped ? lastFailure(goss_group_end()) : Status::ok();
  const std::lock_guard lock(mutex_);
  pending_.insert(pending_.end(), requests.begin(), requests.end());
  return first.isOk() ? ended : first;
}

Status StreamOrder::startNext(Call& call, void* stream, goss_request_t* request) {
  if (!isMessage(call.kind)) return start(comm_, call, stream, request);
  std::int32_t& tag = tags_[{call.kind, call.root}];
  call.tag = tag;
  Status status = start(comm_, call, stream, request);
  if (status.isOk()) tag = (tag + 1) % kOwnTag;
  return status;
}

// ---- Ends ----

/// A rank whose device has failed counts as lost for the others. The driver is not asked whose device that is: it may
/// wait for a stream that the program's abort opens, behind this failure.
void StreamOrder::note(const Status& failure) {
  if (!failure_.isOk()) return;
  const bool of_other = failure.kind() == GOSS_ERR_DEVICE && blamesOther();
  fail(of_other ? Status::error(GOSS_ERR_PEER_LOST, std::string(failure.text())) : failure);
}

/// Whether a communicator has failed by another rank's fault.
bool StreamOrder::blamesOther() const {
  for (goss_comm_t comm : {comm_, replays_}) {
    std::int32_t own = -1;
    std::int32_t blamed = -1;
    if (comm == nullptr || goss_comm_rank(comm, &own) != GOSS_SUCCESS) continue;
    if (goss_comm_error_rank(comm, &blamed) == GOSS_SUCCESS && blamed >= 0 && blamed != own) return true;
  }
  return false;
}

void StreamOrder::fail(const Status& failure) {
  if (!failure_.isOk()) return;
  failure_ = failure;
  if (settings().log) (void)report(failure_);
  if (graphs_ != nullptr) graphs_->abort(failure_);
  // A failure of a single call fails the communicator here, because other ranks wait for calls that this rank will not
  // make.
  for (goss_comm_t comm : {comm_, replays_})
    abortUnlessFailed(comm, failure_);
}

/// Forgets calls that are over, and finds the ones that have failed.
void StreamOrder::collect() {
  int done = 1;
  while (!pending_.empty() && done != 0) {
    const goss_status status = goss_test(&pending_.front(), &done, nullptr);
    if (done != 0) pending_.pop_front();
    if (status != GOSS_SUCCESS) note(lastFailure(status));
  }
  if (!failure_.isOk()) return;
  if (graphs_ != nullptr)
    if (Status status = graphs_->failure(); !status.isOk()) return note(status);
  // A message that fails alone may stand behind calls that still wait.
  for (goss_request_t request : pending_) {
    goss_status status = GOSS_SUCCESS;
    const char* text = "";
    goss_request_error(request, &status, &text);
    if (status != GOSS_SUCCESS) return note(Status::error(status, text));
  }
}

std::shared_ptr<GraphCalls> StreamOrder::graphs() {
  const std::lock_guard lock(mutex_);
  return graphs_;
}

Status StreamOrder::failure() {
  const std::lock_guard lock(mutex_);
  collect();
  for (goss_comm_t comm : {comm_, replays_}) {
    goss_status status = GOSS_SUCCESS;
    const char* text = "";
    if (comm != nullptr) goss_comm_error(comm, &status, &text);
    if (status != GOSS_SUCCESS) note(Status::error(status, text));
  }
  return failure_;
}

void StreamOrder::drain() {
  while (failure().isOk()) {
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty() && (graphs_ == nullptr || graphs_->isIdle())) return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void StreamOrder::abort(const std::string& reason) {
  const Status known = failure();
  {
    const std::lock_guard lock(mutex_);
    note(Status::error(GOSS_ERR_ABORTED, reason));
    aborted_ = true;
    if (graphs_ != nullptr) graphs_->release();
  }
  const std::string told = known.isOk() ? reason : fmt::format("{}: {}", reason, known.text());
  goss_comm_abort(comm_, told.c_str());
}

} // namespace goss::nccl

#include "bindings/nccl/graph_calls.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/pinned_memory.h"

namespace goss::nccl {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kWordBytes = 64; ///< A word has a cache line of its own.
constexpr std::size_t kMinBytes = std::size_t{64} << 10;
/// How often a thread looks whether a request behind the one it waits for has failed.
constexpr std::int64_t kLookMs = 100;
/// How long the thread looks for the next call without a pause, and with short ones.
constexpr std::chrono::microseconds kSpin(200);
constexpr std::chrono::seconds kSoon(1);
constexpr std::chrono::microseconds kShortPause(20);
constexpr std::chrono::microseconds kLongPause(500);

std::uint32_t load(Flag flag) { return std::atomic_ref(*flag).load(std::memory_order_acquire); }
void store(Flag flag, std::uint32_t value) { std::atomic_ref(*flag).store(value, std::memory_order_release); }

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Whether the library may compute the results where the data are.
bool isInPlace(const Call& call) { return call.kind == Kind::allReduce; }

/// Waits for all; the first failure ends those that would wait for ever.
Status awaitAll(goss_comm_t comm, std::vector<goss_request_t>& requests) {
  Status first;
  const auto note = [&](goss_status status, const char* text) {
    if (status == GOSS_SUCCESS || !first.isOk()) return;
    first = Status::error(status, text);
    goss_comm_abort(comm, first.cText());
  };
  for (std::size_t i = 0; i < requests.size();) {
    int done = 0;
    const goss_status waited = goss_wait_for(&requests[i], kLookMs, &done, nullptr);
    note(waited, goss_last_error());
    if (done != 0) {
      ++i;
      continue;
    }
    for (std::size_t other = i; other < requests.size(); ++other) {
      goss_status status = GOSS_SUCCESS;
      const char* text = "";
      goss_request_error(requests[other], &status, &text);
      note(status, text);
    }
  }
  return first;
}

} // namespace

Result<std::shared_ptr<GraphCalls>> GraphCalls::make(devices::cuda::CudaDevice& device, goss_comm_t comm) {
  goss_config config;
  if (const goss_status status = goss_config_init(&config); status != GOSS_SUCCESS) return lastFailure(status);
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  goss_comm_rank(comm, &rank);
  goss_comm_size(comm, &ranks);
  std::shared_ptr<GraphCalls> made(
      new GraphCalls(device, comm, rank, ranks, std::chrono::milliseconds(config.device_hold_ms)));
  if (Status status = made->prepare(); !status.isOk()) return status;
  std::thread([made] { made->run(); }).detach();
  return made;
}

Status GraphCalls::prepare() {
  auto words = pinnedMemory(device_, 2 * kWordBytes);
  if (!words.isOk()) return words.status();
  words_ = words.take();
  begun_ = reinterpret_cast<Flag>(words_->data());
  opened_ = reinterpret_cast<Flag>(words_->data() + kWordBytes);
  store(begun_, 0);
  store(opened_, 0);
  auto launched = device_.event();
  if (!launched.isOk()) return launched.status();
  launched_ = launched.take();
  auto queue = device_.queue(nullptr);
  if (!queue.isOk()) return queue.status();
  queue_ = queue.take();
  watch_ = std::make_unique<DeviceWatch>(device_, [this] {
    const std::lock_guard lock(mutex_);
    return !ended_;
  });
  if (Status status = watch_->begin(); !status.isOk()) return status;
  return queue_->record(*launched_); // The first graph waits for it.
}

// ---- The capturing thread ----

Status GraphCalls::capture(const Capture& capture, DeviceQueue& queue, const Calls& calls) {
  if (Status status = failure(); !status.isOk()) return status;
  const auto last_call_done = enter(capture, queue);
  if (!last_call_done.isOk()) return last_call_done.status();
  const auto batch = place(calls);
  if (!batch.isOk()) return batch.status();
  const std::uint32_t number = ++last_number_;
  {
    const std::lock_guard lock(mutex_);
    batches_[number] = batch.value();
    graphs_[capture.id].numbers.push_back(number);
  }
  if (Status status = enqueue(queue, *batch.value(), number); !status.isOk()) return status;
  if (Status status = devices::cuda::recordInGraph(device_.context(), queue, *launched_); !status.isOk()) return status;
  return queue.record(*last_call_done.value());
}

/// Orders the call behind the calls before it in the graph; the first call of a graph waits for the graphs that were
/// launched before. Returns the event that the call must record.
Result<DeviceEvent*> GraphCalls::enter(const Capture& capture, DeviceQueue& queue) {
  DeviceEvent* last_call_done = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = graphs_.find(capture.id); found != graphs_.end())
      last_call_done = found->second.last_call_done.get();
  }
  if (last_call_done != nullptr) {
    Status status = queue.await(*last_call_done);
    return status.isOk() ? Result<DeviceEvent*>(last_call_done) : status;
  }
  auto event = this->event();
  if (!event.isOk()) return event.status();
  last_call_done = event.value().get();
  {
    const std::lock_guard lock(mutex_);
    graphs_[capture.id].last_call_done = event.take();
  }
  struct Gone {
    GraphCalls* owner;
    std::uint64_t capture;
  };
  auto argument = std::make_unique<Gone>(Gone{this, capture.id});
  const CUhostFn function = [](void* given) {
    const std::unique_ptr<Gone> gone(static_cast<Gone*>(given));
    gone->owner->graphGone(gone->capture);
  };
  if (Status status = devices::cuda::whenDestroyed(device_.context(), capture, function, argument.get());
      !status.isOk()) {
    const std::lock_guard lock(mutex_);
    forget(capture.id);
    return status;
  }
  (void)argument.release(); // the function's
  Status status = devices::cuda::awaitEarlierLaunches(device_.context(), queue, *launched_);
  return status.isOk() ? Result<DeviceEvent*>(last_call_done) : status;
}

Result<std::unique_ptr<DeviceEvent>> GraphCalls::event() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_events_.empty()) {
      std::unique_ptr<DeviceEvent> taken = std::move(idle_events_.back());
      idle_events_.pop_back();
      return taken;
    }
  }
  return device_.event();
}

Result<std::shared_ptr<const GraphCalls::Batch>> GraphCalls::place(const Calls& calls) {
  const auto sendBytes = [&](const Call& call) {
    return sendBlocks(call, rank_, ranks_) * call.count * elementBytes(call.type);
  };
  const auto recvBytes = [&](const Call& call) {
    return recvBlocks(call, rank_, ranks_) * call.count * elementBytes(call.type);
  };
  std::size_t total = 0;
  for (const auto& call : calls) {
    total += (isInPlace(*call) ? 0 : aligned(sendBytes(*call))) + aligned(recvBytes(*call));
    if (call->device_scalar != nullptr) total += aligned(elementBytes(call->type));
  }
  const auto memory = this->memory(total);
  if (!memory.isOk()) return memory.status();
  auto batch = std::make_shared<Batch>();
  std::byte* at = memory.value(); // What comes in lies before what goes out.
  const auto take = [&at](std::size_t bytes) { return std::exchange(at, at + aligned(bytes)); };
  for (const auto& call : calls) {
    Call& made = batch->calls.emplace_back(*call);
    if (!isInPlace(*call)) made.send = take(sendBytes(*call));
    if (call->device_scalar != nullptr) made.device_scalar = take(elementBytes(call->type));
  }
  batch->results = at;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& from = *calls[i];
    Call& to = batch->calls[i];
    to.recv = take(recvBytes(from));
    if (isInPlace(from)) to.send = to.recv;
    batch->in.push_back({const_cast<std::byte*>(to.send), from.send, sendBytes(from)});
    batch->out.push_back({from.recv, to.recv, recvBytes(from)});
    if (from.device_scalar != nullptr)
      batch->in.push_back({const_cast<std::byte*>(to.device_scalar), from.device_scalar, elementBytes(from.type)});
  }
  batch->results_end = at;
  return std::shared_ptr<const Batch>(batch);
}

Result<std::byte*> GraphCalls::memory(std::size_t bytes) {
  const std::size_t largest = memory_.empty() ? 0 : memory_.back()->bytes();
  if (bytes > largest || memory_.empty()) {
    auto block = pinnedMemory(device_, std::max({bytes, 2 * largest, kMinBytes}));
    if (!block.isOk()) return block.status();
    memory_.push_back(block.take());
  }
  return memory_.back()->data();
}

/// A graph writes the same numbers at each launch, so the words return to 0 in between; words of eager calls count
/// upwards.
Status GraphCalls::enqueue(DeviceQueue& queue, const Batch& batch, std::uint32_t number) {
  if (Status status = queue.copy(batch.in); !status.isOk()) return status;
  if (Status status = queue.raise(begun_, number); !status.isOk()) return status;
  if (Status status = queue.await(opened_, 1); !status.isOk()) return status;
  if (Status status = queue.raise(opened_, 0); !status.isOk()) return status;
  return queue.copy(batch.out);
}

void GraphCalls::graphGone(std::uint64_t capture) {
  const std::lock_guard lock(gone_mutex_);
  gone_.push_back(capture);
}

// ---- Any thread ----

/// The event waits for a later graph. To destroy it, the driver would be called.
void GraphCalls::forget(std::uint64_t capture) {
  const auto graph = graphs_.find(capture);
  if (graph == graphs_.end()) return;
  for (const std::uint32_t number : graph->second.numbers)
    batches_.erase(number);
  if (graph->second.last_call_done != nullptr) idle_events_.push_back(std::move(graph->second.last_call_done));
  graphs_.erase(graph);
}

Status GraphCalls::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

GraphCalls::Replayed GraphCalls::replayed() {
  const std::lock_guard lock(mutex_);
  return replayed_;
}

bool GraphCalls::isIdle() {
  const Result<bool> done = launched_->isDone();
  return !done.isOk() || done.value();
}

void GraphCalls::abort(const Status& failure) {
  const std::lock_guard lock(mutex_);
  fail(failure);
}

void GraphCalls::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

void GraphCalls::end() {
  std::unique_lock lock(mutex_);
  released_ = ending_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return ended_; });
}

/// Aborts the communicator, which tells the other ranks. The caller holds mutex_.
void GraphCalls::fail(const Status& status) {
  if (!failure_.isOk()) return;
  failure_ = status;
  hold_end_ = Clock::now() + hold_;
  abortUnlessFailed(comm_, status);
}

// ---- The thread that serves replays ----

void GraphCalls::run() {
  while (!mayEnd()) {
    const std::uint32_t number = load(begun_);
    if (number == 0) {
      pause();
      continue;
    }
    store(begun_, 0); // The graph writes it again only when it has been opened.
    serve(number);
    served_ = Clock::now();
  }
}

void GraphCalls::forgetGone() {
  std::vector<std::uint64_t> gone;
  {
    const std::lock_guard lock(gone_mutex_);
    gone.swap(gone_);
  }
  if (gone.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t capture : gone)
    forget(capture);
}

bool GraphCalls::mayEnd() {
  forgetGone();
  const std::lock_guard lock(mutex_);
  if (ending_ && !ended_) {
    goss_counters counters;
    goss_counters_init(&counters, sizeof counters);
    goss_comm_counters(comm_, &counters);
    replayed_.bytes_sent = counters.wire_bytes_sent;
    replayed_.bytes_received = counters.wire_bytes_received;
    comm_ = nullptr;
    if (failure_.isOk())
      failure_ = Status::error(GOSS_ERR_ABORTED, "the communicator of a CUDA graph's call was destroyed");
    ended_ = true;
    changed_.notify_all();
  }
  return ended_ && graphs_.empty();
}

void GraphCalls::pause() {
  const auto now = Clock::now();
  // A graph of a device that has failed does not come to its next call, for which the other ranks wait.
  if (const Status lives = watch_->status(); !lives.isOk()) {
    const std::lock_guard lock(mutex_);
    if (!ended_) fail(lives);
  }
  if (now - served_ < kSpin) return std::this_thread::yield();
  std::this_thread::sleep_for(now - served_ < kSoon ? kShortPause : kLongPause);
}

void GraphCalls::serve(std::uint32_t number) {
  std::shared_ptr<const Batch> batch;
  Status status;
  goss_comm_t comm = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = batches_.find(number); found != batches_.end()) batch = found->second;
    status = failure_;
    comm = comm_;
  }
  if (batch == nullptr) return store(opened_, 1); // A graph can be gone before it has run where the device is lost.
  if (status.isOk()) {
    status = replay(comm, *batch);
    const std::lock_guard lock(mutex_);
    replayed_.calls += batch->calls.size();
    if (!status.isOk()) fail(status);
  }
  if (!status.isOk()) {
    awaitRelease();
    std::memset(batch->results, 0xff, static_cast<std::size_t>(batch->results_end - batch->results));
  }
  store(opened_, 1);
}

Status GraphCalls::replay(goss_comm_t comm, const Batch& batch) {
  std::vector<goss_request_t> requests;
  Status status;
  const bool grouped =
      std::any_of(batch.calls.begin(), batch.calls.end(), [](const Call& call) { return isMessage(call.kind); });
  if (grouped) goss_group_begin();
  for (Call call : batch.calls) {
    if (call.device_scalar != nullptr) call.scale = scalarValue(call.device_scalar, call.type);
    goss_request_t request = nullptr;
    status = start(comm, call, nullptr, &request);
    if (!status.isOk()) break;
    if (request != nullptr) requests.push_back(request);
  }
  if (grouped)
    if (Status ended = lastFailure(goss_group_end()); status.isOk()) status = ended;
  if (!status.isOk()) goss_comm_abort(comm, status.cText());
  const Status waited = awaitAll(comm, requests);
  return status.isOk() ? waited : status;
}

void GraphCalls::awaitRelease() {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, hold_end_, [this] { return released_; });
}

} // namespace goss::nccl

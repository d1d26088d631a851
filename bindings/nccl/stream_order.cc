#include "bindings/nccl/stream_order.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bindings/nccl/errors.h"
#include "bindings/nccl/settings.h"

namespace goss::nccl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSpins = 200;        // turns without a pause
constexpr int kTurnsOfAProbe = 50; // pauses between questions to the device
constexpr auto kPause = std::chrono::microseconds(50);
constexpr auto kStreamsEnd = std::chrono::seconds(10); // how long streams may take for what they still hold

bool reached(Flag flag, std::uint32_t value) {
  return static_cast<std::int32_t>(std::atomic_ref(*flag).load(std::memory_order_acquire) - value) >= 0;
}

void set(Flag flag, std::uint32_t value) { std::atomic_ref(*flag).store(value, std::memory_order_release); }

/// CUDA takes a null stream for the legacy default stream, whose handle is 1.
void* handleOf(cudaStream_t stream) {
  return stream == nullptr ? reinterpret_cast<void*>(std::uintptr_t{1}) : static_cast<void*>(stream);
}

} // namespace

Result<std::unique_ptr<StreamOrder>> StreamOrder::make(Device& device, goss_comm_t comm, int rank, int ranks) {
  std::unique_ptr<StreamOrder> made(new StreamOrder(device, comm, rank, ranks));
  auto rings = Rings::make(device);
  if (!rings.isOk()) return rings.status();
  made->rings_ = rings.take();
  for (auto* event : {&made->end_, &made->fork_, &made->probe_}) {
    auto fresh = device.event();
    if (!fresh.isOk()) return fresh.status();
    *event = fresh.take();
  }
  made->thread_ = std::thread([order = made.get()] { order->work(); });
  return made;
}

StreamOrder::~StreamOrder() {
  if (failed_) release();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const auto until = Clock::now() + kStreamsEnd;
  bool done = last_ == nullptr;
  while (!done && Clock::now() < until) {
    const Result<bool> asked = end_->isDone();
    if (!asked.isOk()) return; // the device is lost, and nothing reads the rings
    done = asked.value();
    if (!done) std::this_thread::sleep_for(kPause);
  }
  // A stream that has not come to the end may still copy.
  if (!done) (void)rings_.release();
}

// ---- The submitting thread ----

Status StreamOrder::submit(const std::vector<std::shared_ptr<Call>>& calls) {
  const std::lock_guard lock(submit_mutex_);
  if (failed_) return failure();
  for (const auto& call : calls) {
    auto queue = queueOf(call->stream);
    if (!queue.isOk()) return queue.status();
    if (const Status status = queue.value()->check(); !status.isOk()) return status;
  }
  auto batch = std::make_shared<Batch>();
  batch->calls = calls;
  while ((batch->gates = rings_->pack(calls, rank_, ranks_, sequence_ + 1)).empty())
    if (const Status status = grow(2 * rings_->slotBytes()); !status.isOk()) return status;
  sequence_ = batch->gates.back().sequence;
  // First: with CUDA_LAUNCH_BLOCKING a wait returns only when its gate is open.
  push({batch, nullptr});
  const Status status = enqueue(calls, *batch);
  if (!status.isOk()) fail(status);
  return status;
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

Status StreamOrder::grow(std::size_t slot_bytes) {
  drain();
  if (failed_) return failure();
  const auto until = Clock::now() + kStreamsEnd;
  for (bool done = last_ == nullptr; !done;) {
    const Result<bool> asked = end_->isDone();
    if (!asked.isOk()) return asked.status();
    done = asked.value();
    if (!done && Clock::now() > until)
      return Status::error(GOSS_ERR_RESOURCE,
                           "a group of so many messages needs more staging memory, which cannot grow "
                           "while the stream is busy: synchronise it before, or make groups smaller");
    if (!done) std::this_thread::sleep_for(kPause);
  }
  auto larger = Rings::make(device_, slot_bytes);
  if (!larger.isOk()) return larger.status();
  set(larger.value()->arrived(), sequence_);
  set(larger.value()->done(), sequence_);
  rings_ = larger.take();
  return {};
}

Status StreamOrder::enqueue(const std::vector<std::shared_ptr<Call>>& calls, const Batch& batch) {
  std::vector<DeviceQueue*> queues;
  for (const auto& call : calls) {
    auto queue = queueOf(call->stream);
    if (!queue.isOk()) return queue.status();
    if (std::find(queues.begin(), queues.end(), queue.value()) == queues.end()) queues.push_back(queue.value());
  }
  if (const Status status = join(queues); !status.isOk()) return status;
  DeviceQueue& lead = *queues.front();
  if (const Status status = enqueueGates(lead, batch.gates); !status.isOk()) return status;
  if (const Status status = lead.record(*end_); !status.isOk()) return status;
  last_ = &lead;
  for (std::size_t i = 1; i < queues.size(); ++i)
    if (const Status status = queues[i]->await(*end_); !status.isOk()) return status;
  return {};
}

Status StreamOrder::join(const std::vector<DeviceQueue*>& queues) {
  DeviceQueue& lead = *queues.front();
  if (last_ != nullptr && last_ != &lead)
    if (const Status status = lead.await(*end_); !status.isOk()) return status;
  for (std::size_t i = 1; i < queues.size(); ++i) {
    if (const Status status = queues[i]->record(*fork_); !status.isOk()) return status;
    if (const Status status = lead.await(*fork_); !status.isOk()) return status;
  }
  return {};
}

Status StreamOrder::bringIn(DeviceQueue& queue, const Gate& gate) {
  if (const Status status = queue.copy(gate.in); !status.isOk()) return status;
  return queue.raise(rings_->arrived(), gate.sequence);
}

Status StreamOrder::enqueueGates(DeviceQueue& queue, const std::vector<Gate>& gates) {
  for (std::size_t i = 0; i < std::min(Rings::kSlots, gates.size()); ++i)
    if (const Status status = bringIn(queue, gates[i]); !status.isOk()) return status;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    if (const Status status = queue.await(rings_->done(), gates[i].sequence); !status.isOk()) return status;
    if (const Status status = queue.copy(gates[i].out); !status.isOk()) return status;
    if (i + Rings::kSlots >= gates.size()) continue;
    if (const Status status = bringIn(queue, gates[i + Rings::kSlots]); !status.isOk()) return status;
  }
  return {};
}

void StreamOrder::push(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  ++unfinished_;
  changed_.notify_all();
}

void StreamOrder::run(std::function<void()> task) { push({nullptr, std::move(task)}); }

void StreamOrder::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unfinished_ == 0 || failed_; });
}

// ---- Failures ----

Status StreamOrder::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void StreamOrder::fail(const Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.isOk()) failure_ = status;
    failed_ = true;
  }
  changed_.notify_all();
  if (settings().log) report(status);
  goss_comm_abort(comm_, status.cText());
}

void StreamOrder::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

// ---- The communicator's thread ----

void StreamOrder::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    if (task.batch != nullptr)
      runBatch(*task.batch);
    else
      task.function();
    task = {};
    lock.lock();
    --unfinished_;
    changed_.notify_all();
  }
}

void StreamOrder::runBatch(Batch& batch) {
  std::size_t started = 0;
  std::size_t finished = 0;
  for (int turn = 0; finished < batch.gates.size() && !failed_;) {
    bool moved = startArrived(batch, started);
    // When all have started there is nothing else to look at.
    if (finished < started && finishNext(batch.gates[finished], started == batch.gates.size())) {
      set(rings_->done(), batch.gates[finished++].sequence);
      moved = true;
    }
    turn = moved ? 0 : turn + 1;
    if (!moved) pause(turn);
  }
  if (finished == batch.gates.size()) return;
  endRequests(batch);
  hold();
  rings_->spoil();
  set(rings_->done(), batch.gates.back().sequence);
}

bool StreamOrder::startArrived(Batch& batch, std::size_t& started) {
  if (started == batch.gates.size() || !reached(rings_->arrived(), batch.gates[started].sequence)) return false;
  for (Part& part : batch.gates[started].parts)
    if (const Status status = post(comm_, part); !status.isOk()) {
      fail(status);
      return true;
    }
  ++started;
  return true;
}

bool StreamOrder::finishNext(Gate& gate, bool wait) {
  for (Part& part : gate.parts) {
    if (part.request == nullptr) continue;
    int done = 1;
    const goss_status status = wait ? goss_wait(&part.request, nullptr) : goss_test(&part.request, &done, nullptr);
    if (status != GOSS_SUCCESS) {
      part.request = nullptr;
      fail(lastFailure(status));
      return false;
    }
    if (done == 0) return false;
  }
  return true;
}

void StreamOrder::endRequests(Batch& batch) {
  for (Gate& gate : batch.gates)
    for (Part& part : gate.parts)
      if (part.request != nullptr) (void)goss_wait(&part.request, nullptr); // the communicator is aborted: they end
}

void StreamOrder::hold() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(settings().hold_ms), [this] { return released_ || ending_; });
  released_ = true;
}

void StreamOrder::pause(int turn) {
  if (turn < kSpins) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(kPause);
  if (turn % kTurnsOfAProbe != 0) return;
  const Result<bool> asked = probe_->isDone();
  if (!asked.isOk()) fail(asked.status());
}

} // namespace goss::nccl

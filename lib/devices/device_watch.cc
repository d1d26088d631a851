#include "devices/device_watch.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "platform/signals.h"

namespace goss {

namespace {

constexpr std::chrono::milliseconds kPause(10);
/// Between two looks at events, where the device raises no flags.
constexpr std::chrono::microseconds kShortPause(20);

/// A flag has a cache line of its own.
constexpr std::size_t kFlagBytes = 64;
constexpr std::size_t kFlags = 64;
/// The thread forgets tasks that are done when it keeps so many.
constexpr std::size_t kMaxUnderWay = 64;

} // namespace

/// Asks the driver whether the device works.
class DeviceWatch::Asking {
 public:
  explicit Asking(Device& device) : device_(device) {}

  /// Error: the device's.
  Status ask() {
    if (queue_ == nullptr) {
      auto queue = device_.queue(nullptr);
      if (!queue.isOk()) return queue.status();
      auto event = device_.event();
      if (!event.isOk()) return event.status();
      queue_ = queue.take();
      event_ = event.take();
    }
    const Result<bool> done = event_->isDone();
    if (!done.isOk() || !done.value()) return done.status();
    return queue_->record(*event_); // A driver may not look at the device for an event that nobody recorded.
  }

 private:
  Device& device_;
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceEvent> event_;
};

DeviceWatch::~DeviceWatch() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

Status DeviceWatch::begin() {
  try {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      const platform::SignalsBlocked blocked;
      thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
      pthread_setname_np(thread_.native_handle(), "goss-device");
    }
  } catch (const std::system_error& error) {
    return Status::error(GOSS_ERR_RESOURCE, std::string("no thread can be made to watch the device: ") + error.what());
  }
  wanted_.notify_one();
  return Status::ok();
}

Status DeviceWatch::status() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  const std::lock_guard lock(mutex_);
  return failure_;
}

// ---- Jobs ----

std::shared_ptr<DeviceTask> DeviceWatch::takeTask() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_shared<DeviceTask>();
  std::shared_ptr<DeviceTask> task = std::move(idle_.back());
  idle_.pop_back();
  task->state.store(DeviceTask::State::idle, std::memory_order_relaxed);
  return task;
}

void DeviceWatch::giveBack(std::shared_ptr<DeviceTask> task) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(task));
}

void DeviceWatch::run(const std::function<void()>& work) {
  const auto task = std::make_shared<DeviceTask>();
  task->work = [work] {
    work();
    return Status::ok();
  };
  enqueue(task);
  if (task->state.load(std::memory_order_acquire) == DeviceTask::State::failed) work();
}

void DeviceWatch::enqueue(std::shared_ptr<DeviceTask> task) {
  {
    const std::lock_guard lock(mutex_);
    task->state.store(DeviceTask::State::waiting, std::memory_order_release);
    waiting_.push_back(task);
  }
  Status begun = begin();
  if (begun.isOk() || !cancel(*task)) return;
  task->failure = std::move(begun);
  task->state.store(DeviceTask::State::failed, std::memory_order_release);
}

bool DeviceWatch::cancel(DeviceTask& task) {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&task](const std::shared_ptr<DeviceTask>& one) { return one.get() == &task; };
  if (std::erase_if(waiting_, is_it) == 0) return false;
  task.state.store(DeviceTask::State::idle, std::memory_order_release);
  if (hasEnqueued()) entered_.notify_all();
  return true;
}

DeviceWatch::Beginning DeviceWatch::beginCall() {
  {
    const std::lock_guard lock(mutex_);
    ++beginning_;
  }
  return {this, [](DeviceWatch* watch) {
            const std::lock_guard ending(watch->mutex_);
            --watch->beginning_;
            if (watch->hasEnqueued()) watch->entered_.notify_all();
          }};
}

void DeviceWatch::awaitEnqueued() {
  std::unique_lock lock(mutex_);
  entered_.wait(lock, [this] { return hasEnqueued(); });
}

// ---- The thread ----

void DeviceWatch::serve(const std::stop_token& stop) {
  Asking asking(device_);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!waiting_.empty()) beginNext(lock);
    const bool has_events = !raises_ && !under_way_.empty();
    if (has_events || Clock::now() - looked_ >= kPause) look(lock, asking);
    if (waiting_.empty()) rest(lock, stop);
  }
}

void DeviceWatch::rest(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  if (under_way_.empty() && !is_wanted_()) {
    wanted_.wait(lock, stop, [this] { return !waiting_.empty() || is_wanted_(); });
    return;
  }
  const Clock::duration pause = !raises_ && !under_way_.empty() ? Clock::duration(kShortPause) : kPause;
  wanted_.wait_for(lock, stop, pause, [this] { return !waiting_.empty(); });
}

void DeviceWatch::beginNext(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<DeviceTask> task = std::move(waiting_.front());
  waiting_.pop_front();
  task->state.store(DeviceTask::State::entering, std::memory_order_relaxed);
  is_entering_ = true;
  Status status = task->queue != nullptr ? failure_ : Status::ok(); // A device that has failed is given nothing more.
  lock.unlock();
  if (status.isOk()) status = begin(*task);
  task->work = nullptr;
  if (under_way_.size() >= kMaxUnderWay) std::erase_if(under_way_, [](const auto& one) { return !one->isBusy(); });
  if (std::find(under_way_.begin(), under_way_.end(), task) == under_way_.end()) under_way_.push_back(task);
  const DeviceTask::State state = status.isOk() ? DeviceTask::State::entered : DeviceTask::State::failed;
  task->failure = std::move(status);
  task->state.store(state, std::memory_order_release);
  lock.lock();
  is_entering_ = false;
  if (hasEnqueued()) entered_.notify_all();
}

/// Does a task's work, and lets the device raise its flag behind it even if only a part of the work was enqueued,
/// because DeviceJob::withdraw() waits for that part.
Status DeviceWatch::begin(DeviceTask& task) {
  if (task.queue == nullptr) return task.work();
  if (Status status = makeFlag(task); !status.isOk()) return status;
  Status worked = task.work();
  Status marked = mark(task);
  return worked.isOk() ? marked : worked;
}

Status DeviceWatch::makeFlag(DeviceTask& task) {
  if (!raises_ || task.flag != &task.word) return Status::ok();
  if (flags_left_ == 0) {
    auto block = device_.allocate(MemoryKind::pinned, kFlags * kFlagBytes);
    if (!block.isOk()) return block.status();
    std::memset(block.value()->data(), 0, kFlags * kFlagBytes);
    flags_.push_back(block.take());
    flags_left_ = kFlags;
  }
  task.flag = reinterpret_cast<Flag>(flags_.back()->data() + --flags_left_ * kFlagBytes);
  return Status::ok();
}

Status DeviceWatch::mark(DeviceTask& task) {
  const std::uint32_t next = task.raised.load(std::memory_order_relaxed) + 1;
  if (raises_) {
    Status status = task.queue->raise(task.flag, next);
    if (status.isOk()) task.raised.store(next, std::memory_order_relaxed);
    if (status.kind() != GOSS_ERR_UNSUPPORTED) return status;
    raises_ = false; // Such a device has no gates either.
  }
  if (task.event == nullptr) {
    auto event = device_.event();
    if (!event.isOk()) return event.status();
    task.event = event.take();
  }
  Status status = task.queue->record(*task.event);
  if (status.isOk()) task.raised.store(next, std::memory_order_relaxed);
  return status;
}

/// Finds what has ended, and whether the device has failed.
void DeviceWatch::look(std::unique_lock<std::mutex>& lock, Asking& asking) {
  const bool is_due = Clock::now() - looked_ >= kPause && (is_wanted_() || !under_way_.empty());
  lock.unlock();
  Status status;
  if (is_due && !failed_.load(std::memory_order_relaxed)) {
    status = asking.ask();
    looked_ = Clock::now();
  }
  for (const auto& task : under_way_) {
    if (raises_ || task->event == nullptr || !task->isBusy()) continue;
    const Result<bool> done = task->event->isDone();
    if (!done.isOk() && status.isOk()) status = done.status();
    if (done.isOk() && done.value()) std::atomic_ref(*task->flag).store(task->raised, std::memory_order_release);
  }
  const bool has_failed = failed_.load(std::memory_order_relaxed) || !status.isOk();
  std::erase_if(under_way_, [&](const auto& one) { return has_failed || !one->isBusy(); });
  lock.lock();
  if (status.isOk() || failed_.load(std::memory_order_relaxed)) return;
  failure_ = status;
  failed_.store(true, std::memory_order_release);
}

} // namespace goss

#include "tests/devices/threads/worker.h"

#include <chrono>

namespace goss::test {

Status Health::status() const {
  if (!failed_.load(std::memory_order_acquire)) return Status::ok();
  const std::lock_guard lock(mutex_);
  return Status::error(GOSS_ERR_DEVICE, device_ + " failed: " + why_);
}

void Health::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  why_ = why;
  failed_.store(true, std::memory_order_release);
}

bool Health::mayRun() {
  if (++jobs_ == fail_at_) fail("THREADS_FAIL_AT");
  return !failed_.load(std::memory_order_acquire);
}

Worker::Worker(int latency_us, std::shared_ptr<Health> health)
    : latency_us_(latency_us), health_(std::move(health)), thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::push(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Worker::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
}

void Worker::waitUntil(const std::function<bool()>& done) const {
  for (int turns = 0; !done() && health_->status().isOk(); ++turns) {
    if (turns < 50) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    if (latency_us_ > 0) std::this_thread::sleep_for(std::chrono::microseconds(latency_us_));
    if (health_->mayRun()) job();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

} // namespace goss::test

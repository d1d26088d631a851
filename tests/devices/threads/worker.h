/// The thread that does a queue's jobs.
#ifndef GOSS_TESTS_DEVICES_THREADS_WORKER_H_
#define GOSS_TESTS_DEVICES_THREADS_WORKER_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gossamer/status.h"
#include "tests/devices/threads/behaviour.h"

namespace goss::test {

/// The first failure of a device, which stays. Thread-safe.
class Health {
 public:
  Health(std::string device, long fail_at) : device_(std::move(device)), fail_at_(fail_at) {}
  [[nodiscard]] Status status() const;
  void fail(const std::string& why);
  /// A job begins: whether it may run.
  bool mayRun();

 private:
  const std::string device_;
  const long fail_at_;
  std::atomic<long> jobs_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string why_;
};

/// Runs jobs in order. The destructor runs those that are left; after the device's failure jobs are dropped.
class Worker {
 public:
  Worker(int latency_us, std::shared_ptr<Health> health);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void push(std::function<void()> job);
  /// Returns when the jobs so far are done.
  void drain();
  /// For jobs that wait: until `done` holds or the device fails.
  void waitUntil(const std::function<bool()>& done) const;

 private:
  void run();

  const int latency_us_;
  const std::shared_ptr<Health> health_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_THREADS_WORKER_H_

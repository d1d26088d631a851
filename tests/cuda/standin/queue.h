/// What a stream is made of: items in order, each run by the queue's own thread.
#ifndef GOSS_TESTS_CUDA_STANDIN_QUEUE_H_
#define GOSS_TESTS_CUDA_STANDIN_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "tests/cuda/standin/settings.h"

namespace standin {

/// Thread-safe. After a sticky error of its device items are dropped instead of run.
class Queue {
 public:
  /// An item that waits for something looks at lost() meanwhile, and then returns.
  using Item = std::function<void(const Queue&)>;

  explicit Queue(int device) : health_(healthOf(device)) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  /// Items that are still there are run first.
  ~Queue();

  /// Returns the item's ticket; tickets count from 1.
  std::uint64_t push(Item item);
  /// Waits until the queue holds less than the driver puts into a queue of the hardware, or the device has a sticky
  /// error.
  void awaitRoom() const;
  std::uint64_t lastTicket() const;
  bool done(std::uint64_t ticket) const;
  /// Waits until the item of `ticket` has run, or the device has a sticky error.
  void wait(std::uint64_t ticket) const;
  /// Nothing runs any more, because the device has a sticky error.
  [[nodiscard]] bool lost() const { return health_->error.load(std::memory_order_acquire) != 0; }
  [[nodiscard]] Health& health() const { return *health_; }

 private:
  void work();

  const std::shared_ptr<Health> health_;
  mutable std::mutex mutex_;
  mutable std::condition_variable added_;
  mutable std::condition_variable ran_;
  std::deque<Item> items_;
  std::uint64_t pushed_ = 0;
  std::uint64_t completed_ = 0;
  bool ending_ = false;
  std::thread thread_; ///< From the first item on.
};

/// A place in a queue: what events hold.
struct Marker {
  std::shared_ptr<Queue> queue;
  std::uint64_t ticket = 0;
  std::shared_ptr<std::chrono::steady_clock::time_point> at; ///< When the queue came to it.

  [[nodiscard]] bool done() const { return queue == nullptr || queue->done(ticket); }
  void wait() const {
    if (queue != nullptr) queue->wait(ticket);
  }
};

/// Puts a place at the end of `queue`.
Marker mark(const std::shared_ptr<Queue>& queue);
/// What comes into `queue` later runs after `marker`.
void follow(Queue& queue, const Marker& marker);

} // namespace standin

#endif // GOSS_TESTS_CUDA_STANDIN_QUEUE_H_

#include "tests/cuda/standin/queue.h"

#include <utility>

namespace standin {

namespace {

// Sticky errors come without a notification.
constexpr auto kLook = std::chrono::milliseconds(1);

/// Behind a closed gate a stream of an H200 takes 510 copies and as many memory operations (goss-device-limits).
constexpr std::uint64_t kMaxItems = 1020;

} // namespace

Queue::~Queue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  added_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Queue::push(Item item) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  items_.push_back(std::move(item));
  added_.notify_one();
  return ++pushed_;
}

void Queue::awaitRoom() const {
  std::unique_lock lock(mutex_);
  while (pushed_ - completed_ >= kMaxItems && !lost())
    ran_.wait_for(lock, kLook);
}

std::uint64_t Queue::lastTicket() const {
  const std::lock_guard lock(mutex_);
  return pushed_;
}

bool Queue::done(std::uint64_t ticket) const {
  const std::lock_guard lock(mutex_);
  return completed_ >= ticket;
}

void Queue::wait(std::uint64_t ticket) const {
  std::unique_lock lock(mutex_);
  while (completed_ < ticket && !lost())
    ran_.wait_for(lock, kLook);
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    added_.wait(lock, [this] { return ending_ || !items_.empty(); });
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    if (settings().delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(settings().delay_us));
    if (!lost()) item(*this);
    item = nullptr;
    lock.lock();
    ++completed_;
    ran_.notify_all();
  }
}

Marker mark(const std::shared_ptr<Queue>& queue) {
  Marker marker{queue, 0, std::make_shared<std::chrono::steady_clock::time_point>()};
  marker.ticket = queue->push([at = marker.at](const Queue&) { *at = std::chrono::steady_clock::now(); });
  return marker;
}

void follow(Queue& queue, const Marker& marker) {
  if (marker.queue == nullptr || marker.queue.get() == &queue || marker.done()) return;
  queue.push([marker](const Queue& own) {
    while (!marker.done() && !own.lost())
      std::this_thread::sleep_for(std::chrono::microseconds(10));
  });
}

} // namespace standin

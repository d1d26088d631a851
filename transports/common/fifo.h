/// A first-in first-out queue that takes no memory until something is in it.
#ifndef GOSS_TRANSPORTS_COMMON_FIFO_H_
#define GOSS_TRANSPORTS_COMMON_FIFO_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace goss::transports {

/// std::deque allocates half a KiB when it is made, and a rank has several queues for each peer. One thread.
template <typename Value>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return first_ == values_.size(); }
  [[nodiscard]] const Value& front() const { return values_[first_]; }
  void pushBack(const Value& value) { values_.push_back(value); }
  void popFront() {
    ++first_;
    if (empty()) return clear();
    if (first_ < kMaxGap || first_ < values_.size() / 2) return;
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  template <typename Comparable>
  void erase(const Comparable& value) {
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>(first_);
    values_.erase(std::remove(from, values_.end(), value), values_.end());
    if (empty()) clear();
  }
  void clear() {
    values_.clear();
    first_ = 0;
  }

 private:
  static constexpr std::size_t kMaxGap = 1024;
  std::vector<Value> values_;
  std::size_t first_ = 0; ///< Those before it were popped.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_FIFO_H_

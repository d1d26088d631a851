/// The numbers that this process gives to communicators.
#ifndef GOSS_LIB_WORLD_CONTEXT_NUMBERS_H_
#define GOSS_LIB_WORLD_CONTEXT_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <set>

namespace goss {

/// Not thread-safe. A number that was taken is never free again.
class ContextNumbers {
 public:
  /// Everything from here on is free.
  [[nodiscard]] std::uint32_t next() const { return next_; }

  void take(std::uint32_t number) {
    taken_.insert(number);
    next_ = std::max(next_, number + 1);
  }

  /// Takes `wanted` if it is free, else a free one above it that depends on `parent`, the number of the communicator
  /// that it is for, and all the more the higher `trial` is: how often it was raised before. Two ranks that look for
  /// the numbers of two communicators at the same time may each refuse, over and over, what the other one has just
  /// chosen; numbers of different parents soon belong to different classes, and then neither is in the way of the
  /// other.
  std::uint32_t reserve(std::uint32_t wanted, std::uint32_t parent, unsigned trial) {
    const bool free = !taken_.contains(wanted);
    const std::uint32_t number = free ? wanted : firstOfClass(std::max(wanted, next_), parent, trial);
    take(number);
    return number;
  }

 private:
  static std::uint32_t firstOfClass(std::uint32_t least, std::uint32_t parent, unsigned trial) {
    constexpr unsigned kMaxBits = 16; // Of a number.
    const std::uint32_t mask = (1u << std::min(trial, kMaxBits)) - 1;
    return least + ((parent - least) & mask);
  }

  std::uint32_t next_ = 0;
  std::set<std::uint32_t> taken_;
};

} // namespace goss

#endif // GOSS_LIB_WORLD_CONTEXT_NUMBERS_H_

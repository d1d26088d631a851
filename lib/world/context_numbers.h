/// The context numbers that this process gives to communicators.
#ifndef GOSS_LIB_WORLD_CONTEXT_NUMBERS_H_
#define GOSS_LIB_WORLD_CONTEXT_NUMBERS_H_

#include <algorithm>
#include <cstdint>
#include <set>

namespace goss {

/// Not thread-safe. A number is never free again once taken.
class ContextNumbers {
 public:
  /// The lowest number from which on all are free.
  [[nodiscard]] std::uint32_t next() const { return next_; }

  void take(std::uint32_t number) {
    taken_.insert(number);
    next_ = std::max(next_, number + 1);
  }

  /// Takes `wanted` if it is free, else a free number above it that depends on `parent`, the number of the parent
  /// communicator. `trial`, how often the number was raised before, makes it depend on more bits of `parent`. Two ranks
  /// that look for the numbers of two communicators at the same time may each refuse, over and over, the number that
  /// the other one has just chosen; numbers of different parents soon belong to different classes, which do not
  /// collide.
  std::uint32_t reserve(std::uint32_t wanted, std::uint32_t parent, unsigned trial) {
    const bool free = !taken_.contains(wanted);
    const std::uint32_t number = free ? wanted : firstOfClass(std::max(wanted, next_), parent, trial);
    take(number);
    return number;
  }

 private:
  static std::uint32_t firstOfClass(std::uint32_t least, std::uint32_t parent, unsigned trial) {
    constexpr unsigned kMaxBits = 16; // Bits of a number.
    const std::uint32_t mask = (1u << std::min(trial, kMaxBits)) - 1;
    return least + ((parent - least) & mask);
  }

  std::uint32_t next_ = 0;
  std::set<std::uint32_t> taken_;
};

} // namespace goss

#endif // GOSS_LIB_WORLD_CONTEXT_NUMBERS_H_

/// The lock of one rank's window: which rank has it, and which ranks wait for it.
#ifndef GOSS_LIB_WINDOWS_WINDOW_LOCK_H_
#define GOSS_LIB_WINDOWS_WINDOW_LOCK_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "platform/thread_safety.h"

namespace goss {

/// First come, first served. Under the engine's lock.
class WindowLock {
 public:
  struct Claim {
    int rank = -1;
    std::uint32_t serial = 0; ///< Serial of the operation that asks.
  };

  /// Adds a claim. Returns whether it holds the lock at once; else it waits.
  bool claim(const Claim& claim) GOSS_ON_LOOP {
    waiting_.push_back(claim);
    return waiting_.size() == 1;
  }
  [[nodiscard]] bool isHeldBy(int rank) const GOSS_ON_LOOP {
    return !waiting_.empty() && waiting_.front().rank == rank;
  }
  /// The rank that has the lock gives it up. Returns the claim that holds it now.
  std::optional<Claim> release() GOSS_ON_LOOP {
    waiting_.pop_front();
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front());
  }
  /// Removes the rank's claims that do not hold the lock.
  void forgetWaiting(int rank) GOSS_ON_LOOP {
    for (std::size_t i = waiting_.size(); i-- > 1;) {
      if (waiting_[i].rank == rank) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  /// Gives up a claim that does not hold the lock yet; does nothing if there is no such claim.
  void forget(const Claim& claim) GOSS_ON_LOOP {
    for (std::size_t i = 1; i < waiting_.size(); ++i) {
      if (waiting_[i].rank != claim.rank || waiting_[i].serial != claim.serial) continue;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }

 private:
  std::deque<Claim> waiting_ GOSS_GUARDED; ///< The first holds the lock.
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_WINDOW_LOCK_H_

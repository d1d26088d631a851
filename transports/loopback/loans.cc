#include "transports/loopback/loans.h"

namespace goss::transports::loopback {

void Loans::lend(Tag loan) {
  const std::lock_guard lock(mutex_);
  loans_[loan] = {};
}

bool Loans::tryTakeBack(Tag loan) {
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(loan);
  if (found == loans_.end()) return true;
  found->second.is_open = false;
  if (found->second.readers > 0) return false;
  loans_.erase(found);
  return true;
}

bool Loans::tryBorrow(Tag loan) {
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(loan);
  if (found == loans_.end() || !found->second.is_open) return false;
  ++found->second.readers;
  return true;
}

void Loans::giveBack(Tag loan) {
  const std::lock_guard lock(mutex_);
  --loans_.at(loan).readers; // It cannot be over while somebody reads.
}

} // namespace goss::transports::loopback

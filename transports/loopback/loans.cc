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

bool Loans::tryGiveBack(Tag loan) {
  const std::lock_guard lock(mutex_);
  Loan& read = loans_.at(loan); // It cannot be over while somebody reads.
  --read.readers;
  return read.is_open;
}

} // namespace goss::transports::loopback

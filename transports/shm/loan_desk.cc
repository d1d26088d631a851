#include "transports/shm/loan_desk.h"

#include <algorithm>

namespace goss::transports::shm {

namespace {

constexpr std::uint64_t kOpen = 1u << 23;
constexpr std::uint64_t kReaders = kOpen - 1;
constexpr std::uint64_t kName = ~std::uint64_t{kOpen | kReaders};

} // namespace

void LoanDesk::attach(int peer, SideControl& mine, SideControl& theirs) {
  links_[peer] = {&mine, &theirs};
  for (std::size_t i = 0; i < kLoans; ++i)
    if (loans_[i].is_open) mine.loans[i].store(loans_[i].tag | kOpen, std::memory_order_release);
}

bool LoanDesk::tryLend(Tag loan) {
  for (std::size_t i = 0; i < kLoans; ++i) {
    if (loans_[i].is_used && (loans_[i].is_open || !tryEnd(i))) continue;
    loans_[i] = {loan, true, true};
    for (const auto& [peer, link] : links_)
      link.mine->loans[i].store(loan | kOpen, std::memory_order_release);
    return true;
  }
  return false;
}

bool LoanDesk::tryTakeBack(Tag loan) {
  const auto found =
      std::find_if(loans_.begin(), loans_.end(), [loan](const Loan& one) { return one.is_used && one.tag == loan; });
  return found == loans_.end() || tryEnd(static_cast<std::size_t>(found - loans_.begin()));
}

bool LoanDesk::tryEnd(std::size_t index) {
  loans_[index].is_open = false;
  bool is_over = true;
  for (const auto& [peer, link] : links_)
    is_over = (link.mine->loans[index].fetch_and(~kOpen, std::memory_order_acq_rel) & kReaders) == 0 && is_over;
  if (!is_over) return false;
  for (const auto& [peer, link] : links_)
    link.mine->loans[index].store(0, std::memory_order_relaxed);
  loans_[index].is_used = false;
  return true;
}

bool LoanDesk::tryBorrow(int peer, Tag loan) {
  const auto link = links_.find(peer);
  if (link == links_.end()) return false;
  for (std::atomic<std::uint64_t>& word : link->second.theirs->loans) {
    std::uint64_t now = word.load(std::memory_order_acquire);
    while ((now & kName) == loan && (now & kOpen) != 0)
      if (word.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

bool LoanDesk::tryGiveBack(int peer, Tag loan) {
  const auto link = links_.find(peer);
  if (link == links_.end()) return false;
  for (std::atomic<std::uint64_t>& word : link->second.theirs->loans) {
    const std::uint64_t now = word.load(std::memory_order_acquire);
    if ((now & kName) == loan && (now & kReaders) != 0)
      return (word.fetch_sub(1, std::memory_order_acq_rel) & kOpen) != 0;
  }
  return false;
}

} // namespace goss::transports::shm

/// What this rank lends to the ranks of its host, and they to it, kept in the segments that it shares with each.
#ifndef GOSS_TRANSPORTS_SHM_LOAN_DESK_H_
#define GOSS_TRANSPORTS_SHM_LOAN_DESK_H_

#include <array>
#include <cstddef>
#include <map>

#include "gossamer/lending.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// A word of SideControl::loans is the loan, which leaves its lowest 24 bits to: whether it may be borrowed, and how
/// many readers the other side has. The owner of the loan makes and clears the word, the other side counts in it while
/// it may. What a lost peer has borrowed counts as given back. One thread.
class LoanDesk final : public goss::Lending {
 public:
  /// A link to `peer` stands: the peer may borrow what is lent. Both sides stay mapped until forget().
  void attach(int peer, SideControl& mine, SideControl& theirs);
  void forget(int peer) { links_.erase(peer); }

  [[nodiscard]] bool isInProcess() const override { return false; }
  bool tryLend(Tag loan) override;
  bool tryTakeBack(Tag loan) override;
  bool tryBorrow(int peer, Tag loan) override;
  bool tryGiveBack(int peer, Tag loan) override;

 private:
  struct Link {
    SideControl* mine = nullptr;
    SideControl* theirs = nullptr;
  };
  struct Loan {
    Tag tag = 0;
    bool is_used = false;
    bool is_open = false;
  };

  bool tryEnd(std::size_t index);

  std::map<int, Link> links_;
  std::array<Loan, kLoans> loans_{}; ///< By index of SideControl::loans.
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_LOAN_DESK_H_

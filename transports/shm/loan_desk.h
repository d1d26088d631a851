/// The loans between this rank and the other ranks of its host, kept in the segments that it shares with each.
#ifndef GOSS_TRANSPORTS_SHM_LOAN_DESK_H_
#define GOSS_TRANSPORTS_SHM_LOAN_DESK_H_

#include <array>
#include <cstddef>
#include <map>

#include "gossamer/lending.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// A word of SideControl::loans holds the identifier of a loan, and in its lowest 24 bits whether the loan may be
/// borrowed and the number of the other side's readers. The owner of the loan writes and clears the word; the other
/// side counts its readers in it while the loan may be borrowed. Loans that a lost peer has borrowed count as given
/// back. One thread.
class LoanDesk final : public goss::Lending {
 public:
  /// The link to `peer` is ready: the peer may borrow this rank's loans. Both sides stay mapped until forget().
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

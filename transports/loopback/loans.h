/// The loans of one rank to other ranks of its process.
#ifndef GOSS_TRANSPORTS_LOOPBACK_LOANS_H_
#define GOSS_TRANSPORTS_LOOPBACK_LOANS_H_

#include <map>
#include <mutex>

#include "gossamer/tag.h"

namespace goss::transports::loopback {

/// Safe for all threads of the process. The functions are those of Lending: the owner calls the first two, other ranks
/// the others.
class Loans {
 public:
  void lend(Tag loan);
  bool tryTakeBack(Tag loan);
  bool tryBorrow(Tag loan);
  bool tryGiveBack(Tag loan);

 private:
  struct Loan {
    int readers = 0;
    bool is_open = true; ///< May be borrowed.
  };

  std::mutex mutex_;
  std::map<Tag, Loan> loans_;
};

} // namespace goss::transports::loopback

#endif // GOSS_TRANSPORTS_LOOPBACK_LOANS_H_

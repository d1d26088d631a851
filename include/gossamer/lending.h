/// An optional part of the transport seam: memory of one rank that other ranks of its process, or of its host, read.
#ifndef GOSSAMER_LENDING_H_
#define GOSSAMER_LENDING_H_

#include "gossamer/tag.h"

namespace goss {

/// What a rank lends it may take back at any time, such as when its call has failed: a peer reads only what it has
/// borrowed, and the owner keeps the memory until the last reader has given it back. A process that is stopped gives
/// nothing back; when it goes on, tryGiveBack() tells it that what it has read may have changed meanwhile. A loan is an
/// identifier, whose lowest 24 bits are zero, of memory whose addresses the ranks tell each other in messages.
///
/// One thread at a time uses it, as it does its transport; it lives as long as the transport.
class Lending {
 public:
  virtual ~Lending() = default;
  /// Whether the ranks are threads of one process, and read memory at its owner's addresses.
  [[nodiscard]] virtual bool isInProcess() const = 0;
  /// From now on peers may borrow `loan`, which is not lent yet. False: too many loans are open already.
  virtual bool tryLend(Tag loan) = 0;
  /// From now on nobody may borrow `loan`. True: no remaining rank has borrowed the loan, and it has ended, as has one
  /// that was never lent. False: peers still read; call again.
  virtual bool tryTakeBack(Tag loan) = 0;
  /// Whether `peer` lends `loan`: then this rank may read that memory until it calls tryGiveBack().
  virtual bool tryBorrow(int peer, Tag loan) = 0;
  /// This rank has ended its reading. False: `peer` has taken the loan back before that, or is lost.
  virtual bool tryGiveBack(int peer, Tag loan) = 0;
};

} // namespace goss

#endif // GOSSAMER_LENDING_H_

/// Who averages with whom: one rank's part of pair averages over a window.
#ifndef GOSS_LIB_WINDOWS_PAIRING_H_
#define GOSS_LIB_WINDOWS_PAIRING_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "platform/thread_safety.h"
#include "windows/window_memory.h"

namespace goss {

/// An average of ranks a and b is three messages: a *wants*, b *offers* its elements as soon as no other average uses
/// them, and a sends the *difference*, which a subtracts and b adds. From its offer until the difference b is engaged:
/// it makes no other offer and settles no average of its own. So averages happen one after the other, as if each were
/// one step, and none can raise the ranks' variance.
///
/// No deadlock, on any graph: while a rank's own average waits for an offer, the rank makes offers to higher ranks
/// alone, and it begins none of its own while it is engaged. So in every chain of ranks that wait for each other's
/// offers, each rank waits for a higher one, and the highest rank waits for none.
///
/// Under the engine's lock.
class Pairing {
 public:
  struct Request {
    int rank = -1;
    std::uint32_t serial = 0;
    WindowRange range;
  };
  /// Sends the messages of averages and changes the elements; the window implements it.
  class Host {
   public:
    virtual ~Host() = default;
    /// Tells the partner of an own average, `serial`, that this rank wants it.
    virtual void requestOnLoop(std::uint32_t serial) GOSS_ON_LOOP = 0;
    virtual void offerOnLoop(const Request& request) GOSS_ON_LOOP = 0;
    /// Performs the own average `serial`, whose offer has arrived.
    virtual void settleOnLoop(std::uint32_t serial) GOSS_ON_LOOP = 0;
  };

  Pairing(int self, Host& host) : self_(self), host_(host) {}

  /// Begins an average that this rank has called; `serial` names it.
  void startOnLoop(std::uint32_t serial) GOSS_ON_LOOP;
  /// Gives up average `serial`; resumeOnLoop() may follow. Does nothing where it is unknown or settled. True: its offer
  /// has come, and the caller must decline it, because the partner waits for a difference.
  [[nodiscard]] bool withdrawOnLoop(std::uint32_t serial) GOSS_ON_LOOP;
  /// Begins own averages, settles them and makes offers, as far as possible now.
  void resumeOnLoop() GOSS_ON_LOOP;
  /// The offer that an average waits for has come. Does nothing for one that waits for none.
  void offeredOnLoop(std::uint32_t serial) GOSS_ON_LOOP;
  /// Another rank wants to average with this one.
  void requestedOnLoop(const Request& request) GOSS_ON_LOOP;
  /// The difference of the rank that this one is engaged with has come.
  void endedOnLoop() GOSS_ON_LOOP;
  /// The rank has left: its requests are void, and so is an offer that it has. Own averages with it are the caller's to
  /// withdraw.
  void leftOnLoop(int rank) GOSS_ON_LOOP;
  /// The request that this rank has made its last offer for, until the difference comes.
  [[nodiscard]] const std::optional<Request>& engaged() const GOSS_ON_LOOP { return engaged_; }

 private:
  void settleOnLoop() GOSS_ON_LOOP;
  bool engageOnLoop() GOSS_ON_LOOP;

  const int self_;
  Host& host_;
  std::deque<std::uint32_t> own_ GOSS_GUARDED; ///< In the order of calls; the first may be under way.
  std::deque<Request> requests_ GOSS_GUARDED;  ///< In the order in which they came.
  bool waits_ GOSS_GUARDED = false;            ///< The first of own_ waits for an offer, or has it.
  bool offered_ GOSS_GUARDED = false;          ///< The first of own_ has its offer.
  bool own_turn_ GOSS_GUARDED = true;          ///< An own average goes before requests of others: they take turns.
  std::optional<Request> engaged_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_PAIRING_H_

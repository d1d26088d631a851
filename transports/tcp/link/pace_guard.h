/// Keeps a connection from sending far faster than its path carries.
#ifndef GOSS_TRANSPORTS_TCP_LINK_PACE_GUARD_H_
#define GOSS_TRANSPORTS_TCP_LINK_PACE_GUARD_H_

#include <cstdint>
#include <optional>

#include "platform/bbr_state.h"
#include "platform/clock.h"

namespace goss::transports::tcp {

/// bbr begins at 2.89 times the rate at which it sees bytes arrive, until three round trips that were not held up by
/// the sender have brought no more. A collective is held up by its peers time and again, so that this never ends, and
/// every burst overflows the path's queue: thousands of packets are sent twice. (1000 Mbit/s, 50 ms one way: paced at
/// 2860 Mbit/s for good.) So where bbr still seeks although a round trip has brought no more and the queue shows that
/// the path is full, the pace is bounded, just enough above the rate seen to find out when there is more. One thread.
class PaceGuard {
 public:
  /// The bound in bytes a second; 0: none. To be told what bbr says once in a round trip.
  std::uint64_t judge(const platform::BbrState& now);

  /// Whether a connection with a message of a round trip or less before it begins anew, so that it sends as fast as
  /// `advised`, in bytes a second, or at least faster than now.
  [[nodiscard]] static bool beginsAnew(const platform::BbrState& now, std::uint64_t advised);

  /// Whether bbr is to learn the path anew, on the way: it has settled for far less than was advised, although more is
  /// to be sent. Losses during its beginning end that too early, and it then takes eight round trips for each quarter
  /// more. Seldom where that brought nothing before. To be told what bbr says once in a round trip.
  bool lags(const platform::BbrState& now);

  /// Asks the system and tells it, once in a round trip. `fd` is a TCP socket.
  void update(int fd);
  /// Bytes a second that the sender of the message at hand wants at most, and knows the path to take; 0: any. `fd` < 0:
  /// there is no socket yet.
  void advise(int fd, std::uint64_t bytes_per_s);
  /// For the next connection, which knows nothing yet but what was advised.
  void reset(int fd);

 private:
  [[nodiscard]] std::uint64_t wanted() const;
  void hasten(int fd);
  void beginAnew(int fd);
  void apply(int fd) const;
  void forget(int fd);
  [[nodiscard]] bool isFull(const platform::BbrState& now) const;

  std::optional<platform::BbrState> last_;
  double bounded_at_ = 0;         ///< bytes/s that had been seen when the pace was bounded; 0: it is not.
  std::uint64_t bound_ = 0;       ///< Ours.
  std::uint64_t advised_ = 0;     ///< The sender's; 0: none.
  std::uint64_t users_bound_ = 0; ///< What the user allows; 0: anything.
  platform::Clock::time_point advised_at_;
  double relearnt_at_ = 0; ///< bytes/s that had been seen when the path was learnt anew, for lagging.
  int patience_ = 0;       ///< Round trips until that may be done again,
  int patience_left_ = 0;  ///< and those of them that are left.
  bool idle_ = true;       ///< There is no bbr to be minded.
  platform::Clock::time_point next_;
  platform::Clock::time_point next_hastening_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_PACE_GUARD_H_

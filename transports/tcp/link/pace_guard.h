/// Keeps a connection from sending far faster than its path carries.
#ifndef GOSS_TRANSPORTS_TCP_LINK_PACE_GUARD_H_
#define GOSS_TRANSPORTS_TCP_LINK_PACE_GUARD_H_

#include <cstdint>
#include <optional>

#include "platform/bbr_state.h"
#include "platform/clock.h"

namespace goss::transports::tcp {

/// In its startup phase bbr sends at 2.89 times the rate at which it sees bytes arrive, until three round trips in
/// which the sender was not the limit have brought no more. In a collective the sender is the limit time and again, so
/// that startup never ends, and every burst overflows the path's queue: thousands of packets are sent twice. (1000
/// Mbit/s, 50 ms one way: paced at 2860 Mbit/s for good.) So where bbr is still in startup although a round trip has
/// brought no more and the queue shows that the path is full, the pace is bounded, just enough above the measured rate
/// to find out when the path carries more. One thread.
class PaceGuard {
 public:
  /// The bound in bytes a second; 0: none. Called with bbr's state once in a round trip.
  std::uint64_t judge(const platform::BbrState& now);

  /// Whether bbr restarts on an idle connection before a message of a round trip or less, so that it sends as fast as
  /// `advised`, in bytes a second, or at least faster than now.
  [[nodiscard]] static bool shouldRestart(const platform::BbrState& now, std::uint64_t advised);

  /// Whether bbr is to learn the path anew while it is in use: it has settled for far less than was advised, although
  /// more is to be sent. Losses during startup end it too early, and bbr then takes eight round trips for each quarter
  /// more. Rarely true where learning anew brought nothing before. Called with bbr's state once in a round trip.
  bool isTooSlow(const platform::BbrState& now);

  /// Reads the system's state and sets the pace, once in a round trip. `fd` is a TCP socket.
  void update(int fd);
  /// Most bytes a second that the sender of the current message wants, knowing the path; 0: any. `fd` < 0: there is no
  /// socket yet.
  void advise(int fd, std::uint64_t bytes_per_s);
  /// Prepares for the next connection, which keeps only the advice.
  void reset(int fd);

 private:
  [[nodiscard]] std::uint64_t wanted() const;
  void restartSlow(int fd);
  void restart(int fd);
  void apply(int fd) const;
  void forget(int fd);
  [[nodiscard]] bool isFull(const platform::BbrState& now) const;

  std::optional<platform::BbrState> last_;
  double bounded_at_ = 0;         ///< bytes/s that had been measured when the pace was bounded; 0: it is not.
  std::uint64_t bound_ = 0;       ///< This guard's bound; 0: none.
  std::uint64_t advised_ = 0;     ///< The sender's; 0: none.
  std::uint64_t users_bound_ = 0; ///< The user's bound; 0: none.
  platform::Clock::time_point advised_at_;
  double relearnt_at_ = 0; ///< bytes/s that had been measured when bbr learnt the path anew, because it was too slow.
  int patience_ = 0;       ///< Round trips until bbr may learn the path anew again.
  int patience_left_ = 0;  ///< Those of patience_ that are left.
  bool idle_ = true;       ///< The connection does not use bbr.
  platform::Clock::time_point next_;
  platform::Clock::time_point next_restart_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_PACE_GUARD_H_

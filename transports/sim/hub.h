/// The world that simulated ranks share: one clock, one queue of events for each rank.
#ifndef GOSS_TRANSPORTS_SIM_HUB_H_
#define GOSS_TRANSPORTS_SIM_HUB_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "gossamer/transport_context.h"
#include "platform/poller.h"
#include "transports/common/message_header.h"
#include "transports/common/offer.h"

namespace goss::transports::sim {

/// One direction between two ranks. A lost message is lost as a whole, once, and arrives `retransmit_s` later; messages
/// behind it wait, as on any ordered channel.
struct SimLink {
  double latency_s = 10e-6;
  double jitter_s = 2e-6; ///< A delay of up to so much, evenly spread, is added to the latency.
  double bandwidth_bytes_per_s = 1e9;
  double drop = 0; ///< Probability of a loss.
  double retransmit_s = 300e-6;
};

struct SimOptions {
  std::uint64_t seed = 1;
  /// The link from one rank to another; empty: SimLink() with Config::sim_drop.
  std::function<SimLink(int from, int to)> links;
  /// A rank that has not called its transport for this long no longer holds up the clock. Runs are reproducible as long
  /// as no rank that still has something to send is away that long. A rank that has nothing to send or receive but does
  /// not sleep (its thread computes between two calls) holds the clock up for a hundredth of this.
  std::chrono::milliseconds patience{200};
};

/// A message on its way.
struct Message {
  MessageHeader header;
  std::unique_ptr<std::byte[]> payload; ///< A copy, where the send is complete already.
  /// Bytes of the payload that count in the sender's window until the message has matched its receive.
  std::size_t window_bytes = 0;
  std::unique_ptr<Offer> offer; ///< The message, where the send is not complete.
};

/// Virtual nanoseconds since the beginning of the simulation.
using VirtualTime = std::int64_t;

struct Event {
  enum class Kind { wake, message, taken, goodbye };
  VirtualTime at = 0;
  int from = -1;
  std::uint64_t number = 0; ///< Number of the event among those between two ranks.
  Kind kind = Kind::wake;
  std::shared_ptr<Message> message;

  bool operator<(const Event& other) const {
    if (at != other.at) return at < other.at;
    return from != other.from ? from < other.from : number < other.number;
  }
};

/// Time stands still while any rank has something to do, and jumps to the next event when none has: the course of a run
/// depends on the seed and on the ranks' calls, not on their speed. Safe for all threads of the process.
class Hub {
 public:
  Hub(const TransportContext& context, SimOptions options);

  /// A rank takes part from now on; it is woken through `wakeup`, which must live until leave().
  void join(int rank, const platform::Wakeup& wakeup);
  void leave(int rank);
  /// `rank` wants a link to `peer`; it is there when both want it.
  void connect(int rank, int peer);
  [[nodiscard]] bool linked(int rank, int peer) const;

  /// Puts an event on the link, `bytes` long. Events of a link arrive in order.
  void post(int from, int to, Event::Kind kind, std::shared_ptr<Message> message, std::uint64_t bytes);
  /// Makes `to` look at its queue immediately.
  void poke(int from, int to);
  /// Moves the due events of `rank` to `out`. `idle`: the rank has nothing else to do; when that holds for all ranks,
  /// the clock jumps.
  void take(int rank, bool idle, std::vector<Event>& out);
  /// The rank did something by itself: it is not idle.
  void touch(int rank);

  struct Sleep {
    bool allowed = false;
    /// A rank may be away: check again after this time. Zero: sleep until woken.
    std::chrono::milliseconds look_again{0};
  };
  /// Prepares the sleep of a rank that has nothing to do.
  Sleep prepareToSleep(int rank);
  void sleepEnded(int rank);

  [[nodiscard]] VirtualTime now() const;
  [[nodiscard]] const std::array<std::byte, 16>& job() const { return job_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    bool joined = false;
    bool gone = false;
    bool idle = false;
    bool sleeping = false;
    bool woken = false; ///< The rank was woken and has not called since.
    Clock::time_point last_call;
    const platform::Wakeup* wakeup = nullptr;
    std::set<Event> events;
  };
  struct Direction {
    bool wanted = false;
    std::uint64_t number = 0;
    VirtualTime free_at = 0;
    VirtualTime last_arrival = 0;
  };

  // These functions are called with mutex_ held.
  [[nodiscard]] bool due(const Rank& rank) const { return !rank.events.empty() && rank.events.begin()->at <= now_; }
  /// How long `rank` may still hold up the clock; zero or less: it does not.
  [[nodiscard]] Clock::duration holdsClockFor(const Rank& rank, Clock::time_point wall) const;
  [[nodiscard]] Clock::duration clockIsHeldFor(Clock::time_point wall) const;
  void advance(Clock::time_point wall);
  void wake(Rank& rank, Clock::time_point wall);
  VirtualTime arrival(int from, int to, Direction& direction, std::uint64_t bytes) const;
  Direction& direction(int from, int to) { return directions_[index(from, to)]; }
  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * ranks_.size() + static_cast<std::size_t>(to);
  }
  Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }

  const std::array<std::byte, 16> job_;
  SimOptions options_;
  mutable std::mutex mutex_; ///< Guards the members below.
  VirtualTime now_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Direction> directions_; ///< Index: sender * size + receiver.
};

} // namespace goss::transports::sim

#endif // GOSS_TRANSPORTS_SIM_HUB_H_

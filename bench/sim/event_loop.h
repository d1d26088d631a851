/// The virtual time of the simulated ranks: one queue of events, in the order of time and then of their creation.
#ifndef GOSS_BENCH_SIM_EVENT_LOOP_H_
#define GOSS_BENCH_SIM_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "bench/sim/fibers.h"

namespace goss::bench::sim {

/// Runs each rank until it sleeps or blocks, then the earliest event. One thread; deterministic.
class EventLoop {
 public:
  /// Rank r runs body(r), from time 0.
  EventLoop(int ranks, std::function<void(int)> body);

  /// Runs until all ranks have ended. False: some of them wait for each other, or for nothing.
  [[nodiscard]] bool run();
  [[nodiscard]] double now_s() const { return now_s_; }
  /// The rank that runs; -1: none.
  [[nodiscard]] int running() const { return fibers_.running(); }

  /// Calls of a running rank.
  void sleepUntil(double at_s);
  void block();

  /// Resumes a rank that sleeps or blocks at this time, unless something resumes it before. No effect on others.
  void wake(int rank, double at_s);
  /// Calls `action` at this time, outside of all ranks. Actions that are left when all ranks have ended are not called.
  void at(double at_s, std::function<void()> action);

 private:
  struct Event {
    double at_s;
    std::uint64_t number;
    int rank;           ///< -1: an action.
    std::uint64_t turn; ///< The rank's turn for which the event was made, or the action's index.
    bool operator>(const Event& other) const { return at_s != other.at_s ? at_s > other.at_s : number > other.number; }
  };
  void push(double at_s, int rank, std::uint64_t turn);

  Fibers fibers_;
  std::vector<std::uint64_t> turns_; ///< By rank: how often it was resumed.
  std::vector<std::function<void()>> actions_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_number_ = 0;
  int living_;
  double now_s_ = 0;
};

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_EVENT_LOOP_H_

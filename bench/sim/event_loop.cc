#include "bench/sim/event_loop.h"

#include <algorithm>
#include <utility>

namespace goss::bench::sim {

EventLoop::EventLoop(int ranks, std::function<void(int)> body)
    : fibers_(ranks, std::move(body)), turns_(static_cast<std::size_t>(ranks)), living_(ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    push(0, rank, 0);
}

void EventLoop::push(double at_s, int rank, std::uint64_t turn) {
  events_.push({std::max(at_s, now_s_), next_number_++, rank, turn});
}

bool EventLoop::run() {
  while (living_ > 0 && !events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    if (event.rank < 0) {
      now_s_ = event.at_s;
      std::exchange(actions_[event.turn], nullptr)();
      continue;
    }
    std::uint64_t& turn = turns_[static_cast<std::size_t>(event.rank)];
    if (turn != event.turn || fibers_.hasEnded(event.rank)) continue; // Something else has resumed it.
    now_s_ = event.at_s;
    ++turn;
    fibers_.resume(event.rank);
    if (fibers_.hasEnded(event.rank)) --living_;
  }
  return living_ == 0;
}

void EventLoop::sleepUntil(double at_s) {
  wake(fibers_.running(), at_s);
  fibers_.yield();
}

void EventLoop::block() { fibers_.yield(); }

void EventLoop::wake(int rank, double at_s) { push(at_s, rank, turns_[static_cast<std::size_t>(rank)]); }

void EventLoop::at(double at_s, std::function<void()> action) {
  actions_.push_back(std::move(action));
  push(at_s, -1, actions_.size() - 1);
}

} // namespace goss::bench::sim

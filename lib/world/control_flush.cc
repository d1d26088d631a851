#include "world/control_flush.h"

#include <sched.h>

#include <algorithm>
#include <set>
#include <utility>

namespace goss {

ControlFlush::ControlFlush(Mesh& mesh, ControlChannel& control, std::function<bool(int peer)> is_seen_to_run,
                           Spans spans)
    : mesh_(mesh), control_(control), is_seen_to_run_(std::move(is_seen_to_run)), spans_(spans) {}

bool ControlFlush::isSlow(int peer) const {
  const auto found = slow_.find(peer);
  return found != slow_.end() && !found->second.until.expired() && mesh_.movements(peer) == found->second.movements;
}

void ControlFlush::runOnLoop(int except) {
  std::set<int> unsent = control_.unsentOnLoop();
  if (unsent.empty()) return;
  const auto deadline = platform::Deadline::after(spans_.wait);
  std::set<int> excepted{except};
  for (const int peer : unsent)
    if (isSlow(peer)) excepted.insert(peer);
  for (const int peer : mesh_.outbox().peersWithoutLinkOnLoop()) // A process that is stopped makes no link.
    if (!is_seen_to_run_(peer)) excepted.insert(peer);
  const auto is_waited_for = [&](int peer) { return !excepted.contains(peer); };
  do {
    if (!mesh_.progressOnLoop()) ::sched_yield(); // Peers may need this processor to receive.
    unsent = control_.unsentOnLoop();
  } while (std::ranges::any_of(unsent, is_waited_for) && !deadline.expired());
  for (const int peer : unsent)
    if (is_waited_for(peer)) slow_[peer] = {mesh_.movements(peer), platform::Deadline::after(spans_.slow)};
}

void ControlFlush::sweepOnLoop() {
  if (slow_.empty()) return;
  const std::set<int> unsent = control_.unsentOnLoop();
  std::erase_if(slow_,
                [&](const auto& entry) GOSS_ON_LOOP { return !isSlow(entry.first) || !unsent.contains(entry.first); });
}

} // namespace goss

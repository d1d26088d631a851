// The links that a communicator plans by: those of the world, until its own have been measured.
#include "communicator/communicator.h"
#include "execution/multi_phase_operation.h"

namespace goss {

schedule::Links Communicator::linksBetweenPhases() {
  auto lock = engine().enter();
  const BlockedCallGuard inside(blocked_calls_, lock);
  engine().driveUntil(lock, [this] {
    bool pending = false;
    operations_.forEachActiveOnLoop([&](Operation& operation) { pending = pending || operation.isPhased(); });
    return !pending;
  });
  return planner_.links();
}

void Communicator::useLinks(schedule::Links links) {
  auto lock = engine().enter();
  useLinksOnLoop(std::move(links));
}

void Communicator::useLinksOnLoop(schedule::Links links) {
  planner_.useLinks(std::move(links));
  measured_ = true;
  // What is bound to plans of before would be taken again for equal calls.
  recent_ = {};
  idle_executions_.clear();
}

void Communicator::inheritLinksOnLoop(Communicator& child) const {
  if (!measured_) return;
  std::vector<int> members;
  for (const int world_rank : child.group_.worldRanks())
    members.push_back(rankOfWorld(world_rank));
  child.useLinksOnLoop(planner_.links().subset(members));
}

} // namespace goss

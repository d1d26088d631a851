// goss_comm_measure_links: the links as they are, for the planner and for the caller.
#include <fmt/format.h>

#include "communicator/communicator.h"
#include "execution/multi_phase_operation.h"
#include "survey/link_measurement.h"

namespace goss {

Result<std::string> Communicator::measureLinks(std::int64_t timeout_ms) {
  awaitPhased();
  Result<std::string> text = tellMeasuredLinks(timeout_ms > 0 ? timeout_ms : defaultTimeoutMs());
  // The other ranks may have come to an end and plan by links that this one does not know.
  if (!text.isOk()) {
    abort(fmt::format("measuring the links failed: {}", text.status().text()));
    return text;
  }
  Result<schedule::Links> links = schedule::Links::parse(text.value(), size());
  if (!links.isOk()) {
    abort(fmt::format("what was measured is no link file: {}", links.status().text()));
    return links.status();
  }
  auto lock = engine().enter();
  useLinksOnLoop(links.take());
  return text;
}

/// Phases are planned when they begin: those of one operation must not see the links change between them on one rank
/// and before them on another.
void Communicator::awaitPhased() {
  auto lock = engine().enter();
  const BlockedCallGuard inside(blocked_calls_, lock);
  engine().driveUntil(lock, [this] {
    bool pending = false;
    engine().forEachActiveOnLoop(
        [&](Operation& operation) { pending = pending || (operation.isPhased() && &operation.host() == this); });
    return !pending;
  });
}

/// What this rank and all others have measured, as the same text on all.
Result<std::string> Communicator::tellMeasuredLinks(std::int64_t timeout_ms) {
  // Its messages must not meet those of the application.
  Result<std::unique_ptr<Communicator>> made = split(0, rank_);
  if (!made.isOk()) return made.status();
  Communicator& own = *made.value();
  Result<std::vector<MeasuredLink>> mine = goss::measureLinks(own, timeout_ms);
  if (!mine.isOk()) return mine.status();
  for (int rank = 0; rank < size(); ++rank)
    mine.value()[static_cast<std::size_t>(rank)].relay = relayOf(rank);

  std::vector<MeasuredLink> all(ranks_.size() * ranks_.size());
  constexpr std::size_t kFields = 4;
  static_assert(sizeof(MeasuredLink) == kFields * sizeof(double));
  Call gather;
  gather.collective = Collective::allGather;
  gather.dtype = GOSS_FLOAT64;
  gather.input = mine.value().data();
  gather.output = all.data();
  gather.count = kFields * ranks_.size();
  gather.timeout_ms = timeout_ms;
  setUniformShape(gather, size());
  if (Status status = own.run(gather); !status.isOk()) return status;
  std::vector<MeasuredLink> links(all.size()); // A rank has measured what comes to it.
  for (std::size_t to = 0; to < ranks_.size(); ++to)
    for (std::size_t from = 0; from < ranks_.size(); ++from)
      links[from * ranks_.size() + to] = all[to * ranks_.size() + from];
  return linksText(links, own.planner_.links());
}

double Communicator::relayOf(int rank) {
  auto lock = engine().enter();
  const int relay = mesh().relayedBy(worldRank(rank));
  if (relay < 0) return kNoRelay;
  const int member = rankOfWorld(relay);
  return member >= 0 ? member : kRelayElsewhere;
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
  for (const int world_rank : child.ranks_)
    members.push_back(rankOfWorld(world_rank));
  child.useLinksOnLoop(planner_.links().subset(members));
}

} // namespace goss

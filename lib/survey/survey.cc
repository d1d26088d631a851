#include "survey/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "communicator/call_guard.h"
#include "schedule/links.h"
#include "survey/link_measurement.h"
#include "world/world.h"

namespace goss {

namespace {

/// The value of MeasuredLink::relay for the link to `rank`.
double relayOf(const Communicator& communicator, int rank) {
  const Engine::Lock lock = communicator.engine().enter();
  const int relay = communicator.mesh().relayedBy(communicator.group().worldRank(rank));
  if (relay < 0) return kNoRelay;
  const int member = communicator.group().rankOfWorld(relay);
  return member >= 0 ? member : kRelayElsewhere;
}

/// Gathers the links that all ranks have measured, of which `mine` are those to this rank: links of rank 0 to all
/// ranks, then of rank 1, and so on.
Result<std::vector<MeasuredLink>> gatherLinks(Communicator& communicator, const std::vector<MeasuredLink>& mine,
                                              std::int64_t timeout_ms) {
  const std::size_t size = mine.size();
  std::vector<MeasuredLink> by_receiver(size * size);
  constexpr std::size_t kFields = 9;
  static_assert(sizeof(MeasuredLink) == kFields * sizeof(double));
  Call gather;
  gather.collective = Collective::allGather;
  gather.dtype = GOSS_FLOAT64;
  gather.input = mine.data();
  gather.output = by_receiver.data();
  gather.count = kFields * size;
  gather.timeout_ms = timeout_ms;
  setUniformShape(gather, communicator.size());
  if (Status status = communicator.collectives().run(gather); !status.isOk()) return status;
  std::vector<MeasuredLink> by_sender(size * size);
  for (std::size_t to = 0; to < size; ++to)
    for (std::size_t from = 0; from < size; ++from)
      by_sender[from * size + to] = by_receiver[to * size + from];
  return by_sender;
}

/// Measures the links between those ranks of `communicator` that pass `measures`; all ranks call it. `before` holds the
/// prices of these links so far. Returns the text of a link file, equal on all ranks that measure, but for roundings by
/// unlike processors; "" on others.
Result<std::string> measuredText(Communicator& communicator, const schedule::Links& before, bool measures,
                                 std::int64_t timeout_ms) {
  // A communicator of its own separates the measurement's messages from the application's.
  Result<std::unique_ptr<Communicator>> made = communicator.split(measures ? 0 : -1, communicator.rank());
  if (!made.isOk()) return made.status();
  if (!measures) return std::string();
  Communicator& own = *made.value();
  Result<std::vector<MeasuredLink>> mine = measureLinks(own, {}, timeout_ms);
  if (!mine.isOk()) return mine.status();
  for (int rank = 0; rank < own.size(); ++rank)
    mine.value()[static_cast<std::size_t>(rank)].relay = relayOf(own, rank);
  Result<std::vector<MeasuredLink>> all = gatherLinks(own, mine.value(), timeout_ms);
  if (!all.isOk()) return all.status();
  return linksText(all.value(), before);
}

Status broadcast(Communicator& communicator, void* bytes, std::size_t count, std::int64_t timeout_ms) {
  Call call;
  call.collective = Collective::broadcast;
  call.dtype = GOSS_UINT8;
  call.root = 0;
  call.input = call.output = bytes;
  call.count = count;
  call.timeout_ms = timeout_ms;
  setUniformShape(call, communicator.size());
  return communicator.collectives().run(call);
}

/// Rank 0's text, on all ranks.
Result<std::string> textOfRank0(Communicator& communicator, std::string text, std::int64_t timeout_ms) {
  std::uint64_t bytes = text.size();
  if (Status status = broadcast(communicator, &bytes, sizeof bytes, timeout_ms); !status.isOk()) return status;
  text.resize(bytes);
  if (Status status = broadcast(communicator, text.data(), text.size(), timeout_ms); !status.isOk()) return status;
  return text;
}

/// Measures the links of `communicator`, which were priced as `before`: those between all ranks, or between
/// firstOfNodes() alone. Plans later calls by them, and returns rank 0's text.
Result<std::string> survey(Communicator& communicator, const schedule::Links& before, bool firsts_alone,
                           std::int64_t timeout_ms) {
  std::vector<int> members(static_cast<std::size_t>(communicator.size()));
  std::iota(members.begin(), members.end(), 0);
  if (firsts_alone) members = before.firstOfNodes();
  const bool measures = std::ranges::find(members, communicator.rank()) != members.end();
  Result<std::string> text = measuredText(communicator, before.subset(members), measures, timeout_ms);
  if (text.isOk()) text = textOfRank0(communicator, text.take(), timeout_ms);
  // The other ranks may have succeeded and plan by links that this rank does not know.
  if (!text.isOk()) {
    communicator.abort(fmt::format("measuring the links failed: {}", text.status().text()));
    return text;
  }
  Result<schedule::Links> links = schedule::Links::parse(text.value(), static_cast<int>(members.size()));
  if (!links.isOk()) {
    communicator.abort(fmt::format("what was measured is no link file: {}", links.status().text()));
    return links.status();
  }
  if (firsts_alone) {
    communicator.collectives().beginWithLinks(before.withNodes(links.value()));
  } else {
    communicator.collectives().useLinks(links.take());
  }
  return text;
}

} // namespace

Result<std::string> surveyLinks(Communicator& communicator, std::int64_t timeout_ms) {
  const CallGuard inside(communicator);
  return survey(communicator, communicator.collectives().linksBetweenPhases(), false,
                timeout_ms > 0 ? timeout_ms : communicator.defaultTimeoutMs());
}

Status surveyNewLinks(Communicator& communicator) {
  const World& world = communicator.world();
  if (!world.measuresLinks()) return Status::ok();
  // A message may have to wait until other ranks have measured long paths.
  constexpr std::int64_t kMinTimeout_ms = 60'000;
  const auto begun = std::chrono::steady_clock::now();
  const CallGuard inside(communicator);
  const schedule::Links before = communicator.collectives().linksBetweenPhases();
  const Result<std::string> links =
      survey(communicator, before, true, std::max(kMinTimeout_ms, world.config().bootstrap_timeout_ms));
  if (!links.isOk()) return links.status();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  world.log().write(base::LogLevel::info,
                    fmt::format("measured the links between {} hosts in {:.1f} s; GOSS_MEASURE=off forbids it",
                                before.firstOfNodes().size(), took.count()));
  return Status::ok();
}

} // namespace goss

#include "health/failure_detector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace goss {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kProbeInterval(500);
/// This long before its deadline an operation probes once more, so that the error's statements about other ranks are
/// true.
constexpr milliseconds kLastProbe(100);
/// From this long before its deadline a collective asks all other ranks whether they have called it, also those to
/// which this rank has no link yet.
constexpr milliseconds kAsksAll(1000);
/// A rank that has not answered a probe of at least this age counts as silent.
constexpr milliseconds kSilence(150);
/// A rank of another host may have stopped if it has not answered a probe of this age. A rank that is only slow,
/// because it gets no processor, mostly answers before.
constexpr milliseconds kSilenceElsewhere(1000);
/// A rank that has not answered this many probes is not probed again, so that probes do not fill a slow link.
constexpr int kMaxUnanswered = 4;
/// An error says of at most so many ranks what they wait for.
constexpr std::size_t kMaxNamed = 16;

TimePoint nextProbe(TimePoint deadline, TimePoint now) {
  const TimePoint last = deadline - kLastProbe;
  return last > now ? std::min(now + kProbeInterval, last) : now + kProbeInterval;
}

} // namespace

FailureDetector::FailureDetector(const Peers& peers, OperationTable& operations, Rules rules)
    : peers_(peers),
      operations_(operations),
      rules_(std::move(rules)),
      progress_(static_cast<std::size_t>(peers.group.size())) {}

void FailureDetector::probe(Operation& operation, TimePoint now) {
  operation.setNextProbe(nextProbe(operation.deadline(), now));
  operation.remindOnLoop();
  ControlMessage probe = peers_.message(ControlMessage::Type::probe);
  probe.operation = operation.sequence;
  if (operation.envelope() != nullptr) probe.signature = *operation.envelope();
  const std::vector<int> awaited = operation.ranksToProbe();
  const bool asks_all = operation.deadline() - now <= kAsksAll;
  for (const int rank : concernedRanks(operation, awaited)) {
    // Other ranks watch a rank to which this one has no link, and tell when it ends.
    const bool has_link = !peers_.mesh.isIdle(peers_.group.worldRank(rank));
    if (!has_link && !asks_all && std::ranges::find(awaited, rank) == awaited.end()) continue;
    if (giveUpIfSilent(rank, now)) continue;
    PeerProgress& progress = progress_[static_cast<std::size_t>(rank)];
    // Any number of messages from one rank probe it once.
    if (operation.failsAlone() && now - progress.asked < kProbeInterval / 2) continue;
    if (progress.unanswered >= kMaxUnanswered) continue;
    ++progress.unanswered;
    progress.asked = now;
    if (progress.probed == TimePoint{}) progress.probed = now;
    peers_.send(rank, probe);
  }
}

/// Bytes that move on the link of a silent rank count as a sign of life, because a probe queues behind them.
bool FailureDetector::giveUpIfSilent(int rank, TimePoint now) {
  PeerProgress& progress = progress_[static_cast<std::size_t>(rank)];
  const int peer = peers_.group.worldRank(rank);
  const std::uint64_t movements = peers_.mesh.movements(peer);
  if (movements != progress.movements) progress.moved = now;
  progress.movements = movements;
  const milliseconds limit = rules_.silence;
  if (limit.count() == 0 || progress.probed == TimePoint{}) return false;
  if (now - std::max(progress.probed, progress.moved) < limit) return false;
  if (!peers_.mesh.linkStatus(peer).isOk() || rules_.is_seen_to_run(peer)) return false;
  peers_.mesh.abandon(peer, Status::error(GOSS_ERR_TIMEOUT,
                                          fmt::format("no sign of life from it for {} ms: stopped, cut off or "
                                                      "overloaded; GOSS_SILENCE_MS says how long to wait",
                                                      limit.count()),
                                          ErrorScope::peer, peer));
  return true;
}

void FailureDetector::reply(int rank) const {
  ControlMessage reply = peers_.message(ControlMessage::Type::reply);
  reply.operation = operations_.history().next();
  const int waiting_for = waitingFor();
  if (waiting_for >= 0) reply.culprit = peers_.group.worldRank(waiting_for);
  peers_.send(rank, reply);
}

/// A rank for which an active operation waits (if the communicator has failed, one that outlives the failure); -1:
/// none.
int FailureDetector::waitingFor() const {
  int rank = -1;
  const bool has_failed = !operations_.asyncError().isOk();
  operations_.forEachActiveOnLoop([&](Operation& operation) GOSS_ON_LOOP {
    if (operation.isEnding() || (has_failed && !operation.outlivesFailure())) return;
    const std::vector<int> ranks = operation.waitingForRanks();
    if (!ranks.empty()) rank = ranks.front();
  });
  return rank;
}

void FailureDetector::heard(int rank, const ControlMessage& message) {
  PeerProgress& progress = progress_[static_cast<std::size_t>(rank)];
  // A rank that is probed no more until it replies stays under suspicion.
  if (message.type == ControlMessage::Type::reply || progress.unanswered < kMaxUnanswered)
    progress.probed = TimePoint{};
  if (message.type != ControlMessage::Type::reply) return;
  progress.started = message.operation;
  progress.waiting_for = message.culprit;
  progress.answered = true;
  progress.unanswered = std::max(0, progress.unanswered - 1);
}

/// The other ranks that an operation concerns: the awaited ranks of a message, all ranks of a collective.
std::vector<int> FailureDetector::concernedRanks(const Operation& operation, std::vector<int> awaited) const {
  if (!operation.failsAlone()) return peers_.group.others();
  std::erase(awaited, peers_.group.rank());
  return awaited;
}

bool FailureDetector::isSilent(int rank, TimePoint now) const {
  const TimePoint probed = progressOf(rank).probed;
  if (probed == TimePoint{} || now - probed < kSilence) return false;
  // A link that is being made may need its time, unless the process stands still.
  const int peer = peers_.group.worldRank(rank);
  const bool is_linking = !peers_.mesh.isUp(peer) && peers_.mesh.linkStatus(peer).isOk();
  return !is_linking || !rules_.is_seen_to_run(peer);
}

bool FailureDetector::mayHaveStopped(int rank, TimePoint now) const {
  if (!isSilent(rank, now)) return false;
  const int peer = peers_.group.worldRank(rank);
  return rules_.is_here(peer) ? !rules_.is_seen_to_run(peer) : now - progressOf(rank).probed >= kSilenceElsewhere;
}

/// In a shrink a rank that has answered before and is only late is not silent, because it may wait for the rank that is
/// to blame.
std::vector<int> FailureDetector::silentRanks(const Operation& operation, TimePoint now) const {
  std::vector<int> silent = concernedRanks(operation, operation.waitingForRanks());
  std::erase_if(silent, [&](int rank) GOSS_ON_LOOP {
    return operation.outlivesFailure() && progressOf(rank).answered ? !mayHaveStopped(rank, now) : !isSilent(rank, now);
  });
  return silent;
}

/// Ranks whose number of started collectives shows that they have not started this one. Which ranks this rank itself
/// waits for does not matter: that may be a rank that waits for the missing ones.
std::vector<int> FailureDetector::missingRanks(const Operation& operation) const {
  if (operation.failsAlone()) return {};
  std::vector<int> missing = peers_.group.others();
  std::erase_if(missing, [&](int rank) GOSS_ON_LOOP {
    const PeerProgress& progress = progressOf(rank);
    return !progress.answered || progress.started > operation.sequence;
  });
  return missing;
}

std::string FailureDetector::reasonOf(const Operation& operation, TimePoint now) const {
  const std::vector<int> silent = silentRanks(operation, now);
  std::vector<int> missing = missingRanks(operation);
  std::erase_if(missing, [&](int rank) { return std::find(silent.begin(), silent.end(), rank) != silent.end(); });
  std::vector<std::string> reasons;
  if (!silent.empty())
    reasons.push_back(
        fmt::format("no answer from {} (stopped, overloaded or unreachable)", peers_.group.namesOf(silent)));
  if (!missing.empty())
    reasons.push_back(
        fmt::format("{} {} not called it yet", peers_.group.namesOf(missing), missing.size() == 1 ? "has" : "have"));
  return reasons.empty() ? waitsOf(operation) : fmt::format("{}", fmt::join(reasons, "; "));
}

/// A text that says which ranks the operation waits for, and which ranks those wait for.
std::string FailureDetector::waitsOf(const Operation& operation) const {
  std::vector<std::string> waits;
  for (const int rank : operation.waitingForRanks()) {
    std::string text = peers_.group.nameOf(rank);
    const int next = awaitedBy(rank);
    if (next >= 0) text += fmt::format(", which itself waits for {}", peers_.group.nameOf(next));
    waits.push_back(std::move(text));
  }
  if (waits.empty()) return "work on this rank had not ended";
  if (waits.size() > kMaxNamed) waits.resize(kMaxNamed);
  return fmt::format("waiting for {}", fmt::join(waits, "; "));
}

/// The rank for which `rank` waits, as its answers to probes say; -1: none.
int FailureDetector::awaitedBy(int rank) const {
  const PeerProgress& progress = progressOf(rank);
  return progress.answered ? peers_.group.rankOfWorld(progress.waiting_for) : -1;
}

/// The rank that an error of `operation` blames; -1: none.
int FailureDetector::culpritOf(const Operation& operation, TimePoint now) const {
  for (const std::vector<int>& blamed : {silentRanks(operation, now), missingRanks(operation)})
    if (!blamed.empty()) return blamed.front();
  const std::vector<int> awaited = operation.waitingForRanks();
  if (awaited.empty()) return -1;
  // In a shrink among many, ranks wait for their coordinator, which is not to blame as long as it waits for another
  // rank.
  const int next = operation.outlivesFailure() ? awaitedBy(awaited.front()) : -1;
  return next >= 0 && next != peers_.group.rank() ? next : awaited.front();
}

Status FailureDetector::expiry(const Operation& operation, TimePoint now) const {
  const int culprit = culpritOf(operation, now);
  return Status::error(
      GOSS_ERR_TIMEOUT,
      fmt::format("{} (operation {}) did not complete within {} ms on rank {}: {}", operation.describe(),
                  operation.sequence, operation.timeout_ms, peers_.group.rank(), reasonOf(operation, now)),
      ErrorScope::communicator, culprit < 0 ? -1 : peers_.group.worldRank(culprit));
}

} // namespace goss

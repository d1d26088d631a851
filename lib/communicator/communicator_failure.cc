// How a communicator fails: who is told, how ranks that do not answer are found out, and what the error says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "call/tag.h"
#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kProbeInterval(500);
/// So long before its deadline an operation asks once more: what the error says of other ranks is to be true then.
constexpr milliseconds kLastProbe(100);
/// A rank that has not answered a probe of at least this age is called silent.
constexpr milliseconds kSilence(150);
/// A rank that owes so many answers is not asked again, lest probes crowd out what a slow link is there for.
constexpr int kMaxUnanswered = 4;
/// An error names no more ranks one by one.
constexpr std::size_t kMaxNamed = 16;

} // namespace

// ---- Failure
// -----------------------------------------------------------------------------------------------------------

ControlMessage Communicator::abortMessage() const {
  ControlMessage message;
  message.type = ControlMessage::Type::abort;
  message.context = context_;
  message.kind = failure_.kind();
  message.culprit = failure_.peer();
  message.text = failure_.text();
  return message;
}

void Communicator::tellOthersOnLoop() {
  const ControlMessage message = abortMessage();
  for (int rank = 0; rank < size(); ++rank)
    world_->control().sendOnLoop(worldRank(rank), message);
  const bool gone = failure_.kind() == GOSS_ERR_TIMEOUT || failure_.kind() == GOSS_ERR_PEER_LOST;
  world_->flushControlOnLoop(gone ? failure_.peer() : -1);
}

void Communicator::failOnLoop(const Status& status, Origin origin) {
  engine().startUnpostedOnLoop(); // To be ended with the others.
  const bool first = failure_.isOk();
  if (first) {
    const bool doubtful = !doubt_.isOk() && status.kind() != GOSS_ERR_MISMATCH && origin != Origin::destroyed;
    failure_ = doubtful ? doubt_ : status;
    if (origin == Origin::here) world_->log().warn(failure_.text());
    if (origin != Origin::destroyed) tellOthersOnLoop();
  }
  engine().forEachActiveOnLoop([&](Operation& operation) {
    if (&operation.host() != this) return;
    if (operation.outlivesFailure() && origin != Origin::destroyed) return;
    if (origin == Origin::elsewhere) operation.lookOnceMoreOnLoop();
    if (operation.state() != Operation::State::active) return;
    operation.withdrawOnLoop();
    completeOnLoop(operation, failure_);
  });
  if (first) operations_.signalFailure();
  // What others still send for it, nobody will take: it must not hold up what comes behind.
  if (first) mesh().discard(kContextMask, contextTag(context_));
}

void Communicator::abort(const std::string& reason) {
  auto lock = engine().enter();
  failOnLoop(Status::error(GOSS_ERR_ABORTED, fmt::format("rank {} aborted the communicator: {}", rank(), reason),
                           ErrorScope::communicator, worldRank(rank())),
             Origin::here);
  engine().notify(lock);
}

void Communicator::handlePeerLostOnLoop(int rank, const Status& status, bool departed) {
  shrink_.accuse(rank);
  if (departed) return; // No failure by itself.
  failOnLoop(Status::error(GOSS_ERR_PEER_LOST, fmt::format("{} was lost: {}", group_.nameOf(rank), status.text()),
                           ErrorScope::communicator, worldRank(rank)),
             Origin::here);
}

// ---- Deadlines and probes ------------------------------------------------------------------------------------------

void Communicator::probeDue(Operation& operation, TimePoint now) {
  const TimePoint last = operation.deadline_ - kLastProbe;
  operation.next_probe_ = last > now ? std::min(now + kProbeInterval, last) : now + kProbeInterval;
  operation.remindOnLoop();
  const std::vector<int> concerned = concernedRanks(operation);
  ControlMessage probe;
  probe.type = ControlMessage::Type::probe;
  probe.context = context_;
  probe.operation = operation.sequence;
  if (operation.envelope() != nullptr) probe.signature = *operation.envelope();
  for (const int rank : concerned) {
    if (giveUpIfSilentOnLoop(rank, now)) continue;
    PeerProgress& news = news_[static_cast<std::size_t>(rank)];
    // Any number of messages from one rank ask it once.
    if (operation.failsAlone() && now - news.asked < kProbeInterval / 2) continue;
    if (news.unanswered >= kMaxUnanswered) continue;
    ++news.unanswered;
    news.asked = now;
    if (news.probed == TimePoint{}) news.probed = now;
    world_->control().sendOnLoop(worldRank(rank), probe);
  }
}

/// A rank that says nothing after a probe, and with whom no bytes move, is as good as dead: its link is broken off, and
/// what follows is what follows a death. Bytes count, because a probe stands in line behind them. One that runs on this
/// host is waited for: it may get no processor for long.
bool Communicator::giveUpIfSilentOnLoop(int rank, TimePoint now) {
  PeerProgress& news = news_[static_cast<std::size_t>(rank)];
  const std::uint64_t movements = mesh().movements(worldRank(rank));
  if (movements != news.movements) news.moved = now;
  news.movements = movements;
  const milliseconds limit(world_->config().silence_ms);
  if (limit.count() == 0 || news.probed == TimePoint{} || now - std::max(news.probed, news.moved) < limit) return false;
  if (!mesh().linkStatus(worldRank(rank)).isOk() || world_->isSeenToRun(worldRank(rank))) return false;
  mesh().abandon(worldRank(rank),
                 Status::error(GOSS_ERR_TIMEOUT,
                               fmt::format("no sign of life from it for {} ms: stopped, cut off or overloaded; "
                                           "GOSS_SILENCE_MS says how long to wait",
                                           limit.count()),
                               ErrorScope::peer, worldRank(rank)));
  return true;
}

void Communicator::answerProbeOnLoop(int rank, const ControlMessage& probe) {
  if (!failure_.isOk()) { // Its abort has not reached them, or they wait for us to shrink it.
    world_->control().sendOnLoop(worldRank(rank), abortMessage());
    ControlMessage alive;
    alive.type = ControlMessage::Type::reply;
    alive.context = context_;
    alive.operation = history_.next();
    world_->control().sendOnLoop(worldRank(rank), alive);
    return;
  }
  const Signature theirs = Signature::decode(probe.signature);
  if (theirs.kind == Signature::Kind::collective && history_.holds(probe.operation)) {
    const Envelope& own = history_.at(probe.operation);
    const Signature ours = Signature::decode(own);
    if (theirs.history != ours.history) {
      tellHistoryOnLoop(rank); // It finds out which call it was.
    } else if (ours.kind == Signature::Kind::collective && !(theirs == ours)) {
      failOnLoop(mismatch(probe.operation, rank, probe.signature, own), Origin::here);
      return;
    }
  }
  ControlMessage reply;
  reply.type = ControlMessage::Type::reply;
  reply.context = context_;
  reply.operation = history_.next();
  engine().forEachActiveOnLoop([&](Operation& operation) {
    const std::vector<int> waiting = operation.waitingForRanks();
    if (&operation.host() == this && !waiting.empty()) reply.culprit = worldRank(waiting.front());
  });
  world_->control().sendOnLoop(worldRank(rank), reply);
}

void Communicator::handleControlOnLoop(int rank, const ControlMessage& message) {
  PeerProgress& news = news_[static_cast<std::size_t>(rank)];
  news.probed = TimePoint{}; // Whatever it says, it lives.
  switch (message.type) {
    case ControlMessage::Type::abort:
      failOnLoop(Status::error(static_cast<ErrorKind>(message.kind == 0 ? GOSS_ERR_ABORTED : message.kind),
                               message.text, ErrorScope::communicator, message.culprit),
                 Origin::elsewhere);
      break;
    case ControlMessage::Type::probe:
      answerProbeOnLoop(rank, message);
      break;
    case ControlMessage::Type::reply:
      news.operation = message.operation;
      news.waiting_for = message.culprit;
      news.answered = true;
      news.unanswered = std::max(0, news.unanswered - 1);
      break;
    case ControlMessage::Type::history:
      handleHistoryOnLoop(rank, message);
      break;
    case ControlMessage::Type::view:
    case ControlMessage::Type::agreed:
      shrink_.handle(rank, message);
      break;
  }
}

/// A message concerns its peer alone, a collective all the others.
std::vector<int> Communicator::concernedRanks(const Operation& operation) const {
  std::vector<int> ranks;
  if (operation.failsAlone()) {
    ranks = operation.waitingForRanks();
  } else {
    for (int rank = 0; rank < size(); ++rank)
      ranks.push_back(rank);
  }
  std::erase(ranks, rank());
  return ranks;
}

std::vector<int> Communicator::silentRanks(const Operation& operation, TimePoint now) const {
  std::vector<int> silent;
  for (const int rank : concernedRanks(operation)) {
    const PeerProgress& news = news_[static_cast<std::size_t>(rank)];
    if (news.probed != TimePoint{} && now - news.probed >= kSilence) silent.push_back(rank);
  }
  return silent;
}

/// Ranks that have said how many collectives they have started, and not as many as that they would have started this
/// one. Whom this rank waits for itself does not matter: that may be a rank that waits for them.
std::vector<int> Communicator::missingRanks(const Operation& operation) const {
  std::vector<int> missing;
  if (operation.failsAlone()) return missing;
  for (const int rank : concernedRanks(operation)) {
    const PeerProgress& news = news_[static_cast<std::size_t>(rank)];
    if (news.answered && news.operation <= operation.sequence) missing.push_back(rank);
  }
  return missing;
}

std::string Communicator::expiryText(const Operation& operation, TimePoint now) const {
  const std::vector<int> silent = silentRanks(operation, now);
  std::vector<int> missing = missingRanks(operation);
  std::erase_if(missing, [&](int rank) { return std::find(silent.begin(), silent.end(), rank) != silent.end(); });
  std::vector<std::string> reasons;
  if (!silent.empty())
    reasons.push_back(fmt::format("no answer from {} (stopped, overloaded or unreachable)", group_.namesOf(silent)));
  if (!missing.empty())
    reasons.push_back(
        fmt::format("{} {} not called it yet", group_.namesOf(missing), missing.size() == 1 ? "has" : "have"));
  if (!reasons.empty()) return fmt::format("{}", fmt::join(reasons, "; "));
  std::vector<std::string> waits;
  for (const int rank : operation.waitingForRanks()) {
    const PeerProgress& news = news_[static_cast<std::size_t>(rank)];
    std::string text = group_.nameOf(rank);
    if (news.answered && news.waiting_for >= 0 && rankOfWorld(news.waiting_for) >= 0) {
      text += fmt::format(", which itself waits for {}", group_.nameOf(rankOfWorld(news.waiting_for)));
    }
    waits.push_back(std::move(text));
  }
  if (waits.empty()) return "work on this rank had not ended";
  if (waits.size() > kMaxNamed) waits.resize(kMaxNamed);
  return fmt::format("waiting for {}", fmt::join(waits, "; "));
}

void Communicator::expired(Operation& operation) {
  const TimePoint now = Clock::now();
  const std::vector<int> silent = silentRanks(operation, now);
  int culprit = silent.empty() ? -1 : worldRank(silent.front());
  for (const std::vector<int>& blamed : {missingRanks(operation), operation.waitingForRanks()}) {
    if (culprit < 0 && !blamed.empty()) culprit = worldRank(blamed.front());
  }
  const std::string text =
      fmt::format("{} (operation {}) did not complete within {} ms on rank {}: {}", operation.describe(),
                  operation.sequence, operation.timeout_ms, rank(), expiryText(operation, now));
  const Status status = Status::error(GOSS_ERR_TIMEOUT, text, ErrorScope::communicator, culprit);
  if (operation.failsAlone()) {
    failAloneOnLoop(operation, status);
  } else {
    failOnLoop(status, Origin::here);
  }
}

} // namespace goss

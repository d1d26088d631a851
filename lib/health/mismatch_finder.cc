#include "health/mismatch_finder.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "call/history.h"

namespace goss {

namespace {

using Origin = FailurePropagator::Origin;

/// A rank that is asked for an earlier call answers at once, unless it is stopped or overloaded.
constexpr std::chrono::seconds kLongestDoubt(5);

} // namespace

void MismatchFinder::disagree(Operation& operation, int rank, const Envelope& theirs) {
  if (!operations_.asyncError().isOk()) return; // That error ends the operation.
  const Envelope& ours = *operation.envelope();
  if (Signature::decode(theirs).history == Signature::decode(ours).history)
    return propagator_.fail(mismatch(operation.sequence, rank, theirs, ours), Origin::here);
  if (!propagator_.expected().isOk()) return; // Another rank was asked already.
  const int peer = peers_.group.worldRank(rank);
  propagator_.expect(
      Status::error(GOSS_ERR_MISMATCH,
                    fmt::format("an operation before operation {} does not match: rank {} called it differently "
                                "from rank {}, and does not say what it called",
                                operation.sequence, rank, peers_.group.rank()),
                    ErrorScope::communicator, peer));
  if (!peers_.mesh.linkStatus(peer).isOk()) return propagator_.fail(propagator_.expected(), Origin::here);
  operation.endBefore(std::chrono::steady_clock::now() + kLongestDoubt);
  tellHistory(rank);
}

void MismatchFinder::tellHistory(int rank) {
  ControlMessage message = peers_.message(ControlMessage::Type::history);
  message.operation = operations_.history().first();
  message.text = operations_.history().encode();
  static_assert(History::kKept * sizeof(Envelope) <= ControlMessage::kMaxTextBytes);
  peers_.send(rank, message);
}

bool MismatchFinder::checkProbe(int rank, const ControlMessage& probe) {
  const History& history = operations_.history();
  const Signature theirs = Signature::decode(probe.signature);
  if (theirs.kind != Signature::Kind::collective || !history.holds(probe.operation)) return true;
  const Envelope& own = history.at(probe.operation);
  const Signature ours = Signature::decode(own);
  if (theirs.history != ours.history) {
    tellHistory(rank); // It finds out which call it was.
  } else if (ours.kind == Signature::Kind::collective && !(theirs == ours)) {
    propagator_.fail(mismatch(probe.operation, rank, probe.signature, own), Origin::here);
    return false;
  }
  return true;
}

void MismatchFinder::handle(int rank, const ControlMessage& message) {
  if (!operations_.asyncError().isOk()) return propagator_.tell(rank); // Perhaps it is the same mismatch.
  const History& ours = operations_.history();
  const std::optional<History> theirs = History::decode(message.operation, message.text);
  const std::optional<std::uint64_t> number =
      theirs.has_value() && !message.hasDeparted() ? ours.firstDifference(*theirs) : std::nullopt;
  if (!number.has_value()) {
    if (!propagator_.expected().isOk()) propagator_.fail(propagator_.expected(), Origin::here);
    return;
  }
  if (ours.holds(*number) && theirs->holds(*number))
    return propagator_.fail(mismatch(*number, rank, theirs->at(*number), ours.at(*number)), Origin::here);
  propagator_.fail(
      Status::error(GOSS_ERR_MISMATCH,
                    fmt::format("operation {} or an earlier one does not match: rank {} called it "
                                "differently from rank {}; it is more than {} operations ago, and no longer "
                                "known",
                                *number, rank, peers_.group.rank(), History::kKept),
                    ErrorScope::communicator, peers_.group.worldRank(rank)),
      Origin::here);
}

std::string MismatchFinder::describeOwn(const Signature& ours) const {
  const auto codecs = codecs_.find(ours.codec);
  if (codecs == codecs_.end()) return ours.describe();
  return fmt::format("{} with codec '{}'", ours.describe(), codecs->second->text);
}

Status MismatchFinder::mismatch(std::uint64_t number, int rank, const Envelope& theirs_sent,
                                const Envelope& ours_sent) const {
  Signature theirs = Signature::decode(theirs_sent);
  Signature ours = Signature::decode(ours_sent);
  // The signature of an operation in phases that has not begun its phase is of kind control.
  for (Signature* one : {&theirs, &ours})
    if (one->kind == Signature::Kind::control) one->kind = Signature::Kind::collective;
  std::string difference;
  Signature same_detail = theirs;
  same_detail.detail = ours.detail;
  same_detail.history = ours.history;
  if (same_detail == ours) {
    difference = " (same call; the counts per rank, the codec, the tensor, the algorithm or GOSS_LINKS differ)";
  } else if (theirs.codec != ours.codec) {
    difference = theirs.codec == 0 ? " without a codec" : " with another codec";
  }
  return Status::error(GOSS_ERR_MISMATCH,
                       fmt::format("operation {} does not match: rank {} called {}, rank {} called {}{}", number,
                                   peers_.group.rank(), describeOwn(ours), rank, theirs.describe(), difference),
                       ErrorScope::communicator, peers_.group.worldRank(rank));
}

} // namespace goss

// How calls that do not match are found out and named, however long ago they were.
#include <fmt/format.h>

#include <algorithm>

#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

namespace {

/// A rank that is asked for an earlier call answers at once, unless it is stopped or overloaded.
constexpr std::chrono::seconds kLongestDoubt(5);

} // namespace

// Two ranks that called different things may both return success: a root reads nothing, and calls of no elements send
// nothing. The next envelope that one of them reads from the other carries another history. Then the reader sends its
// last calls, and the other one, which has kept its own, finds the first that differs, and fails the communicator with
// both names: its abort is the answer. Until then the operation that has read the envelope stays as it is, incomplete.
void Communicator::disagreeOnLoop(Operation& operation, int rank, const Envelope& theirs) {
  if (!failure_.isOk()) return; // It ends with that.
  const Envelope& ours = *operation.envelope();
  if (Signature::decode(theirs).history == Signature::decode(ours).history)
    return failOnLoop(mismatch(operation.sequence, rank, theirs, ours), Origin::here);
  if (!doubt_.isOk()) return; // Somebody has been asked.
  doubt_ = Status::error(GOSS_ERR_MISMATCH,
                         fmt::format("an operation before operation {} does not match: rank {} called it differently "
                                     "from rank {}, and does not say what it called",
                                     operation.sequence, rank, group_.rank()),
                         ErrorScope::communicator, worldRank(rank));
  if (!mesh().linkStatus(worldRank(rank)).isOk()) return failOnLoop(doubt_, Origin::here);
  operation.deadline_ = std::min(operation.deadline_, std::chrono::steady_clock::now() + kLongestDoubt);
  tellHistoryOnLoop(rank);
}

void Communicator::tellHistoryOnLoop(int rank) {
  ControlMessage message = peers_.message(ControlMessage::Type::history);
  message.operation = history_.first();
  message.text = history_.encode();
  static_assert(History::kKept * sizeof(Envelope) <= ControlMessage::kMaxTextBytes);
  peers_.send(rank, message);
}

void Communicator::handleHistoryOnLoop(int rank, const ControlMessage& message) {
  if (!failure_.isOk()) { // Perhaps by the same mismatch.
    peers_.send(rank, abortMessage());
    return;
  }
  const std::optional<History> theirs = History::decode(message.operation, message.text);
  const bool has_left = message.text.empty();
  const std::optional<std::uint64_t> number =
      theirs.has_value() && !has_left ? history_.firstDifference(*theirs) : std::nullopt;
  if (!number.has_value()) {
    if (!doubt_.isOk()) failOnLoop(doubt_, Origin::here);
    return;
  }
  if (history_.holds(*number) && theirs->holds(*number))
    return failOnLoop(mismatch(*number, rank, theirs->at(*number), history_.at(*number)), Origin::here);
  failOnLoop(Status::error(GOSS_ERR_MISMATCH,
                           fmt::format("operation {} or an earlier one does not match: rank {} called it differently "
                                       "from rank {}; it is more than {} operations ago, and no longer known",
                                       *number, rank, group_.rank(), History::kKept),
                           ErrorScope::communicator, worldRank(rank)),
             Origin::here);
}

std::string Communicator::describeOwn(const Signature& ours) const {
  const auto codecs = codecs_.find(ours.codec);
  if (codecs == codecs_.end()) return ours.describe();
  return fmt::format("{} with codec '{}'", ours.describe(), codecs->second->text);
}

Status Communicator::mismatch(std::uint64_t number, int rank, const Envelope& theirs_sent,
                              const Envelope& ours_sent) const {
  Signature theirs = Signature::decode(theirs_sent);
  Signature ours = Signature::decode(ours_sent);
  // Of an operation in phases that has not got that far.
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
                                   group_.rank(), describeOwn(ours), rank, theirs.describe(), difference),
                       ErrorScope::communicator, worldRank(rank));
}

} // namespace goss

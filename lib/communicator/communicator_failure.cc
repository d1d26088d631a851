// How a communicator fails: who is told, and what ends; what it says to ranks that ask whether it lives.
#include <fmt/format.h>

#include "call/tag.h"
#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

// ---- Failure -------------------------------------------------------------------------------------------------------

ControlMessage Communicator::abortMessage() const {
  ControlMessage message = peers_.message(ControlMessage::Type::abort);
  message.kind = failure_.kind();
  message.culprit = failure_.peer();
  message.text = failure_.text();
  return message;
}

void Communicator::tellOthersOnLoop() {
  peers_.send(group_.others(), abortMessage());
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
  operation.next_probe_ = FailureDetector::nextProbe(operation.deadline_, now);
  operation.remindOnLoop();
  detector_.probe(operation, now);
}

void Communicator::answerProbeOnLoop(int rank, const ControlMessage& probe) {
  if (!failure_.isOk()) { // Its abort has not reached them, or they wait for us to shrink it.
    peers_.send(rank, abortMessage());
    return detector_.reply(rank, history_.next());
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
  detector_.reply(rank, history_.next(), waitingForOnLoop());
}

/// A rank that some operation waits for; -1: none.
int Communicator::waitingForOnLoop() const {
  int rank = -1;
  engine().forEachActiveOnLoop([&](Operation& operation) {
    if (&operation.host() != this) return;
    const std::vector<int> ranks = operation.waitingForRanks();
    if (!ranks.empty()) rank = ranks.front();
  });
  return rank;
}

void Communicator::handleControlOnLoop(int rank, const ControlMessage& message) {
  detector_.heard(rank, message);
  switch (message.type) {
    case ControlMessage::Type::abort:
      failOnLoop(Status::error(static_cast<ErrorKind>(message.kind == 0 ? GOSS_ERR_ABORTED : message.kind),
                               message.text, ErrorScope::communicator, message.culprit),
                 Origin::elsewhere);
      break;
    case ControlMessage::Type::probe:
      answerProbeOnLoop(rank, message);
      break;
    case ControlMessage::Type::reply: // All that it says is for the detector.
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

void Communicator::expired(Operation& operation) {
  const Status status = detector_.expiry(operation, std::chrono::steady_clock::now());
  if (operation.failsAlone()) {
    failAloneOnLoop(operation, status);
  } else {
    failOnLoop(status, Origin::here);
  }
}

} // namespace goss

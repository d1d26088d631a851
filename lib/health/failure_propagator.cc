#include "health/failure_propagator.h"

#include <new>
#include <utility>

#include "call/tag.h"

namespace goss {

FailurePropagator::FailurePropagator(const Peers& peers, OperationTable& operations, const base::Log& log,
                                     FlushControl flush_control)
    : peers_(peers), operations_(operations), log_(log), flush_control_(std::move(flush_control)) {}

ControlMessage FailurePropagator::abortMessage() const {
  const Status& failure = operations_.asyncError();
  ControlMessage message = peers_.message(ControlMessage::Type::abort);
  message.error_kind = failure.kind();
  message.culprit = failure.peer();
  message.text = failure.text();
  return message;
}

void FailurePropagator::tellOthers() {
  const Status& failure = operations_.asyncError();
  peers_.spread(abortMessage());
  const bool gone = failure.kind() == GOSS_ERR_TIMEOUT || failure.kind() == GOSS_ERR_PEER_LOST;
  flush_control_(gone ? failure.peer() : -1);
}

/// Lets `operation` complete by what other ranks had done for it before they failed or were lost.
void FailurePropagator::lookOnceMore(Operation& operation) {
  try {
    operation.lookOnceMoreOnLoop();
  } catch (const std::bad_alloc&) { // It ends with the others.
  }
}

void FailurePropagator::fail(const Status& found, Origin origin) {
  const Status status = peers_.group.named(found);
  // A rank that failed and left at once has told why, and its message may have come together with its departure.
  if (origin == Origin::here && status.kind() == GOSS_ERR_PEER_LOST && operations_.asyncError().isOk())
    peers_.control.receiveRestOnLoop(status.peer());
  operations_.engine().startUnpostedOnLoop(); // To be ended with the others.
  const bool first = operations_.asyncError().isOk();
  if (first) {
    const bool follows = !expected_.isOk() && status.kind() != GOSS_ERR_MISMATCH && origin != Origin::destroyed;
    operations_.setAsyncError(follows ? expected_ : status);
    if (origin == Origin::here) log_.warn(operations_.asyncError().text());
    if (origin != Origin::destroyed) tellOthers();
  }
  operations_.forEachActiveOnLoop([&](Operation& operation) GOSS_ON_LOOP {
    if (operation.isEnding() || (operation.outlivesFailure() && origin != Origin::destroyed)) return;
    if (origin == Origin::elsewhere || (origin == Origin::here && status.kind() == GOSS_ERR_PEER_LOST))
      lookOnceMore(operation);
    if (operation.state() != Operation::State::active) return;
    if (origin == Origin::elsewhere && operation.hasResultsOnLoop() && !operation.isPart()) return;
    operations_.endOnLoop(operation, operations_.asyncError());
  });
  if (first) operations_.signalError();
  // Drops messages that others still send for it, because nobody will receive them, and they must not hold up messages
  // behind them.
  if (first) peers_.mesh.discard(kContextMask, contextTag(peers_.context));
}

} // namespace goss

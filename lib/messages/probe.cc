#include "messages/probe.h"

#include "communicator/communicator.h"

namespace goss {

ProbeOperation::ProbeOperation(Communicator& communicator, const Pattern& pattern)
    : Operation(communicator.operationHost(), Failure::alone), communicator_(communicator), pattern_(pattern) {}

void ProbeOperation::startOnLoop() {
  communicator_.receivesOnLoop().add(*this);
  communicator_.engine().keepPollingOnLoop(*this);
}

bool ProbeOperation::pollOnLoop() { return communicator_.receivesOnLoop().pollOnLoop(*this); }

void ProbeOperation::withdrawOnLoop() {
  if (isQueued()) communicator_.receivesOnLoop().remove(*this);
}

std::string ProbeOperation::describe() const { return "probe for a message from " + goss::describe(pattern_); }

std::vector<int> ProbeOperation::waitingForRanks() const { return communicator_.receivesOnLoop().sources(pattern_); }

void ProbeOperation::takeOnLoop(const goss_message& found) {
  message = found;
  withdrawOnLoop();
  communicator_.completeOnLoop(*this, Status::ok());
}

void ProbeOperation::giveUpOnLoop(const Status& why) { communicator_.failAloneOnLoop(*this, why); }

Result<bool> Communicator::probeNow(const Pattern& pattern, goss_message& found) {
  auto lock = engine().enter();
  if (!failure_.isOk()) return failure_;
  engine().turnOnce(lock);
  engine().startUnpostedOnLoop();                     // Earlier receives have their messages first.
  if (receives_.sweepOnLoop()) engine().notify(lock); // Who sleeps does not know what was posted.
  if (!failure_.isOk()) return failure_;
  if (!receives_.findOnLoop(pattern, found)) {
    if (Status gone = receives_.sourceStatus(pattern); !gone.isOk()) return gone;
    return false;
  }
  receives_.turnTo(found.source);
  return true;
}

Status Communicator::probe(const Pattern& pattern, std::int64_t timeout_ms, goss_message& found) {
  auto lock = engine().enter();
  const BlockedCallGuard inside(blocked_calls_, lock);
  ProbeOperation probe(*this, pattern);
  probe.timeout_ms = timeout_ms > 0 ? timeout_ms : defaultTimeoutMs();
  if (Status status = startOnLoop(probe); !status.isOk()) return status;
  engine().driveUntil(lock, [&] { return probe.state() == Operation::State::complete; });
  if (probe.status().isOk()) found = probe.message;
  return probe.status();
}

} // namespace goss

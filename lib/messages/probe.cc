#include "messages/probe.h"

namespace goss {

ProbeOperation::ProbeOperation(MessageContext& context, const Pattern& pattern)
    : Operation(context.operations.host(), Failure::alone), context_(context), pattern_(pattern) {}

void ProbeOperation::startOnLoop() {
  context_.receives.add(*this);
  context_.engine.active().keepPolling(*this);
}

bool ProbeOperation::pollOnLoop() { return context_.receives.pollOnLoop(*this); }

void ProbeOperation::withdrawOnLoop() {
  if (isQueued()) context_.receives.remove(*this);
}

std::string ProbeOperation::describe() const { return "probe for a message from " + goss::describe(pattern_); }

std::vector<int> ProbeOperation::waitingForRanks() const { return context_.receives.sources(pattern_); }

void ProbeOperation::takeOnLoop(const goss_message& found) {
  message = found;
  withdrawOnLoop();
  context_.operations.completeOnLoop(*this, Status::ok());
}

void ProbeOperation::giveUpOnLoop(const Status& why) { context_.operations.endOnLoop(*this, why); }

} // namespace goss

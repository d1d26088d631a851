// Operations that are several collectives one after the other.
#include <fmt/format.h>

#include "communicator/communicator.h"
#include "execution/multi_phase_operation.h"

namespace goss {

Result<std::unique_ptr<MultiPhaseOperation>> Communicator::acquirePhasedOnLoop(const Call& call) {
  if (!operations_.failure().isOk()) return operations_.failure();
  if (!call.algorithm.empty()) { // A wrong name that a phase stumbles over would fail the communicator.
    PlanKey key;
    key.collective = call.collective;
    key.count = call.count;
    key.element_bytes = sizeof(float);
    key.algorithm = call.algorithm;
    if (auto plan = planner_.plan(key); !plan.isOk()) return plan.status();
  }
  std::unique_ptr<MultiPhaseOperation> operation =
      idle_phased_.take([&](const MultiPhaseOperation& idle) { return idle.fits(call); });
  if (operation == nullptr) {
    operation = std::make_unique<MultiPhaseOperation>(*this, call);
  } else {
    operation->bind(call);
  }
  operation->state_ = Operation::State::inactive;
  mismatches_.know(call.codecs);
  if (operation->timeout_ms == 0) operation->timeout_ms = defaultTimeoutMs();
  return operation;
}

Status Communicator::runPhased(Engine::Lock& lock, const Call& call) {
  auto acquired = acquirePhasedOnLoop(call);
  if (!acquired.isOk()) return acquired.status();
  std::unique_ptr<MultiPhaseOperation> operation = acquired.take();
  const BlockedCallGuard inside(blocked_calls_, lock);
  if (Status status = startOnLoop(*operation); !status.isOk()) return status;
  engine().driveUntil(lock, [&] { return operation->state() == Operation::State::complete; });
  Status status = operation->status();
  if (status.isOk()) idle_phased_.put(std::move(operation));
  return status;
}

Status Communicator::startPhaseOnLoop(Execution& phase, MultiPhaseOperation& whole, std::uint64_t place) {
  phase.parent_ = &whole;
  phase.sequence = place;
  phase.numbered_ = true;
  operations_.history().replace(place, *phase.envelope()); // Unless the place has become a later operation's.
  return startOnLoop(phase);
}

void Communicator::endPhaseOnLoop(std::unique_ptr<Execution> phase) {
  phase->parent_ = nullptr;
  releaseExecution(std::move(phase));
}

void Communicator::endPhasesOnLoop(const Operation& whole) {
  for (std::uint64_t place = whole.sequence; place < whole.sequence + kMaxPhases; ++place) {
    Signature known = Signature::decode(operations_.history().at(place));
    if (!operations_.history().holds(place) || known.kind != Signature::Kind::control) continue;
    known.kind = Signature::Kind::collective;
    operations_.history().replace(place, known.encode());
  }
}

bool Communicator::holdsStateOnLoop(std::uint64_t tensor, Holders holders) {
  bool holds = false;
  operations_.forEachActiveOnLoop([&](Operation& operation) {
    if (holders == Holders::phased && !operation.isPhased()) return;
    const std::uint64_t its = operation.keptTensor();
    holds = holds || (its != 0 && (tensor == 0 || its == tensor));
  });
  return holds;
}

Status Communicator::tensorInUse(const Operation& operation) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("{}: another operation on tensor {} has not ended; wait for it first, or give each "
                                   "vector a tensor of its own",
                                   operation.describe(), operation.keptTensor()));
}

} // namespace goss

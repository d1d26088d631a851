// Operations that are several collectives one after the other.
#include "core/communicator.h"
#include "core/communicator_inside.h"
#include "core/phased.h"

namespace goss::core {

namespace {

constexpr std::size_t kMaxIdlePhased = 64;

} // namespace

Result<std::unique_ptr<PhasedOperation>> Communicator::acquirePhasedOnLoop(const Call& call) {
  if (!failure_.isOk()) return failure_;
  if (!call.algorithm.empty()) { // A wrong name that a phase stumbles over would fail the communicator.
    PlanKey key;
    key.collective = call.collective;
    key.count = call.count;
    key.element_bytes = sizeof(float);
    key.algorithm = call.algorithm;
    if (auto plan = planner_.plan(key); !plan.isOk()) return plan.status();
  }
  std::unique_ptr<PhasedOperation> operation;
  for (auto& idle : idle_phased_) {
    if (!idle->fits(call)) continue;
    operation = std::move(idle);
    std::erase(idle_phased_, nullptr);
    operation->bind(call);
    break;
  }
  if (operation == nullptr) operation = std::make_unique<PhasedOperation>(*this, call);
  operation->state_ = Operation::State::inactive;
  codecs_[call.codecs->tag()] = call.codecs;
  if (operation->timeout_ms == 0) operation->timeout_ms = defaultTimeoutMs();
  return operation;
}

void Communicator::releasePhasedOnLoop(std::unique_ptr<PhasedOperation> operation) {
  if (idle_phased_.size() >= kMaxIdlePhased) idle_phased_.erase(idle_phased_.begin());
  idle_phased_.push_back(std::move(operation));
}

Status Communicator::runPhased(Engine::Lock& lock, const Call& call) {
  auto acquired = acquirePhasedOnLoop(call);
  if (!acquired.isOk()) return acquired.status();
  std::unique_ptr<PhasedOperation> operation = acquired.take();
  const Inside inside(*this, lock);
  if (Status status = startOnLoop(*operation); !status.isOk()) return status;
  engine().driveUntil(lock, [&] { return operation->state() == Operation::State::complete; });
  Status status = operation->status();
  if (status.isOk()) releasePhasedOnLoop(std::move(operation));
  return status;
}

Status Communicator::startPhaseOnLoop(Execution& phase, PhasedOperation& whole, std::uint64_t place) {
  phase.whole_ = &whole;
  phase.sequence = place;
  phase.numbered_ = true;
  return startOnLoop(phase);
}

void Communicator::endPhaseOnLoop(std::unique_ptr<Execution> phase) {
  phase->whole_ = nullptr;
  releaseExecution(std::move(phase));
}

bool Communicator::holdsStateOnLoop(std::uint64_t tensor, const Operation* but) {
  bool holds = false;
  engine().forEachActiveOnLoop([&](Operation& operation) {
    if (&operation == but || !operation.isPhased() || &operation.communicator() != this) return;
    const std::uint64_t its = static_cast<PhasedOperation&>(operation).tensor();
    holds = holds || (its != 0 && (tensor == 0 || its == tensor));
  });
  return holds;
}

} // namespace goss::core

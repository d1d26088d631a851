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

} // namespace goss::core

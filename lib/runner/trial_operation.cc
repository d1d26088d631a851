#include "runner/trial_operation.h"

#include <utility>

namespace goss {

TrialOperation::TrialOperation(const RunEnvironment& environment, ExecutionPool& pool, PlanTrials& trials,
                               const Call& call)
    : Operation(environment.operations.host()), environment_(environment), pool_(pool), trials_(trials), call_(call) {
  timeout_ms = call.timeout_ms > 0 ? call.timeout_ms : environment.default_timeout_ms;
  payload_bytes = call.payloadBytes();
  ticket_.operation = this;
  signature_.kind = Signature::Kind::collective;
  signature_.collective = call.collective;
  signature_.dtype = call.dtype;
  signature_.op = call.op;
  signature_.count = call.count;
}

TrialOperation::~TrialOperation() = default;

std::vector<int> TrialOperation::waitingForRanks() const {
  return execution_ != nullptr ? execution_->waitingForRanks() : trials_.awaitedFor(ticket_);
}

void TrialOperation::numberOnLoop(History& history) {
  sequence = history.next();
  signature_.history = history.hash();
  Signature placeholder = signature_;
  // Until its phase begins there is no envelope to compare with others' probes.
  placeholder.kind = Signature::Kind::control;
  history.add(placeholder.encode());
  trials_.number(ticket_, call_.payloadBytes());
}

void TrialOperation::startOnLoop() { advanceOnLoop(); }

void TrialOperation::advanceOnLoop() {
  Status status;
  if (execution_ == nullptr) {
    status = runPhase();
  } else if (execution_->state() == State::complete && execution_->status().isOk()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    if (trials_.keeps(ticket_, execution_->plan())) {
      pool_.release(std::move(execution_));
    } else {
      execution_ = nullptr; // A plan on trial would keep its memory for nothing.
    }
    trials_.ended(ticket_, took.count());
    environment_.operations.completeOnLoop(*this, Status::ok());
  }
  if (!status.isOk()) environment_.fail(status);
}

Status TrialOperation::runPhase() {
  Result<std::shared_ptr<const Plan>> plan = trials_.planFor(ticket_);
  if (!plan.isOk()) return plan.status();
  if (plan.value() == nullptr) return Status::ok(); // PlanTrials advances it when the plan is known.
  if (const auto replaced = std::exchange(ticket_.replaced, nullptr); replaced != nullptr) pool_.forget(*replaced);
  Call call = call_;
  call.timeout_ms = timeout_ms;
  Signature signature = signature_;
  signature.detail = ticket_.hash;
  call.phase_of = std::make_shared<const PhaseOf>(PhaseOf{nullptr, signature});
  Result<std::unique_ptr<Execution>> execution = pool_.acquire(call, plan.take());
  if (!execution.isOk()) return execution.status();
  execution_ = execution.take();
  begun_ = std::chrono::steady_clock::now();
  return environment_.operations.startPhaseOnLoop(*execution_, *this, sequence);
}

} // namespace goss

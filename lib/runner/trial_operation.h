/// An all-reduce whose plan is agreed on by the ranks.
#ifndef GOSS_LIB_RUNNER_TRIAL_OPERATION_H_
#define GOSS_LIB_RUNNER_TRIAL_OPERATION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "call/call.h"
#include "engine/operation.h"
#include "execution/execution.h"
#include "execution/run_environment.h"
#include "platform/thread_safety.h"
#include "runner/execution_pool.h"
#include "runner/plan_trials.h"

namespace goss {

/// Takes its place among the communicator's collectives when it starts, and runs as an execution, its only phase, as
/// soon as PlanTrials knows its plan. Serves one start.
class TrialOperation final : public Operation {
 public:
  /// Environment, pool and trials outlive it. PlanTrials::takes(call) holds.
  TrialOperation(const RunEnvironment& environment, ExecutionPool& pool, PlanTrials& trials, const Call& call);
  ~TrialOperation() override;

  void numberOnLoop(History& history) GOSS_ON_LOOP override;
  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override { trials_.forget(ticket_); } // Its phase is an active operation itself.
  [[nodiscard]] std::string describe() const override { return signature_.describe(); }
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;
  [[nodiscard]] bool isPhased() const override { return true; }
  [[nodiscard]] bool isTrial() const override { return true; }

 private:
  Status runPhase() GOSS_ON_LOOP;

  const RunEnvironment& environment_;
  ExecutionPool& pool_;
  PlanTrials& trials_;
  Call call_;
  Signature signature_;
  PlanTrials::Ticket ticket_;
  std::chrono::steady_clock::time_point begun_{};
  std::unique_ptr<Execution> execution_; ///< Null while its plan is not known.
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_TRIAL_OPERATION_H_

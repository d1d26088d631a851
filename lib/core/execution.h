/// Runs a plan: binds its schedule to buffers once and executes steps whose dependencies are done.
#ifndef GOSS_LIB_CORE_EXECUTION_H_
#define GOSS_LIB_CORE_EXECUTION_H_

#include <memory>
#include <vector>

#include "core/call.h"
#include "core/operation.h"
#include "core/planner.h"

namespace goss::core {

class Run;
struct RunContext;

/// One collective operation. Reusable: a persistent request, or the communicator's store of idle executions, binds and
/// starts the same object again without allocating. Everything after construction happens under the engine's lock.
///
/// Pipelining: the plan cuts the buffers into fragments that run the same schedule; at most `window` are in flight,
/// each with scratch of its own.
class Execution final : public Operation {
 public:
  Execution(Communicator& communicator, std::shared_ptr<const Plan> plan);
  ~Execution() override;

  /// Resolves slots to addresses. Not while active.
  void bind(const Call& call);

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const Signature* signature() const override { return &signature_; }

  void startOnLoop() override;
  void advanceOnLoop() override;
  void withdrawOnLoop() override;
  [[nodiscard]] std::string describe() const override { return signature_.describe(); }
  [[nodiscard]] std::vector<int> waitingForRanks() const override;
  /// A step failed while transports progress; the failure is dealt with in the next advanceOnLoop().
  void failInCallback(const Status& status);

 private:
  void stageInput();

  std::shared_ptr<const Plan> plan_;
  std::vector<std::vector<std::uint32_t>> dependents_; ///< By step: steps that wait for it.
  Call bound_;                                         ///< As the caller gave it.
  Call call_;                                          ///< With what the plan adds.
  Signature signature_;
  std::unique_ptr<RunContext> context_;
  bool needs_staging_ = false;
  /// Copy of the input: scaled (GOSS_PREMUL_SUM), or out of the way of an in-place exchange.
  std::vector<std::byte> staged_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::uint32_t next_fragment_ = 0;
  std::uint32_t fragments_left_ = 0;
  Status failure_;
};

} // namespace goss::core

#endif // GOSS_LIB_CORE_EXECUTION_H_

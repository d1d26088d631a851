/// Plans calls, and keeps executions that are over for calls with the same plan.
#ifndef GOSS_LIB_RUNNER_EXECUTION_POOL_H_
#define GOSS_LIB_RUNNER_EXECUTION_POOL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "call/call.h"
#include "execution/execution.h"
#include "execution/run_environment.h"
#include "planner/planner.h"
#include "platform/thread_safety.h"

namespace goss {

/// The pool of one communicator. Every function needs the engine's lock.
class ExecutionPool {
 public:
  /// The environment outlives the pool.
  ExecutionPool(const RunEnvironment& environment, Planner planner)
      : environment_(environment), planner_(std::move(planner)) {}

  /// Returns an inactive execution that is bound to `call`. Errors: the communicator's; Planner::plan()'s.
  Result<std::unique_ptr<Execution>> acquire(const Call& call) GOSS_ON_LOOP;
  /// An inactive execution of `plan` that is bound to `call`.
  Result<std::unique_ptr<Execution>> acquire(const Call& call, std::shared_ptr<const Plan> plan) GOSS_ON_LOOP;
  /// `execution` has ended with success.
  void release(std::unique_ptr<Execution> execution) GOSS_ON_LOOP;
  /// Later calls will not run `plan`, which acquire() was given.
  void forget(const Plan& plan) GOSS_ON_LOOP;
  /// Whether the planner finds a plan for `call`, with elements of `element_bytes`.
  Status check(const Call& call, std::uint32_t element_bytes) GOSS_ON_LOOP;

  /// The idle execution of the call that was cached under `key`; null: there is none. A caller that takes it away gives
  /// it back by release().
  std::unique_ptr<Execution>* cached(const CallKey& key) GOSS_ON_LOOP;
  /// Caches `call`, which has just ended, and which has only the arguments of `key`. Its execution is kept for it alone
  /// until another call takes its entry, so that calls of one plan with different buffers do not bind it in turn.
  void cache(const CallKey& key, const Call& call) GOSS_ON_LOOP;

  [[nodiscard]] const schedule::Links& links() const GOSS_ON_LOOP { return planner_.links(); }
  /// Later calls are planned by `links`.
  void useLinks(schedule::Links links) GOSS_ON_LOOP;

 private:
  struct CachedCall {
    CallKey key;
    std::unique_ptr<Execution> idle; ///< Null: it is in use, or no call is cached here.
    std::uint64_t binding = 0;       ///< Binding of the execution that belongs here; 0: none does.
  };
  /// A call has its entry in one of kSets sets.
  static constexpr std::size_t kSets = 16;
  using Set = std::array<CachedCall, 2>;

  /// Destroys it where `most` executions of its plan are idle already.
  void keepIdle(std::unique_ptr<Execution> execution, std::size_t most) GOSS_ON_LOOP;

  const RunEnvironment& environment_;
  Planner planner_ GOSS_GUARDED;
  std::uint64_t bindings_ GOSS_GUARDED = 0;    ///< Number of executions that were bound so far, each anew.
  std::array<Set, kSets> cached_ GOSS_GUARDED; ///< In a set the call that was cached last comes first.
  /// Executions that belong to no cached call; the one that was released last is the last.
  std::unordered_map<const Plan*, std::vector<std::unique_ptr<Execution>>> idle_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_EXECUTION_POOL_H_

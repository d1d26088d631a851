/// An all_reduce with a multi-phase codec: the codec's run says which collective it needs next, and each of these
/// becomes an execution.
#ifndef GOSS_LIB_RUNNER_MULTI_PHASE_OPERATION_H_
#define GOSS_LIB_RUNNER_MULTI_PHASE_OPERATION_H_

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "call/call.h"
#include "engine/operation.h"
#include "execution/feedback.h"
#include "execution/run_environment.h"
#include "platform/thread_safety.h"
#include "runner/execution_pool.h"

namespace goss {

class PreparedPayload;

/// Passes to `use` the phases that a multi-phase codec asks for, by running it on `count` ones of one rank, alone: how
/// much there is to exchange depends on counts only, as long as the numbers are finite and not all zero. Takes the time
/// and the memory of one operation. Stops at the first error, also of `use`.
Status forEachPhase(const Compression& compression, std::size_t count, int ranks,
                    const std::function<Status(const CodecPhase&)>& use);

/// Its phases take consecutive places among the communicator's operations, kMaxPhases of them whether or not they are
/// needed, so that ranks agree on them while other operations run beside it. The caller's vector is copied to float32;
/// the communicator holds the state of error feedback and of the codec. Results are bit-identical on all ranks.
///
/// Computations between phases run on the loop, in the slices that the codec makes (empty phases): between slices other
/// operations progress, and probes are answered.
class MultiPhaseOperation final : public Operation {
 public:
  /// Environment and pool outlive it.
  MultiPhaseOperation(const RunEnvironment& environment, ExecutionPool& pool, const Call& call);
  ~MultiPhaseOperation() override;

  /// Not while active; `call` has the same codec and count as before.
  void bind(const Call& call);
  [[nodiscard]] bool fits(const Call& call) const;
  /// Memory that it keeps while it is idle.
  [[nodiscard]] std::size_t heldBytes() const;

  void numberOnLoop(History& history) GOSS_ON_LOOP override;
  [[nodiscard]] Status mayStartOnLoop() const GOSS_ON_LOOP override;
  [[nodiscard]] std::uint64_t keptTensor() const override { return call_.tensor; }
  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override;
  bool pollOnLoop() GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override {} // Its phase is an active operation itself.
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;
  [[nodiscard]] bool isPhased() const override { return true; }

 private:
  void workOnLoop() GOSS_ON_LOOP;
  Status begin() GOSS_ON_LOOP;
  Status openState();
  void loadValues();
  Status goOn() GOSS_ON_LOOP;
  Status startPhase(const CodecPhase& phase) GOSS_ON_LOOP;
  [[nodiscard]] Call phaseCall(const CodecPhase& phase);
  [[nodiscard]] Signature wholeSignature() const;
  Status finish() GOSS_ON_LOOP;
  void closePlaces() GOSS_ON_LOOP;

  const RunEnvironment& environment_;
  ExecutionPool& pool_; ///< Holds the executions of its phases.
  Call call_;
  const std::size_t columns_;      ///< Columns of the matrix; 0: the codec needs none.
  std::vector<float> values_;      ///< The vector, padded with zeros to whole rows.
  std::vector<float> own_factors_; ///< Codec state of calls whose tensor has no name.
  std::span<float> factors_;
  FeedbackWork feedback_;
  std::uint64_t draw_ = 0;
  std::array<std::uint32_t, kMaxPhases> histories_{}; ///< By phase: Signature::history.
  std::uint32_t phase_ = 0;                           ///< Number of phases begun.
  bool has_begun_ = false;
  bool computing_ = false; ///< The codec has to compute more before the next phase.
  std::unique_ptr<CodecRun> run_;
  std::shared_ptr<PreparedPayload> payload_; ///< Used by add phases.
  std::shared_ptr<const CodecPair> payload_codecs_;
  std::unique_ptr<Execution> execution_; ///< The phase that runs.
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_MULTI_PHASE_OPERATION_H_

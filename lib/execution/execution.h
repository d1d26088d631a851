/// Runs a plan: binds its schedule to buffers once and executes steps whose dependencies are done.
#ifndef GOSS_LIB_EXECUTION_EXECUTION_H_
#define GOSS_LIB_EXECUTION_EXECUTION_H_

#include <memory>
#include <vector>

#include "boards/board_channel.h"
#include "call/call.h"
#include "devices/devices.h"
#include "devices/stream_ordered.h"
#include "engine/operation.h"
#include "execution/call_memory.h"
#include "execution/call_residuals.h"
#include "execution/codec_work.h"
#include "execution/device_codec_steps.h"
#include "execution/passage.h"
#include "execution/run_environment.h"
#include "planner/planner.h"
#include "platform/thread_safety.h"

namespace goss {

class Run;
class SharedCall;
class Stage;
struct RunContext;

/// One collective operation. Reusable: a persistent request, or ExecutionPool, binds and starts the same object again
/// without allocating. Everything after construction happens under the engine's lock.
///
/// A small collective may run on boards instead (boards/board_channel.h): then the execution runs no step, and the
/// engine polls it. Other ranks do not know which of this rank's buffers lie on a device, so a rank with device buffers
/// takes part too: it copies them to pinned memory and uses the board from there.
///
/// If the ranks share a host, and the buffers of all lie on one GPU, the schedule may run on that GPU (shared_call.h).
///
/// Pipelining: the plan cuts the buffers into fragments that run the same schedule. At most `window` fragments are in
/// flight, each with scratch of its own.
class Execution final : public Operation, public StreamOrdered {
 public:
  /// The environment outlives the execution.
  Execution(const RunEnvironment& environment, std::shared_ptr<const Plan> plan);
  ~Execution() override;

  /// Resolves the schedule's slots to the call's buffers; must not be called while the execution is active. binding()
  /// becomes `binding`, which no other execution has, unless the execution is already bound to an equal call.
  void bind(const Call& call, std::uint64_t binding);

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  void numberOnLoop(History& history) GOSS_ON_LOOP override;
  [[nodiscard]] const Envelope* envelope() const override { return &envelope_; }

  [[nodiscard]] bool isBoundTo(const Call& call) const { return binding_ > 0 && call == bound_; }
  /// The `binding` of the last bind() with another call than before; 0: there was none.
  [[nodiscard]] std::uint64_t binding() const { return binding_; }
  /// Whether tryRunOnLoop() may be called, if no other execution is queued on the board: this one runs there, and its
  /// buffers lie in the host's memory.
  [[nodiscard]] bool mayRunAtOnce() const { return on_board_ && !call_.device.any(); }
  /// Writes this rank's contribution on its board and polls the other boards up to `looks` times; may be called again.
  /// True: the execution is done. False: startOnLoop() must follow, and continues from here.
  [[nodiscard]] bool tryRunOnLoop(int looks) GOSS_ON_LOOP;

  [[nodiscard]] StreamOrdered* streamOrdered() override { return call_.device.ordered ? this : nullptr; }
  [[nodiscard]] Status prepare(bool in_group) override;
  void joinGroupOnLoop() GOSS_ON_LOOP override;
  void enqueueArrivals() override;
  void enqueueGates() override;
  [[nodiscard]] bool isEnqueuing() const override { return gate_ != nullptr && !gate_->isEnqueued(); }
  [[nodiscard]] bool waitsForDevice() const override;
  [[nodiscard]] Status mayStartOnLoop() const GOSS_ON_LOOP override;
  [[nodiscard]] std::uint64_t keptTensor() const override;
  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override;
  bool pollOnLoop() GOSS_ON_LOOP override;
  void lookOnceMoreOnLoop() GOSS_ON_LOOP override;
  [[nodiscard]] bool hasResultsOnLoop() const GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override;
  bool tryLeaveOnLoop() GOSS_ON_LOOP override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;
  [[nodiscard]] std::uint64_t encodingsLeft(bool of_sum) const override;

 private:
  void bindRuns(bool encodes);
  Status openStages() GOSS_ON_LOOP;
  void startRunsOnLoop() GOSS_ON_LOOP;
  void beginOnLoop() GOSS_ON_LOOP;
  void completeWhenLeftOnLoop() GOSS_ON_LOOP;
  void passOnLoop(bool has_results) GOSS_ON_LOOP;
  /// What the caller's stream does in the phases of each fragment.
  [[nodiscard]] StreamGate::Work streamWork() const;
  void endEnqueuing(const Status& status);
  void failOnLoop() GOSS_ON_LOOP;
  void advanceOnBoardOnLoop() GOSS_ON_LOOP;
  void leaveBoardOnLoop() GOSS_ON_LOOP;

  const RunEnvironment& environment_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::vector<std::uint32_t>> dependents_; ///< By step: steps that wait for it.
  Call bound_;                                         ///< The call as the caller gave it.
  Call call_;                                          ///< bound_ with what the plan adds.
  Signature signature_;
  Envelope envelope_{}; ///< Encoded signature_.
  std::uint64_t binding_ = 0;
  bool on_board_ = false;
  bool queued_ = false; ///< Whether it is in the queue of the board channel.
  BoardCollective work_;
  Passage passage_; ///< Copies device buffers to pinned memory and back, for calls on the board.
  std::unique_ptr<RunContext> context_;
  bool needs_staging_ = false;
  /// A copy of the input: scaled (GOSS_PREMUL_SUM), or of an in-place exchange, which overwrites its input.
  std::vector<std::byte> staged_;
  CodecWork codec_;                        ///< Codecs of a compressed call.
  DeviceCodecSteps device_steps_;          ///< Codec steps that run on the device.
  CallMemory memory_;                      ///< Memory that stages device buffers.
  CallResiduals residuals_;                ///< Error feedback of steps that encode on the device.
  bool encodes_on_host_ = false;           ///< Codec steps stay on the host only because of their residuals.
  std::unique_ptr<SharedCall> shared_;     ///< Runs calls on a GPU that all ranks share; null: none yet.
  std::vector<std::unique_ptr<Run>> runs_; ///< Empty until a call does not run on the board.
  std::uint32_t lanes_ = 0;                ///< Number of runs of this call: its fragments in flight.
  /// By run, for device buffers: fragment f goes through stage f % lanes_.
  std::vector<std::unique_ptr<Stage>> stages_;
  std::shared_ptr<StreamGate> gate_;           ///< Where the caller's stream waits for an active call.
  std::vector<std::uint32_t> fragment_of_run_; ///< By run, for device buffers: its fragment.
  std::uint32_t next_fragment_ = 0;
  std::uint32_t fragments_left_ = 0;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_EXECUTION_H_

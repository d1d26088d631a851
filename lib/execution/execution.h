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
#include "execution/call_residuals.h"
#include "execution/codec_work.h"
#include "execution/edge_codec.h"
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
/// A small collective may run on the board instead (boards/board_channel.h): then no step is run, and the engine polls
/// the execution. Which of a rank's buffers lie on a device does not count, because the other ranks do not know it:
/// such a rank writes on the board from pinned memory, to which and from which its buffers are copied.
///
/// Where the ranks are threads of one process, and the buffers of all lie on one GPU, the schedule may run there
/// (shared_call.h).
///
/// Pipelining: the plan cuts the buffers into fragments that run the same schedule; at most `window` are in flight,
/// each with scratch of its own.
class Execution final : public Operation, public StreamOrdered {
 public:
  /// The environment outlives it.
  Execution(const RunEnvironment& environment, std::shared_ptr<const Plan> plan);
  ~Execution() override;

  /// Resolves slots to addresses. Not while active. binding() becomes `binding`, which no other execution has, unless
  /// the execution is bound to the same call already.
  void bind(const Call& call, std::uint64_t binding);

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  void numberOnLoop(History& history) GOSS_ON_LOOP override;
  [[nodiscard]] const Envelope* envelope() const override { return &envelope_; }

  [[nodiscard]] bool isBoundTo(const Call& call) const { return binding_ > 0 && call == bound_; }
  /// Number of the last bind() that brought another call; 0: none.
  [[nodiscard]] std::uint64_t binding() const { return binding_; }
  /// Whether tryRunOnLoop() may be called where no other is queued on the board: the execution runs there, from buffers
  /// of the host.
  [[nodiscard]] bool mayRunAtOnce() const { return on_board_ && !call_.device.any(); }
  /// Writes on the board and looks up to `looks` times for what the others write; may be called again. True: the
  /// execution is done. False: startOnLoop() must follow, which goes on where this left off.
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
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;
  [[nodiscard]] std::uint64_t encodingsLeft(bool of_sum) const override;

 private:
  void bindRuns(bool encodes);
  Status openStages() GOSS_ON_LOOP;
  Status openStagesOf(DeviceStation& station) GOSS_ON_LOOP;
  void startRunsOnLoop() GOSS_ON_LOOP;
  void completeWhenLeftOnLoop() GOSS_ON_LOOP;
  void startOnBoardOnLoop() GOSS_ON_LOOP;
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
  Call bound_;                                         ///< As the caller gave it.
  Call call_;                                          ///< The call with the plan's additions.
  Signature signature_;
  Envelope envelope_{}; ///< Encoded signature_.
  std::uint64_t binding_ = 0;
  bool on_board_ = false;
  bool queued_ = false; ///< In the queue of the board channel.
  BoardCollective work_;
  Passage passage_; ///< The way of a call on the board through pinned memory.
  std::unique_ptr<RunContext> context_;
  bool needs_staging_ = false;
  /// Copy of the input: scaled (GOSS_PREMUL_SUM), or taken away from an in-place exchange.
  std::vector<std::byte> staged_;
  CodecWork codec_;                        ///< Codecs of a compressed call.
  EdgeCodec edge_;                         ///< What the device encodes and decodes of such a call.
  std::size_t edge_bytes_ = 0;             ///< Device memory that its largest fragment takes.
  CallResiduals residuals_;                ///< What steps on the device keep of their losses.
  bool encodes_on_host_ = false;           ///< Its steps would run on the device, but for what they keep.
  std::unique_ptr<SharedCall> shared_;     ///< Null: no call so far could share a device.
  std::vector<std::unique_ptr<Run>> runs_; ///< Empty while it has run on the board alone.
  std::uint32_t lanes_ = 0;                ///< Runs of this call: fragments in flight.
  /// By run, for device buffers: fragment f goes through stage f % lanes_.
  std::vector<std::unique_ptr<Stage>> stages_;
  std::shared_ptr<StreamGate> gate_;           ///< Gate in the caller's stream while a call of a stream is active.
  std::vector<std::uint32_t> fragment_of_run_; ///< By run, for device buffers: its fragment.
  std::uint32_t next_fragment_ = 0;
  std::uint32_t fragments_left_ = 0;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_EXECUTION_H_

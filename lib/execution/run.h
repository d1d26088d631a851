/// One fragment of an execution in flight. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_RUN_H_
#define GOSS_LIB_EXECUTION_RUN_H_

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/operation.h"
#include "execution/codec_step.h"
#include "execution/codec_work.h"
#include "execution/device_feedback.h"
#include "execution/device_step_progress.h"
#include "execution/passage.h"
#include "execution/run_environment.h"
#include "platform/thread_safety.h"
#include "schedule/layout.h"

namespace goss {

/// By step: the steps that wait for it.
std::vector<std::vector<std::uint32_t>> dependentsOf(const Schedule& schedule);

/// What the runs of an execution report to it.
struct RunOutcome {
  Status failure;     ///< The first failure of a step; the execution deals with it when it advances.
  int disagrees = -1; ///< The first rank that was found to call something else.
  Envelope theirs{};  ///< The envelope that `disagrees` has sent.
  std::array<std::uint64_t, 2> encodings_left{}; ///< With feedback: a rank's own, those of sums.

  /// An encoding with error feedback is done.
  void countEncoding(bool of_sum) { encodings_left[of_sum] -= encodings_left[of_sum] > 0 ? 1 : 0; }
};

/// What a run needs to know of its execution; constant between bind and completion, but for the outcome.
struct RunContext {
  const Schedule* schedule = nullptr;
  const std::vector<std::vector<std::uint32_t>>* dependents = nullptr;
  const Call* call = nullptr;
  const Signature* signature = nullptr;
  const Envelope* envelope = nullptr; ///< Envelope of the signature.
  const std::byte* input = nullptr;   ///< The caller's input, or the staged copy.
  std::byte* output = nullptr;
  std::uint32_t fragments = 1;
  std::uint32_t plan_hash = 0;
  std::uint64_t draw = 0;             ///< For compressed calls: the operation's number in random streams.
  std::uint64_t pace_bytes_per_s = 0; ///< Pace to each peer.
  bool streams = false;               ///< The result is larger than the caches.
  bool stores_whole = false;          ///< Ranks do nothing with what they receive but store it in host memory.
  std::uint64_t binding = 0;          ///< Changes whenever the addresses of slots may have changed.
  CodecWork* codec = nullptr;         ///< For compressed calls; all runs of the execution share it.
  const DeviceCodecSteps* device_steps = nullptr; ///< Null: no step runs on the device.
  const DeviceResiduals* residuals = nullptr;     ///< Residuals of steps that encode on the device; null: none.
  RunOutcome outcome;                             ///< Written by all runs of the execution.

  [[nodiscard]] bool keeps(const Step& step) const { return keepsFeedback(*schedule, *call->codecs, step); }
};

/// Life of a step: waiting -> ready -> (posted) -> done. Steps become ready when their last dependency is done;
/// transports' callbacks only move steps to ready; advance() does everything else.
class Run {
 public:
  /// A part of `operation`, which is advanced when a step is done. The arguments outlive the run.
  Run(Operation& operation, const RunEnvironment& environment, RunContext& context);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Device buffers of the fragment go through `stage`, which outlives that; null: there are none.
  void begin(std::uint32_t fragment, std::uint64_t sequence, Stage* stage) GOSS_ON_LOOP;
  /// Runs ready steps until none is left, but at most one that encodes or decodes, so that the transports get a turn in
  /// between. Returns an error when a step cannot be posted or a payload is malformed.
  Status advance() GOSS_ON_LOOP;
  /// Whether there is a step to encode or decode that may run.
  [[nodiscard]] bool hasCodecWork() const { return passage_.isHere() && codec_head_ < codec_ready_.size(); }
  /// Whether that step may run now.
  [[nodiscard]] bool mayDoCodecWork() const GOSS_ON_LOOP;
  /// Number of steps that encode with error feedback.
  [[nodiscard]] std::uint32_t keptEncodings(bool of_sum) const;
  /// True from begin() until advance() has run the last step, and device buffers hold the results.
  [[nodiscard]] bool active() const { return active_; }
  /// Whether the fragment is being copied from or to the device, steps run there, or the next step to encode may wait
  /// for residuals that lie on a device.
  [[nodiscard]] bool isUnderWay() const {
    return active_ && (!passage_.isHere() || passage_.isWorking() ||
                       (hasCodecWork() && !environment_.device_feedback.isEmpty() &&
                        context_.keeps(context_.schedule->steps[codec_ready_[codec_head_]])));
  }
  /// Whether these copies or steps have ended, or the device has failed.
  [[nodiscard]] bool hasCome() const { return active_ && passage_.hasCome(); }
  void withdraw() GOSS_ON_LOOP;
  void appendWaitingFor(std::vector<int>& ranks) const;

 private:
  class SendStep;
  class RecvStep;
  /// A slot's memory.
  struct SlotMemory {
    std::byte* data = nullptr;
    std::uint64_t elems = 0;
    std::size_t capacity = 0; ///< Size of the memory in bytes.
  };

  bool beginPassage(Stage& stage, bool moved);
  Status advancePassage();
  Status advanceOnDevice();
  void resolve();
  void resolveScratch();
  void pairReplies();
  void resolveReply(std::uint32_t index);
  SlotMemory memoryOf(Slot slot) const;
  std::uint32_t appendPieces(const Step& step);
  [[nodiscard]] bool isLastUse(std::uint32_t index) const;
  [[nodiscard]] bool movesNothing(const Step& step) const;
  Status runStep(std::uint32_t index) GOSS_ON_LOOP;
  Status post(std::uint32_t index) GOSS_ON_LOOP;
  void runLocal(const Step& step);
  void makeReady(std::uint32_t index);
  Status runCodec(std::uint32_t index);
  Status addPayloads(std::uint32_t index);
  [[nodiscard]] StepContext stepContext() const {
    return {*context_.schedule, *context_.call, *layout_, context_.draw};
  }
  [[nodiscard]] Result<bool> isFeedbackOnHost(const Step& step) const;
  [[nodiscard]] Result<KeptFeedback> feedbackOf(const Step& step) const;
  [[nodiscard]] bool movesPayload(const Step& step) const;
  void stepDone(std::uint32_t index);
  void stepDoneInCallback(std::uint32_t index) GOSS_ON_LOOP;
  [[nodiscard]] goss_counters& counters() const GOSS_ON_LOOP { return environment_.operations.counters(); }
  void failInCallback(const Status& status) GOSS_ON_LOOP;
  Status disagreeInCallback(int rank, const Envelope& theirs) GOSS_ON_LOOP;

  Operation& operation_;
  const RunEnvironment& environment_;
  RunContext& context_;
  std::uint32_t fragment_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t resolved_binding_ = 0;
  std::uint32_t resolved_fragment_ = 0;
  std::optional<schedule::Layout> layout_;
  Passage passage_;
  std::vector<std::byte> scratch_storage_;
  std::byte* scratch_ = nullptr;
  std::vector<std::byte> payload_storage_;
  std::vector<SlotMemory> payloads_;       ///< By payload slot: its memory.
  std::vector<std::size_t> payload_bytes_; ///< By payload slot: bytes that it holds.
  std::vector<const void*> combined_;      ///< Sources of the combine step that runs.
  std::vector<PayloadView> payload_views_; ///< Payloads of the step that runs.
  std::vector<SlotMemory> memory_of_;      ///< By index into the schedule's slot pool.
  std::vector<iovec> pieces_;
  std::vector<std::unique_ptr<SendStep>> sends_; ///< By step; null for other kinds.
  std::vector<std::unique_ptr<RecvStep>> recvs_;
  std::vector<std::uint32_t> missing_; ///< By step: dependencies that are not done.
  std::vector<bool> done_ahead_;       ///< By step: another step has done its work too.
  std::vector<std::uint32_t> ready_;
  std::size_t ready_head_ = 0;
  std::vector<std::uint32_t> codec_ready_; ///< Steps that encode or decode; messages go first.
  std::size_t codec_head_ = 0;
  DeviceStepProgress on_device_;
  std::vector<std::uint32_t> done_on_device_; ///< Steps that advanceOnDevice() found done.
  std::size_t steps_left_ = 0;
  bool active_ = false;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_RUN_H_

/// Runs a plan: binds its schedule to buffers once and executes steps whose dependencies are done.
#ifndef GOSS_LIB_EXECUTION_EXECUTION_H_
#define GOSS_LIB_EXECUTION_EXECUTION_H_

#include <array>
#include <memory>
#include <vector>

#include "boards/board_channel.h"
#include "call/call.h"
#include "engine/operation.h"
#include "execution/codec_work.h"
#include "planner/planner.h"

namespace goss {

class Communicator;
class Run;
struct RunContext;

/// One collective operation. Reusable: a persistent request, or the communicator's store of idle executions, binds and
/// starts the same object again without allocating. Everything after construction happens under the engine's lock.
///
/// A small one may run on the board instead (core/flat.h): then no step is run, and it is polled.
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
  void numberOnLoop(History& history) override;
  [[nodiscard]] const Envelope* envelope() const override { return &envelope_; }

  [[nodiscard]] bool isBoundTo(const Call& call) const { return binding_ > 0 && call == bound_; }
  /// Changes whenever bind() was given something else.
  [[nodiscard]] std::uint64_t binding() const { return binding_; }
  /// Whether it runs on the board.
  [[nodiscard]] bool runsOnBoard() const { return flat_; }
  /// A flat one that nothing is queued before: writes and looks up to `looks` times for the others. True: it is done.
  /// False: startOnLoop() must follow, which goes on where this left off.
  [[nodiscard]] bool tryRunOnLoop(int looks);
  /// Looks again after that was false.
  [[nodiscard]] bool lookAgainOnLoop(int looks);

  [[nodiscard]] Status mayStartOnLoop() const override;
  [[nodiscard]] std::uint64_t keptTensor() const override;
  void startOnLoop() override;
  void advanceOnLoop() override;
  bool pollOnLoop() override;
  void lookOnceMoreOnLoop() override;
  void withdrawOnLoop() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const override;
  /// Whether an operation that was started before this one has yet to encode with the error feedback that the coming
  /// encoding needs: `of_sum` tells what a sum's owner keeps from what each rank keeps of its own. So operations on one
  /// tensor lose, and make up for, the same whether they are under way together or one after the other.
  [[nodiscard]] bool mustLetOthersEncode(bool of_sum) const;
  /// Such an encoding is done.
  void countEncoding(bool of_sum) { encodings_left_[of_sum] -= encodings_left_[of_sum] > 0 ? 1 : 0; }
  /// A step failed while transports progress; the failure is dealt with in the next advanceOnLoop().
  void failInCallback(const Status& status);
  /// As failInCallback(), where `rank` has sent another envelope. Returns the error with which its message is refused.
  Status disagreeInCallback(int rank, const Envelope& theirs);

 private:
  [[nodiscard]] Communicator& communicator() const { return communicator_; }
  void makeRuns();
  void stageInput();
  void failOnLoop();
  void advanceFlatOnLoop();
  void leaveFlatOnLoop();
  void countFlatOnLoop();

  Communicator& communicator_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::vector<std::uint32_t>> dependents_; ///< By step: steps that wait for it.
  Call bound_;                                         ///< As the caller gave it.
  Call call_;                                          ///< With what the plan adds.
  Signature signature_;
  Envelope envelope_{}; ///< Of signature_.
  std::uint64_t binding_ = 0;
  bool flat_ = false;
  bool at_once_ = false; ///< tryRunOnLoop() has begun it.
  bool queued_ = false;  ///< In the flat channel's queue.
  BoardCollective work_;
  std::unique_ptr<RunContext> context_;
  std::array<std::uint64_t, 2> encodings_left_{}; ///< With feedback, of this start: a rank's own, those of sums.
  bool needs_staging_ = false;
  /// Copy of the input: scaled (GOSS_PREMUL_SUM), or out of the way of an in-place exchange.
  std::vector<std::byte> staged_;
  CodecWork codec_;                        ///< Of compressed calls.
  std::vector<std::unique_ptr<Run>> runs_; ///< None while it was flat only.
  std::uint32_t next_fragment_ = 0;
  std::uint32_t fragments_left_ = 0;
  Status failure_;
  int disagrees_ = -1; ///< The first rank that was found to call something else.
  Envelope theirs_{};  ///< The envelope that `disagrees_` has sent.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_EXECUTION_H_

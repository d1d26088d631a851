/// Which plan the calls of one kind run next, while plans are compared by what they take.
#ifndef GOSS_LIB_RUNNER_TRIAL_SERIES_H_
#define GOSS_LIB_RUNNER_TRIAL_SERIES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace goss {

/// A way to plan calls.
struct TrialPlan {
  std::string algorithm; ///< Empty: the planner's choice.
  std::string rates;     ///< ObservedLinks::encode(); empty: the prices that the communicator began with.
  friend bool operator==(const TrialPlan&, const TrialPlan&) = default;
};

/// Rank 0 has one for each kind of call, and tells the others what it says. Calls run in stretches, each with one plan.
///
///     state       stretches                                        next
///     first       one call by the plan in use                     comparing, or settled where nothing else is proposed
///     comparing   one call each of a proposal and the plan in     the better one is in use; comparing while there are
///                 use in turn, at most kPairs times               proposals and less than kRounds were made, then
///                 settled
///     settled     kSettledCalls by the plan in use                as after first, when they take far more or less than
///                                                                 before
///
/// Pure but for what `propose` does. One thread.
class TrialSeries {
 public:
  /// Calls of a stretch while nothing is compared.
  static constexpr std::uint32_t kSettledCalls = 8;
  static constexpr std::size_t kPairs = 3;
  static constexpr int kRounds = 4;

  struct Stretch {
    TrialPlan plan;
    std::uint32_t calls = 1;
  };
  /// The plans that are to be compared with `used`, best first. One without rates shows what paths can do: when all
  /// were compared, it is asked once more.
  using Propose = std::function<std::vector<TrialPlan>(const TrialPlan& used)>;

  explicit TrialSeries(Propose propose) : propose_(std::move(propose)) {}

  /// The first stretch.
  [[nodiscard]] static Stretch first() { return {}; }
  /// The calls of the last stretch took `seconds`, their median. Returns the next stretch.
  Stretch next(double seconds);

  [[nodiscard]] const TrialPlan& used() const { return used_; }
  [[nodiscard]] bool isSettled() const { return state_ == State::settled; }
  /// Proposals that were compared, and those that are better than what was in use.
  [[nodiscard]] std::uint64_t compared() const { return compared_; }
  [[nodiscard]] std::uint64_t adopted() const { return adopted_; }
  /// What was found last, for people.
  [[nodiscard]] const std::string& finding() const { return finding_; }

 private:
  enum class State : std::uint8_t { first, comparing, settled };
  enum class Verdict : std::uint8_t { open, better, worse };

  Stretch begin();
  Stretch compare();
  Stretch settle();
  Stretch watch(double seconds);
  [[nodiscard]] Verdict verdict() const;

  const Propose propose_;
  State state_ = State::first;
  TrialPlan used_;
  std::vector<double> used_s_; ///< Of calls by used_ in this comparison.
  std::deque<TrialPlan> proposals_;
  std::vector<double> proposal_s_; ///< Of calls by the first proposal.
  bool ran_proposal_ = false;      ///< The last stretch ran the first proposal.
  bool explores_ = false;          ///< One of the proposals has no rates.
  int rounds_ = 0;
  double first_s_ = 0;   ///< What the first call took, whose connections had to find their speed.
  double settled_s_ = 0; ///< What calls took when the comparisons ended; 0: not known yet.
  std::uint64_t compared_ = 0;
  std::uint64_t adopted_ = 0;
  std::string finding_;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_TRIAL_SERIES_H_

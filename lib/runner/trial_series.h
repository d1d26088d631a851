/// Which plan the calls of one kind run next, while plans are compared by what they take.
#ifndef GOSS_LIB_RUNNER_TRIAL_SERIES_H_
#define GOSS_LIB_RUNNER_TRIAL_SERIES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
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
///     comparing   kTrialCalls each of a proposal and the plan     the better one is in use; comparing while something
///                 in use in turn, at most kPairs times; one       is proposed and less than kRounds were made, then
///                 call where it only shows what paths can do      settled
///     settled     kSettledCalls by the plan in use                as after first, when they take far more or less than
///                                                                 before, or could take less
///
/// Where links were measured and the plan follows them, calls are settled from the beginning. What links have become is
/// then the only reason to compare, a proposal is compared with the settled calls that showed the change, and no
/// proposal runs only to observe paths.
///
/// Pure but for what `propose` does. One thread.
class TrialSeries {
 public:
  /// Calls of a stretch while nothing is compared.
  static constexpr std::uint32_t kSettledCalls = 8;
  /// Calls of each plan in turn: connections whose flows get another part of a line need most of a call to find their
  /// speed.
  static constexpr std::uint32_t kTrialCalls = 2;
  static constexpr std::size_t kPairs = 2;
  static constexpr int kRounds = 4;

  struct Stretch {
    TrialPlan plan;
    std::uint32_t calls = 1;
  };
  /// The plans that are to be compared with `used`, best first, without those that were compared since the calls
  /// settled last. The first that has no rates shows what paths can do, and is adopted only where that is clearly
  /// faster.
  using Propose = std::function<std::vector<TrialPlan>(const TrialPlan& used)>;

  /// When plans are compared: whenever calls begin or take other times, or when links have changed.
  enum class Reason : std::uint8_t { times, links };
  explicit TrialSeries(Propose propose, Reason reason = Reason::times)
      : propose_(std::move(propose)), follows_(reason == Reason::links) {}

  /// The first stretch; to be called before next().
  [[nodiscard]] Stretch first() { return follows_ ? settle() : Stretch(); }
  /// A comparison that has ended. The times are medians over ranks of each one's least.
  struct Comparison {
    TrialPlan tried;
    TrialPlan against; ///< The plan that was in use.
    double tried_s = 0;
    double against_s = 0;
    bool adopted = false; ///< `tried` is in use now.
  };

  /// What settled calls have shown of the links. `hidden`: their plan tells nothing of paths that may allow more,
  /// because of its pace, or because it does not use them.
  enum class Sight : std::uint8_t { same, hidden, changed };
  /// The calls of the last stretch took `seconds`: their median, of trials the least. Returns the next stretch.
  Stretch next(double seconds, Sight sight = Sight::same);

  [[nodiscard]] const TrialPlan& used() const { return used_; }
  [[nodiscard]] bool isSettled() const { return state_ == State::settled; }
  /// The comparison that ended with the last next().
  [[nodiscard]] const std::optional<Comparison>& ended() const { return ended_; }

 private:
  enum class State : std::uint8_t { first, comparing, settled };
  enum class Verdict : std::uint8_t { open, better, worse };

  Stretch begin();
  Stretch compare();
  Stretch settle();
  Stretch watch(double seconds, Sight sight);
  void end(bool adopted);
  [[nodiscard]] bool explores() const;
  [[nodiscard]] Verdict verdict() const;

  const Propose propose_;
  const bool follows_; ///< Reason::links.
  State state_ = State::first;
  TrialPlan used_;
  std::vector<double> used_s_; ///< Durations of calls by used_ in this comparison.
  std::deque<TrialPlan> proposals_;
  std::vector<double> proposal_s_; ///< Durations of calls by the first proposal.
  bool ran_proposal_ = false;      ///< The last stretch ran the first proposal.
  bool explored_ = false;          ///< A proposal without rates has run since the calls settled last.
  bool looks_ = false;             ///< Plans are compared because of Sight::hidden.
  int rounds_ = 0;
  double first_s_ = 0;    ///< Duration of the first call, in which TCP still had to find the paths' speed.
  double settled_s_ = 0;  ///< Duration of calls when the comparisons ended; 0: not known yet.
  int settled_ = 0;       ///< Stretches since then.
  int patience_ = 1;      ///< Stretches that pass before calls that are held back are a reason to compare.
  bool improved_ = false; ///< Something was adopted since the calls settled last.
  std::optional<Comparison> ended_;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_TRIAL_SERIES_H_

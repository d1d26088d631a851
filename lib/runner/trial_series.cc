#include "runner/trial_series.h"

#include <algorithm>
#include <utility>

#include "base/median.h"

namespace goss {

namespace {

/// A proposal that takes so many times what the first call took is not tried again.
constexpr double kHopeless = 1.5;
/// One pair of trials decides if the ratio of the proposal's time to the other plan's time is outside of these.
constexpr double kMuchBetter = 0.85;
constexpr double kMuchWorse = 1.05;
/// After the last pair a proposal wins if it takes at most this part of the time of the plan in use.
constexpr double kBetter = 0.97;
/// Settled calls that become slower or faster by these factors show that the links have changed.
constexpr double kSlower = 1.4;
constexpr double kFaster = 0.7;
/// Maximum number of stretches between comparisons that start because calls were held back. The number doubles whenever
/// a comparison has found no better plan.
constexpr int kMaxPatience = 64;

} // namespace

TrialSeries::Stretch TrialSeries::next(double seconds, Sight sight) {
  ended_.reset();
  if (state_ == State::settled) return watch(seconds, sight);
  if (state_ == State::first) {
    first_s_ = seconds;
    return begin();
  }
  (ran_proposal_ ? proposal_s_ : used_s_).push_back(seconds);
  return compare();
}

/// Asks for proposals.
TrialSeries::Stretch TrialSeries::begin() {
  const std::vector<TrialPlan> proposed = rounds_ < kRounds ? propose_(used_) : std::vector<TrialPlan>();
  ++rounds_;
  proposals_.assign(proposed.begin(), proposed.end());
  std::erase(proposals_, used_);
  proposal_s_.clear();
  ran_proposal_ = false;
  state_ = State::comparing;
  return proposals_.empty() ? settle() : compare();
}

TrialSeries::Verdict TrialSeries::verdict() const {
  if (proposal_s_.empty()) return Verdict::open;
  const double proposal = base::lowerMedian(proposal_s_);
  if (used_s_.empty()) return proposal > kHopeless * first_s_ ? Verdict::worse : Verdict::open;
  const double ratio = proposal / base::lowerMedian(used_s_);
  if (ratio > kMuchWorse) return Verdict::worse;
  if (ratio < kMuchBetter) return Verdict::better;
  if (std::min(proposal_s_.size(), used_s_.size()) < kPairs) return Verdict::open;
  return ratio < kBetter ? Verdict::better : Verdict::worse;
}

/// Whether the first proposal runs only to observe the paths, which leads to better proposals.
bool TrialSeries::explores() const { return !follows_ && !explored_ && proposals_.front().rates.empty(); }

void TrialSeries::end(bool adopted) {
  ended_ = Comparison{proposals_.front(), used_, base::lowerMedian(proposal_s_),
                      used_s_.empty() ? first_s_ : base::lowerMedian(used_s_), adopted};
  proposals_.pop_front();
  if (adopted) {
    used_ = ended_->tried;
    used_s_ = std::exchange(proposal_s_, {});
    improved_ = true;
  }
  proposal_s_.clear();
}

TrialSeries::Stretch TrialSeries::compare() {
  while (!proposals_.empty()) {
    const Verdict found = verdict();
    if (explores() && !proposal_s_.empty()) { // It has run, and needs no more calls.
      explored_ = true;
      end(found == Verdict::better);
      return begin();
    }
    if (found == Verdict::open) {
      ran_proposal_ = proposal_s_.size() <= used_s_.size() || used_s_.size() >= kPairs;
      const bool shows = explores() || (follows_ && looks_ && ran_proposal_);
      return {ran_proposal_ ? proposals_.front() : used_, shows ? 1 : kTrialCalls};
    }
    end(found == Verdict::better);
    if (found == Verdict::better) return begin();
  }
  // The calls of these comparisons have shown more of what paths can do.
  return begin();
}

TrialSeries::Stretch TrialSeries::settle() {
  state_ = State::settled;
  patience_ = improved_ ? 1 : std::min(2 * patience_, kMaxPatience);
  settled_s_ = 0;
  settled_ = 0;
  used_s_.clear();
  return {used_, kSettledCalls};
}

TrialSeries::Stretch TrialSeries::watch(double seconds, Sight sight) {
  if (settled_s_ <= 0) settled_s_ = seconds;
  ++settled_;
  const bool other_time = seconds > kSlower * settled_s_ || seconds < kFaster * settled_s_;
  const bool changed = follows_ ? sight == Sight::changed : other_time;
  if (!changed && (sight != Sight::hidden || settled_ < patience_)) return {used_, kSettledCalls};
  rounds_ = 0;
  explored_ = false;
  improved_ = false;
  looks_ = !changed;
  first_s_ = seconds;
  if (follows_) used_s_ = {seconds};
  return begin();
}

} // namespace goss

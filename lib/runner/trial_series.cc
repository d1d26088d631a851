#include "runner/trial_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/median.h"

namespace goss {

namespace {

/// A proposal whose first call takes so many times what the other plan took is not tried again, and one that takes so
/// little needs no further trial.
constexpr double kHopeless = 1.5;
constexpr double kClear = 0.7;
/// From the second pair of calls on medians that differ by this much decide.
constexpr double kMuchBetter = 0.9;
constexpr double kMuchWorse = 1.05;
/// After the last pair of calls a proposal wins whose median is at most so many times the other plan's.
constexpr double kBetter = 0.97;
/// Settled calls that take so many times what they took, or so little, have found other links.
constexpr double kSlower = 1.4;
constexpr double kFaster = 0.7;

} // namespace

TrialSeries::Stretch TrialSeries::next(double seconds) {
  if (state_ == State::settled) return watch(seconds);
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
  explores_ = std::any_of(proposals_.begin(), proposals_.end(), [](const TrialPlan& one) { return one.rates.empty(); });
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
  if (ratio > kHopeless) return Verdict::worse;
  if (ratio < kClear) return Verdict::better;
  const std::size_t pairs = std::min(proposal_s_.size(), used_s_.size());
  if (pairs >= 2 && ratio > kMuchWorse) return Verdict::worse;
  if (pairs >= 2 && ratio < kMuchBetter) return Verdict::better;
  if (pairs < kPairs) return Verdict::open;
  return ratio < kBetter ? Verdict::better : Verdict::worse;
}

TrialSeries::Stretch TrialSeries::compare() {
  while (!proposals_.empty()) {
    const Verdict found = verdict();
    if (found == Verdict::open) {
      ran_proposal_ = proposal_s_.size() <= used_s_.size() || used_s_.size() >= kPairs;
      return {ran_proposal_ ? proposals_.front() : used_, 1};
    }
    ++compared_;
    finding_ =
        fmt::format("a plan {} takes {:.3f} s, the one in use {:.3f}", found == Verdict::better ? "adopted" : "tried",
                    base::lowerMedian(proposal_s_), used_s_.empty() ? first_s_ : base::lowerMedian(used_s_));
    if (found == Verdict::better) {
      ++adopted_;
      used_ = proposals_.front();
      used_s_ = std::exchange(proposal_s_, {});
      return begin();
    }
    proposals_.pop_front();
    proposal_s_.clear();
  }
  if (explores_) return begin();
  return settle();
}

TrialSeries::Stretch TrialSeries::settle() {
  state_ = State::settled;
  settled_s_ = 0;
  used_s_.clear();
  return {used_, kSettledCalls};
}

TrialSeries::Stretch TrialSeries::watch(double seconds) {
  if (settled_s_ <= 0) settled_s_ = seconds;
  if (seconds <= kSlower * settled_s_ && seconds >= kFaster * settled_s_) return {used_, kSettledCalls};
  rounds_ = 0;
  first_s_ = seconds;
  return begin();
}

} // namespace goss

/// Prices one candidate plan: by simulation if that takes few steps, else from the prices of fewer ranks or blocks, or
/// by a formula.
#ifndef GOSS_LIB_PLANNER_PRICER_H_
#define GOSS_LIB_PLANNER_PRICER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/closed_form.h"
#include "planner/levels.h"
#include "planner/price_memo.h"
#include "planner/question.h"
#include "schedule/links.h"
#include "schedule/placement.h"

namespace goss {

/// Prices the candidates of one question over one set of links, and counts the steps that it simulates. A function that
/// returns bool returns false if it cannot price the candidate; the candidate's price then has no meaning. One thread.
class Pricer {
 public:
  /// `structure` is LinkStructure::of(links). `question`, `links` and `memo`, which may be null, outlive this object.
  Pricer(const Question& question, const schedule::Links& links, LinkStructure structure, Effort effort,
         PriceMemo* memo);

  /// Whether formulas price the candidates instead of simulations. They do not where all ranks are far apart, because
  /// the losses there depend on the schedule.
  [[nodiscard]] bool byFormula() const;
  /// The formulas for this question.
  [[nodiscard]] ClosedForm formulas() const;
  /// Prices a candidate of too many steps by a formula for links of two levels, and chooses its blocks or fragments if
  /// `tunes`. False: the links have no two levels, or no formula knows the candidate.
  bool priceByLevel(Candidate& candidate, bool tunes) const;
  /// Whether many ranks of the candidate must be simulated although all ranks are interchangeable.
  [[nodiscard]] bool isCostly(const Candidate& candidate) const;
  /// Prices the candidate from the prices of a few ranks, and chooses the number of blocks of a pipeline.
  bool estimate(Candidate& candidate);
  /// The schedules of the ranks that are simulated; empty: there is no legal one.
  [[nodiscard]] std::vector<Schedule> planAll(const Candidate& candidate) const;
  /// The number of steps of all schedules of planAll(), if each had as many as that of rank 0.
  [[nodiscard]] std::uint64_t expectedSteps(const Candidate& candidate) const;
  /// The candidate is not simulated whole if expectedSteps() is more than this.
  [[nodiscard]] std::uint64_t maxStepsFor(const Candidate& candidate) const;
  /// Prices a pipeline of candidate.blocks blocks.
  bool priceBlocks(Candidate& candidate);
  /// Prices the candidate by simulating all its steps. False: they are too many, or it has no legal schedule.
  bool simulateWhole(Candidate& candidate);
  /// Prices the candidate by simulating `schedules`, which planAll() returned. False: they are not legal.
  bool simulate(Candidate& candidate, const std::vector<Schedule>& schedules);
  /// Whether the links are those of a wide-area network.
  [[nodiscard]] bool far() const;
  /// Prices the candidate among s, s/2 and s/4 ranks, and continues these prices to all ranks.
  bool extrapolate(Candidate& candidate);
  /// Whether only a pipeline's first blocks were simulated for the price.
  [[nodiscard]] static bool isLongPipeline(const Candidate& candidate);

  /// Steps that were simulated so far.
  [[nodiscard]] std::uint64_t spent() const { return spent_; }
  /// Whether all links are alike, so that ranks are interchangeable.
  [[nodiscard]] bool isUniform() const { return uniform_; }
  [[nodiscard]] bool hasLevels() const { return structure_.levels.has_value(); }

 private:
  [[nodiscard]] std::size_t simulatedRanks(const Candidate& candidate) const;
  bool priceByFew(Candidate& candidate);
  /// The largest number of ranks, or groups of ranks, all of which an estimate simulates.
  [[nodiscard]] static int maxForEstimate(const Candidate& candidate);
  /// The best power of two of blocks for a pipeline whose longest path has so many hops.
  [[nodiscard]] std::uint32_t blocksFor(int hops) const;
  [[nodiscard]] Symmetry symmetryOf(const Candidate& candidate) const;
  bool priceBlocksAnew(Candidate& candidate);
  /// Prices kFirstBlocks blocks, and adds for each other one the mean of their second half, or what that half adds to
  /// the busiest port if it is more.
  bool priceLongPipeline(Candidate& candidate);
  bool priceFirstBlocks(Candidate& candidate, std::uint32_t blocks);
  /// Prices the candidate, without changing its parameters, for another question or over other links.
  bool priceAmong(const Question& question, const schedule::Links& links, Candidate& candidate);
  /// The time that packet loss adds over WAN paths of unknown rate; 0 for flows that are paced to their line.
  [[nodiscard]] double distanceLoss(const Candidate& candidate, const std::vector<Schedule>& schedules) const;
  /// The numbers of ranks from whose prices the price of all ranks is extrapolated. Where ranks are interchangeable
  /// they form fewer groups. Else they form as many groups of fewer ranks, and `keeps_groups` is true, unless groups
  /// are too small for that.
  [[nodiscard]] std::vector<int> smallerSizes(const Candidate& candidate, bool& keeps_groups) const;
  /// Prices the candidate among `size` ranks that stand for all.
  bool priceSome(const Question& question, int size, bool keeps_groups, Candidate& candidate);

  const Question& question_;
  const schedule::Links& links_;
  const Effort effort_;
  PriceMemo* const memo_; ///< Null: prices are not remembered.
  const int size_;
  const LinkStructure structure_;
  const bool uniform_;
  const std::uint64_t max_steps_;
  std::uint64_t spent_ = 0;
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_PRICER_H_

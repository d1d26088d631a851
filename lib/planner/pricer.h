/// The price of one candidate, as it stands: simulated, where that takes few steps, else from fewer ranks or blocks, or
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

/// Prices the candidates of one question over one set of links, and counts the steps that it simulates. Functions that
/// return bool: false where the candidate cannot be priced so; then its price has no meaning. One thread.
class Pricer {
 public:
  /// `structure`: that of the links. All but it outlive this object. `memo` may be null.
  Pricer(const Question& question, const schedule::Links& links, LinkStructure structure, Effort effort,
         PriceMemo* memo);

  /// Whether formulas price the candidates instead of simulations. Losses over long distances depend on schedules where
  /// all ranks are wide apart.
  [[nodiscard]] bool byFormula() const;
  /// The formulas for this question.
  [[nodiscard]] ClosedForm formulas() const;
  /// Prices what takes too many steps to simulate over links of two levels. False: those are others.
  bool priceByLevel(Candidate& candidate, bool tunes) const;
  /// Whether ranks are interchangeable, but many must be simulated.
  [[nodiscard]] bool isCostly(const Candidate& candidate) const;
  /// Prices the candidate by few ranks. False: it cannot be.
  bool estimate(Candidate& candidate);
  /// The schedules of the ranks that are simulated.
  [[nodiscard]] std::vector<Schedule> planAll(const Candidate& candidate) const;
  /// Steps of all ranks that planAll() plans, if each had as many as rank 0.
  [[nodiscard]] std::uint64_t expectedSteps(const Candidate& candidate) const;
  /// Steps of a candidate above which it is not simulated whole.
  [[nodiscard]] std::uint64_t maxStepsFor(const Candidate& candidate) const;
  /// Prices the candidate with the blocks that it has.
  bool priceBlocks(Candidate& candidate);
  /// False: it has too many steps, or no legal schedule.
  bool simulateWhole(Candidate& candidate);
  /// Sets the price that the schedules of planAll() have. False: they are not legal.
  bool simulate(Candidate& candidate, const std::vector<Schedule>& schedules);
  /// Whether links are those of a wide-area network.
  [[nodiscard]] bool far() const;
  /// Prices s, s/2 and s/4 ranks, and all ranks as these suggest.
  bool extrapolate(Candidate& candidate);
  /// Whether the price is that of a pipeline's first blocks, and what they suggest for the others.
  [[nodiscard]] static bool isLongPipeline(const Candidate& candidate);

  /// Steps that were simulated so far.
  [[nodiscard]] std::uint64_t spent() const { return spent_; }
  /// Whether all links are alike, so that ranks are interchangeable.
  [[nodiscard]] bool isUniform() const { return uniform_; }
  [[nodiscard]] bool hasLevels() const { return structure_.levels.has_value(); }

 private:
  [[nodiscard]] std::size_t simulatedRanks(const Candidate& candidate) const;
  bool priceByFew(Candidate& candidate);
  /// The largest number of ranks, or groups, of which all are simulated for an estimate.
  [[nodiscard]] static int mostForEstimate(const Candidate& candidate);
  /// The best power of two blocks for a pipeline of so many hops.
  [[nodiscard]] std::uint32_t blocksFor(int hops) const;
  [[nodiscard]] Symmetry symmetryOf(const Candidate& candidate) const;
  bool priceBlocksAnew(Candidate& candidate);
  /// Prices the first blocks, and adds for each of the others what those of the second half took, or the busiest port.
  bool priceLongPipeline(Candidate& candidate);
  bool priceFirstBlocks(Candidate& candidate, std::uint32_t blocks);
  /// Prices the candidate as it stands for another question or over other links.
  bool priceAmong(const Question& question, const schedule::Links& links, Candidate& candidate);
  /// The loss of WAN flows of unknown rate; flows that are paced to a line are known to fit.
  [[nodiscard]] double distanceLoss(const Candidate& candidate, const std::vector<Schedule>& schedules) const;
  /// The numbers of ranks from whose prices that of all is extrapolated: in fewer groups where ranks are
  /// interchangeable, else in as many groups of fewer ranks, unless `keeps_groups` becomes false: groups are too small.
  [[nodiscard]] std::vector<int> smallerSizes(const Candidate& candidate, bool& keeps_groups) const;
  /// Prices the candidate by so many ranks that stand for all. False: it cannot be.
  bool priceSome(const Question& question, int size, bool keeps_groups, Candidate& candidate);

  const Question& question_;
  const schedule::Links& links_;
  const Effort effort_;
  PriceMemo* const memo_; ///< Null: nothing is remembered.
  const int size_;
  const LinkStructure structure_;
  const int period_; ///< Period of the links.
  const bool uniform_;
  const std::uint64_t max_steps_;
  std::uint64_t spent_ = 0;
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_PRICER_H_

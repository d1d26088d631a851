/// Prices by formulas, without schedules: for ranks that are interchangeable, or that are so within nodes
/// (planner/level_form.h).
///
/// With latency a, b seconds a byte, overhead o and g seconds a byte added, k messages of n bytes that pass a port one
/// after the other take a + k n b + (k - 1) o, and n g more for the sum of the last; a longest path of such rounds
/// (Algorithm::rounds()) takes their sum. Rounds that do not wait take what the port or the processor is busy. In f
/// fragments, w of them in flight, the path is that of one fragment, and each of the others adds what its busiest port
/// or processor needs, or a w-th of its path.
#ifndef GOSS_LIB_PLANNER_CLOSED_FORM_H_
#define GOSS_LIB_PLANNER_CLOSED_FORM_H_

#include <vector>

#include "planner/level_form.h"
#include "planner/levels.h"
#include "planner/question.h"

namespace goss {

/// Prices of one question. One thread.
class ClosedForm {
 public:
  /// Whether the formulas know these links: uniform() ones of several ranks, without ports that are faster than a flow,
  /// because flows to different peers overlap in such ports.
  [[nodiscard]] static bool holdsOver(const schedule::Links& links);

  /// All must outlive the object. `levels` are those of the links, or null and holdsOver(links).
  ClosedForm(const Question& question, const schedule::Links& links, const Levels* levels = nullptr);

  /// Sets the price, the least time, and what the busiest rank sends, for the candidate's blocks, fragments and window.
  /// False, and nothing is changed: its algorithm does not know its longest path, or short messages wait for their
  /// receives.
  bool price(Candidate& candidate) const;
  /// As price(), in the blocks or fragments at which the price is the least.
  bool tune(Candidate& candidate) const;
  /// Seconds that the busiest port of a node, which its ranks share, is busy; 0: not known. A compressed call counts as
  /// a plain one of its payloads. Prices of a few ranks a node do not show this, as a flow or latencies take longest.
  [[nodiscard]] double leastOf(const Candidate& candidate) const;

 private:
  bool priceAlike(const std::vector<CostRound>& rounds, Candidate& candidate) const;
  bool priceByLevel(const std::vector<CostRound>& rounds, Candidate& candidate) const;
  [[nodiscard]] FragmentedRun runOf(const Candidate& candidate) const;
  [[nodiscard]] std::uint64_t largestMessage(const Candidate& candidate) const;
  struct Cost {
    double path_s = 0;
    double busy_s = 0; ///< Time of the port or the processor, whichever is longer.
  };
  [[nodiscard]] Cost costOf(const CostRound& round, double fragment_bytes) const;
  [[nodiscard]] double copiedSeconds(const Candidate& candidate) const;

  const Question& question_;
  const schedule::Links& links_;
  const Levels* levels_; ///< Null: all links are alike.
  schedule::LinkPrice price_;
  schedule::Links pair_; ///< Two ranks at the price on which the windows of equal links depend, or of those of levels.
  double port_s_ = 0;    ///< Seconds for a byte through the port.
  double add_s_ = 0;     ///< Seconds to add a byte.
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_CLOSED_FORM_H_

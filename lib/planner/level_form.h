/// Prices of rounds by formulas where links have two levels.
///
/// What leaves a node passes its port, which its ranks share: of X messages of n bytes at b seconds a byte the last
/// arrives after a + X n b, and those of the first rank to finish earlier by n b for each other rank. Such a rank
/// begins its next round earlier, so that rounds take the longer of the port's time and of a rank's own path, and only
/// the last of them all of both. Nodes of several kinds are as slow as the slowest. The ports of nodes, those of ranks
/// inside nodes and processors work at the same time on different fragments, so that f fragments take what the busiest
/// of the three takes, and one fragment's path over the others.
#ifndef GOSS_LIB_PLANNER_LEVEL_FORM_H_
#define GOSS_LIB_PLANNER_LEVEL_FORM_H_

#include <vector>

#include "gossamer/algorithm.h"
#include "planner/levels.h"
#include "schedule/links.h"

namespace goss {

/// Messages that wait for their receives have a known price only if they take at least this many latencies.
inline constexpr double kLatenciesOfTurn = 2;
/// Whether messages wait for their receives: receives that add to one result are posted one after the other, and
/// messages that are not eager wait for that.
[[nodiscard]] bool waitsForReceive(const schedule::LinkPrice& price, const CostRound& round, double bytes);

/// A run that is cut into `fragments` parts of so many bytes, `window` of them in flight.
struct FragmentedRun {
  double bytes = 0; ///< Bytes of one fragment.
  double fragments = 1;
  double window = 1;
};

/// One thread.
class LevelForm {
 public:
  /// Both arguments must outlive the object.
  LevelForm(const Levels& levels, const schedule::CpuPrice& cpu);

  /// Adds a round of the longest path. False: the formulas do not know how far it reaches, or short messages wait for
  /// their receives.
  bool add(const CostRound& round, const FragmentedRun& run);

  /// The price of all rounds that were added.
  [[nodiscard]] double price_s(const FragmentedRun& run) const;
  /// What the busiest port or processor needs for all fragments.
  [[nodiscard]] double busy_s(const FragmentedRun& run) const;

 private:
  struct Cost {
    double path_s = 0;
    double port_s = 0;       ///< Time in which the node's port is busy.
    double inner_port_s = 0; ///< Time in which a rank's own port, inside its node, is busy.
    double processor_s = 0;
    double tail_s = 0; ///< From the end of the round at the first ranks to that at the last.
  };
  /// The times of the messages that leave a node.
  struct Leaving {
    double port_s = 0; ///< Time in which the port, or a flow, is busy.
    double own_s = 0;  ///< Time until the first rank's messages have left.
  };
  [[nodiscard]] Cost costAt(const CostRound& round, const Crossing& crossing, const Levels::Node& node,
                            double bytes) const;
  [[nodiscard]] Leaving leavingAt(const CostRound& round, const Crossing& crossing, const Levels::Node& node,
                                  double bytes) const;
  [[nodiscard]] double eachSeconds(const schedule::LinkPrice& price, const CostRound& round, double bytes) const;

  const Levels& levels_;
  double add_s_ = 0;              ///< Seconds to add a byte.
  std::vector<Crossing> earlier_; ///< By kind of node.
  double inner_path_s_ = 0;       ///< Path of the rounds that stay in their nodes.
  double outer_path_s_ = 0;       ///< Path of the rounds that leave a node.
  double inner_window_s_ = 0;     ///< Time of a window of fragments in nodes: paths, or ranks' ports.
  double outer_window_s_ = 0;     ///< Time of a window of fragments between nodes: paths, or nodes' ports.
  double processor_s_ = 0;
  double inner_port_s_ = 0;
  double port_s_ = 0;
  double tail_s_ = 0;    ///< Time from the first end to the last, of fragments or of ranks.
  double crossings_ = 0; ///< Hops of the longest path that leave a node, as far as few ranks' messages do.
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_LEVEL_FORM_H_

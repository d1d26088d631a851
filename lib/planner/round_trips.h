/// Round trips between the hosts of a world, as far as they are long: they tell a wide-area network from a local one
/// before anything is measured.
#ifndef GOSS_LIB_PLANNER_ROUND_TRIPS_H_
#define GOSS_LIB_PLANNER_ROUND_TRIPS_H_

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "mesh/mesh.h"

namespace goss {

/// A value. Ranks that add equal round trips hold equal objects, so that they may plan by them.
class RoundTrips {
 public:
  /// Knows no round trip: every network counts as a local one.
  RoundTrips() = default;
  /// For the hosts of `cards`, one card a rank. No round trip is known yet.
  explicit RoundTrips(const std::vector<PeerCard>& cards);

  /// Records the round trip that one rank has seen to another; 0: none was seen, because a third rank relays. To be
  /// called for pairs of ranks with wide or unknown round trips alone; add() ignores others.
  void add(int one, int other, double round_trip_s);
  /// Completes the round trips after the last add(). Two hosts get the shortest round trip between their ranks or, if
  /// none is known, the longest between any hosts. Round trips that differ by less than kAlike become equal, so that
  /// the planner sees equal links.
  void settle();

  /// Whether some round trips are wide.
  [[nodiscard]] bool anyWide() const { return !by_hosts_.empty(); }
  /// Round trip between the hosts of two ranks, in seconds; 0: they are on one host, or in a local network.
  [[nodiscard]] double between(int one, int other) const;

 private:
  static constexpr double kAlike = 1.3;

  [[nodiscard]] std::pair<int, int> hostsOf(int one, int other) const;

  std::vector<int> hosts_;                         ///< By rank.
  std::map<std::pair<int, int>, double> by_hosts_; ///< The lower host first; 0: not known.
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_ROUND_TRIPS_H_

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

/// A value. Ranks that add equal numbers hold equal ones, and may plan by them.
class RoundTrips {
 public:
  /// Round trips in seconds that are at least as long are those of a wide-area network.
  static constexpr double kWide_s = 2e-3;

  /// None is known: every network is a local one.
  RoundTrips() = default;
  /// Between the hosts of `cards`, by rank.
  explicit RoundTrips(const std::vector<PeerCard>& cards);

  /// A rank has seen this round trip to another, or knows that it does not know it (0; a third rank relays). To be
  /// called for pairs of ranks with wide or unknown round trips alone; others are ignored.
  void add(int one, int other, double round_trip_s);
  /// To be called after the last add(). Hosts have the shortest round trip of their ranks; where none of these is
  /// known, the longest of all hosts. What differs by less than kAlike is made equal, so that the planner sees equal
  /// links.
  void settle();

  /// Whether some round trips are wide.
  [[nodiscard]] bool anyWide() const { return !by_hosts_.empty(); }
  /// Between the hosts of these ranks, in seconds; 0: they are on one host, or in a local network.
  [[nodiscard]] double between(int one, int other) const;

 private:
  static constexpr double kAlike = 1.3;

  [[nodiscard]] std::pair<int, int> hostsOf(int one, int other) const;

  std::vector<int> hosts_;                         ///< By rank.
  std::map<std::pair<int, int>, double> by_hosts_; ///< The lower host first; 0: not known.
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_ROUND_TRIPS_H_

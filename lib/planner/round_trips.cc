#include "planner/round_trips.h"

#include <algorithm>

#include "base/wide_area.h"

namespace goss {

RoundTrips::RoundTrips(const std::vector<PeerCard>& cards) {
  std::map<std::string_view, int> numbers;
  for (const PeerCard& card : cards)
    hosts_.push_back(numbers.emplace(card.host, static_cast<int>(numbers.size())).first->second);
}

std::pair<int, int> RoundTrips::hostsOf(int one, int other) const {
  return std::minmax({hosts_[static_cast<std::size_t>(one)], hosts_[static_cast<std::size_t>(other)]});
}

void RoundTrips::add(int one, int other, double round_trip_s) {
  const auto hosts = hostsOf(one, other);
  if (hosts.first == hosts.second || (round_trip_s > 0 && round_trip_s < kWideAreaRoundTrip_s)) return;
  double& known_s = by_hosts_[hosts];
  if (round_trip_s > 0) known_s = known_s > 0 ? std::min(known_s, round_trip_s) : round_trip_s;
}

void RoundTrips::settle() {
  std::vector<double*> known;
  for (auto& [hosts, seconds] : by_hosts_)
    if (seconds > 0) known.push_back(&seconds);
  if (known.empty()) return by_hosts_.clear();
  std::sort(known.begin(), known.end(), [](const double* a, const double* b) { return *a < *b; });
  for (std::size_t first = 0; first < known.size();) {
    std::size_t end = first;
    while (end < known.size() && *known[end] <= kAlike * *known[first])
      ++end;
    const double middle_s = *known[first + (end - first) / 2];
    for (; first < end; ++first)
      *known[first] = middle_s;
  }
  const double longest_s = *known.back();
  for (auto& [hosts, seconds] : by_hosts_)
    if (seconds <= 0) seconds = longest_s;
}

double RoundTrips::between(int one, int other) const {
  if (by_hosts_.empty()) return 0;
  const auto found = by_hosts_.find(hostsOf(one, other));
  return found != by_hosts_.end() ? found->second : 0;
}

} // namespace goss

#include "planner/extrapolation.h"

#include <algorithm>
#include <bit>

namespace goss {

namespace {

/// Schedules of more ranks are not made to count their steps.
constexpr int kMaxPlannedRanks = 128;

} // namespace

PlanRequest requestAmong(const Question& question, const Candidate& candidate, int size) {
  Question rootless = question;
  rootless.root = 0;
  Candidate smaller = candidate;
  smaller.order.clear();
  return requestFor(rootless, smaller, size, 0);
}

std::uint64_t stepsOfOne(const Question& question, const Candidate& candidate, int size) {
  const auto steps = [&](int ranks) -> std::uint64_t {
    const PlanRequest request = requestAmong(question, candidate, ranks);
    return candidate.algorithm->supports(request) ? candidate.algorithm->plan(request).steps.size() : 0;
  };
  const int group = std::max(1, candidate.group_size);
  int groups = size / group;
  int halvings = 0;
  for (; groups > 1 && groups * group > kMaxPlannedRanks; ++halvings)
    groups = (groups + 1) / 2;
  const std::uint64_t some = halvings > 0 ? steps(groups * group) : 0;
  const std::uint64_t fewer = halvings > 0 ? steps((groups + 1) / 2 * group) : 0;
  if (fewer == 0 || some < fewer)
    return candidate.algorithm->plan(requestFor(question, candidate, size, 0)).steps.size();
  const bool grows = 2 * some > 3 * fewer;
  return grows ? some << halvings : some + static_cast<std::uint64_t>(halvings) * (some - fewer);
}

std::vector<int> fewerRanks(const Question& question, const Candidate& candidate, int size, int most_groups) {
  const int group = std::max(1, candidate.group_size);
  std::vector<int> sizes;
  for (int groups = std::min(most_groups, size / group); groups > 1 && sizes.size() < 3; groups /= 2) {
    groups = static_cast<int>(std::bit_floor(static_cast<unsigned>(groups)));
    const int smaller = groups * group;
    if (smaller < size && candidate.algorithm->supports(requestAmong(question, candidate, smaller)))
      sizes.push_back(smaller);
  }
  return sizes;
}

std::vector<int> halvedRanks(const Question& question, const Candidate& candidate, int size, std::uint64_t most_steps,
                             bool keeps_groups) {
  const int group = std::max(1, candidate.group_size);
  const bool keeps = keeps_groups && group > 1;
  const int unit = keeps ? size / group : group;
  std::vector<int> sizes;
  for (int units = size / unit; units > 1 && sizes.size() < 3;) {
    units = (units + 1) / 2;
    const int smaller = units * unit;
    const Candidate among = keeps ? amongSome(candidate, smaller, size) : candidate;
    const PlanRequest request = requestAmong(question, among, smaller);
    if (!candidate.algorithm->supports(request)) continue;
    if (candidate.algorithm->plan(request).steps.size() * static_cast<std::uint64_t>(smaller) <= most_steps)
      sizes.push_back(smaller);
  }
  return sizes;
}

Candidate amongSome(const Candidate& candidate, int some, int size) {
  Candidate among = candidate;
  among.order.clear();
  if (candidate.group_size > 0) among.group_size = some / (size / candidate.group_size);
  return among;
}

double extrapolatedPrice(const std::array<double, 3>& prices_s, int s, int size) {
  double difference = prices_s[0] - prices_s[1];
  const double before = prices_s[1] - prices_s[2];
  const double growth = before > 0 ? std::clamp(difference / before, 0.5, 2.0) : 1.0;
  double price_s = prices_s[0];
  for (int ranks = s; ranks < size; ranks *= 2) {
    difference = std::max(0.0, difference * growth);
    const double part = ranks * 2 <= size ? 1.0 : static_cast<double>(size - ranks) / ranks;
    price_s += difference * part;
  }
  return price_s;
}

} // namespace goss

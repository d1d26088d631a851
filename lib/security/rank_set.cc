#include "security/rank_set.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace goss::security {

namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

} // namespace

RankSet RankSet::any() {
  RankSet set;
  set.ranges_.emplace_back(0, std::numeric_limits<int>::max());
  return set;
}

std::optional<RankSet> RankSet::parse(std::string_view text) {
  if (text == "any") return any();
  RankSet set;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = item.find('-');
    const auto first = number(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    set.ranges_.emplace_back(*first, *last);
    if (comma == std::string_view::npos) return set;
    text.remove_prefix(comma + 1);
  }
}

bool RankSet::contains(int rank) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [rank](const auto& range) { return range.first <= rank && rank <= range.second; });
}

} // namespace goss::security

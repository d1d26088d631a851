#include "transports/common/unwanted_tags.h"

#include <algorithm>

namespace goss::transports {

void UnwantedTags::add(Tag mask, Tag value) {
  const Tag step = mask & (~mask + 1); // Distance between neighbouring values.
  const auto follows = [step](Tag at, Tag last) { return at <= last || at - last <= step; };
  Range added{mask, value, value};
  std::erase_if(ranges_, [&](const Range& range) {
    if (range.mask != mask || !follows(range.first, added.last) || !follows(added.first, range.last)) return false;
    added = {mask, std::min(added.first, range.first), std::max(added.last, range.last)};
    return true;
  });
  ranges_.push_back(added);
}

bool UnwantedTags::contains(Tag tag) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [tag](const Range& range) {
    return (tag & range.mask) >= range.first && (tag & range.mask) <= range.last;
  });
}

} // namespace goss::transports

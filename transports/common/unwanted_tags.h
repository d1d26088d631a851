/// Tags whose messages a peer's matcher drops.
#ifndef GOSS_TRANSPORTS_COMMON_UNWANTED_TAGS_H_
#define GOSS_TRANSPORTS_COMMON_UNWANTED_TAGS_H_

#include <cstddef>
#include <vector>

#include "gossamer/message.h"

namespace goss::transports {

/// A set of tags, given by the values that some of their bits have. Communicators come and go in any number, and each
/// leaves a value, so neighbouring values are merged. One thread.
class UnwantedTags {
 public:
  /// Adds the tags that have `value` in the bits of `mask`.
  void add(Tag mask, Tag value);
  [[nodiscard]] bool contains(Tag tag) const;
  /// Number of ranges that the set takes: values that follow one another share a range.
  [[nodiscard]] std::size_t size() const { return ranges_.size(); }

 private:
  /// Tags whose bits of `mask` make a number from `first` to `last`.
  struct Range {
    Tag mask;
    Tag first;
    Tag last;
  };

  std::vector<Range> ranges_; ///< Adjacent ranges are merged, so there are as many entries as gaps.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_UNWANTED_TAGS_H_

/// The effort of a search for a plan, and the prices that one search remembers for the next.
#ifndef GOSS_LIB_PLANNER_PRICE_MEMO_H_
#define GOSS_LIB_PLANNER_PRICE_MEMO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "planner/levels.h"
#include "planner/question.h"

namespace goss {

enum class Effort : std::uint8_t {
  /// Variants that cannot become the cheapest keep their simplest form and its price. Among many ranks whose links are
  /// alike and short, with ports no faster than a flow, or alike within nodes and between them, formulas give the
  /// prices of plain calls (planner/closed_form.h).
  choose,
  /// Every variant is tuned, for people who compare. The cheapest is the same, or among many ranks costs about as much.
  thorough,
};

/// The structure of one set of links, and prices of pipelines that were simulated over them: vectors of other sizes are
/// cut into blocks of the same sizes. One thread.
class PriceMemo {
 public:
  /// Algorithm, ranks, root, group size, blocks, bytes.
  using Key = std::tuple<const Algorithm*, int, int, int, std::uint32_t, std::uint64_t>;
  struct Price {
    Candidate candidate;
    std::uint64_t steps = 0; ///< Number of steps that were simulated for this price.
  };
  /// Null: not known.
  [[nodiscard]] const Price* find(const Key& key) const {
    const auto found = prices_.find(key);
    return found == prices_.end() ? nullptr : &found->second;
  }
  void keep(const Key& key, const Price& price) { prices_.emplace(key, price); }
  /// Must be called with the same links, until clear().
  [[nodiscard]] const LinkStructure& structureOf(const schedule::Links& links) {
    if (!structure_.has_value()) structure_ = LinkStructure::of(links);
    return *structure_;
  }
  void clear() {
    prices_.clear();
    structure_.reset();
  }

 private:
  std::optional<LinkStructure> structure_;
  std::map<Key, Price> prices_;
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_PRICE_MEMO_H_

/// The prices of the candidate plans of a collective.
#ifndef GOSS_LIB_PLANNER_CANDIDATES_H_
#define GOSS_LIB_PLANNER_CANDIDATES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "planner/levels.h"
#include "planner/question.h"

namespace goss {

enum class Effort : std::uint8_t {
  /// Variants that cannot become the cheapest keep their simplest form and its price. Among many ranks whose links are
  /// alike and short, with ports no faster than a flow, or alike within nodes and between them, formulas give the
  /// prices
  /// of plain calls (planner/closed_form.h).
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
    std::uint64_t steps = 0; ///< Simulated to find it.
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

/// The cheapest variant of each legal algorithm, order and group size, in the order of `algorithms`: blocks, fragments
/// and shares are chosen by trial. Pure: all ranks that pass equal arguments get the same bits. Takes a bounded number
/// of simulated steps (a few hundred thousand; thorough: millions), whatever the number of ranks. `memo`, of these
/// links, saves simulations and changes nothing else.
[[nodiscard]] std::vector<Candidate> priceCandidates(const Question& question,
                                                     std::span<const Algorithm* const> algorithms,
                                                     const schedule::Links& links, Effort effort = Effort::choose,
                                                     PriceMemo* memo = nullptr);

/// The price of exactly this candidate over other links, such as links without latency. Errors: internal, as
/// schedule::simulate.
[[nodiscard]] Result<double> priceOver(const Question& question, const Candidate& candidate,
                                       const schedule::Links& links);

/// Prices the candidate again with these parameters: simulates it whole or, if that takes too many steps and a formula
/// is known, uses that. False: it cannot be priced, and stays as it is.
bool priceAgain(const Question& question, Candidate& candidate, const schedule::Links& links);

} // namespace goss

#endif // GOSS_LIB_PLANNER_CANDIDATES_H_

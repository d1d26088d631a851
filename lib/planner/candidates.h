/// The prices of the candidate plans of a collective.
#ifndef GOSS_LIB_PLANNER_CANDIDATES_H_
#define GOSS_LIB_PLANNER_CANDIDATES_H_

#include <span>
#include <vector>

#include "planner/price_memo.h"
#include "planner/question.h"

namespace goss {

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

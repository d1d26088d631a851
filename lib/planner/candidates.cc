#include "planner/candidates.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "call/tag.h"
#include "planner/cuts.h"
#include "planner/planned_ranks.h"
#include "planner/pricer.h"
#include "schedule/shares.h"
#include "schedule/simulator.h"

namespace goss {

namespace {

using schedule::directShares;
using schedule::Links;
using schedule::pairShares;
using schedule::Simulation;

/// On WAN links, payloads smaller than this are not fragmented, however large the message is.
constexpr double kMinPayloadBytes = 32 << 10;
/// Steps that the search may simulate for one question. Candidates whose turn comes when they are spent keep their
/// simplest form.
constexpr std::uint64_t kStepBudget = 400'000;
/// Steps that the search may simulate for one question with Effort::thorough, which also tunes candidates that cannot
/// win, because the caller wants to see their prices.
constexpr std::uint64_t kThoroughStepBudget = 4'000'000;
/// A candidate is not simulated if its estimate, or its price by formula, is so many times the best price.
constexpr double kFarOff = 1.25;
/// Over links of two levels formulas price the candidates. Among up to kRanksOfNear ranks the search then simulates the
/// most promising candidates, in kStepsOfNear steps at most; to build the schedules of more ranks would take longer
/// than all formulas. A long call is worth more steps: kStepsASecond for each second that it takes, up to kMaxSeconds.
constexpr std::uint64_t kStepsOfNear = 6'000;
constexpr double kStepsASecond = 50'000;
constexpr double kMaxSeconds = 2;
constexpr int kRanksOfNear = 256;

/// The search for one question: tunes the candidates that a Pricer prices. Keeps the budget and the best price so far.
class Search {
 public:
  /// `structure` is LinkStructure::of(links).
  Search(const Question& question, const Links& links, LinkStructure structure, Effort effort = Effort::choose,
         PriceMemo* memo = nullptr)
      : question_(question),
        links_(links),
        effort_(effort),
        size_(links.size()),
        pricer_(question, links, std::move(structure), effort, memo) {}

  std::vector<Candidate> run(std::span<const Algorithm* const> algorithms) {
    std::vector<Candidate> variants;
    for (const Algorithm* algorithm : algorithms) {
      for (Candidate& variant : legalVariants(question_, *algorithm, links_, pricer_.byFormula()))
        variants.push_back(std::move(variant));
    }
    if (pricer_.byFormula()) return runByFormulas(std::move(variants));
    const std::vector<Outcome> outcomes = priceAll(variants);
    std::vector<Candidate> found;
    std::vector<std::size_t> pruned;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (outcomes[i] == Outcome::failed) continue;
      if (outcomes[i] == Outcome::pruned) pruned.push_back(found.size());
      found.push_back(std::move(variants[i]));
    }
    if (effort_ == Effort::thorough) refine(found, pruned);
    confirm(found);
    return found;
  }

  bool priceAgain(Candidate& candidate) {
    if (pricer_.simulateWhole(candidate)) return true;
    return pricer_.byFormula() ? pricer_.formulas().price(candidate) : pricer_.priceByLevel(candidate, false);
  }

 private:
  enum class Outcome : std::uint8_t { failed, priced, pruned };

  /// Prices all variants by formulas, and those without one by simulation.
  std::vector<Candidate> runByFormulas(std::vector<Candidate> variants) {
    const ClosedForm closed = pricer_.formulas();
    double least_s = best_s_;
    std::vector<bool> priced;
    for (Candidate& variant : variants) {
      priced.push_back(closed.tune(variant));
      if (priced.back()) least_s = std::min(least_s, variant.price_s);
    }
    const bool over_levels = pricer_.hasLevels();
    if (over_levels) best_s_ = kFarOff * least_s;
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (priced[i] || price(variants[i])) found.push_back(std::move(variants[i]));
    }
    if (over_levels && size_ <= kRanksOfNear) simulateNear(found, least_s);
    return found;
  }

  /// Simulates the candidates that may be the cheapest, the most promising first, until the next one would take more
  /// steps than a call of `call_s` seconds is worth.
  void simulateNear(std::vector<Candidate>& found, double call_s) {
    const auto worth = static_cast<std::uint64_t>(kStepsASecond * std::min(call_s, kMaxSeconds));
    const std::uint64_t most = std::max(kStepsOfNear, worth);
    double least_s = std::numeric_limits<double>::infinity();
    const auto before = [](const Candidate& a, const Candidate& b) {
      return a.extrapolated != b.extrapolated ? a.extrapolated : a.price_s < b.price_s;
    };
    const std::uint64_t spent = pricer_.spent();
    while (!found.empty()) {
      Candidate& next = *std::min_element(found.begin(), found.end(), before);
      if (!next.extrapolated || next.price_s > kFarOff * least_s) return;
      const std::uint64_t steps = pricer_.expectedSteps(next) * std::min(next.fragments, kWindow);
      if (pricer_.spent() - spent + steps > most || !pricer_.simulateWhole(next)) return;
      least_s = std::min(least_s, next.price_s);
    }
  }

  /// Simulates the variants of few steps, then those of the others whose estimates come near the best price.
  std::vector<Outcome> priceAll(std::vector<Candidate>& variants) {
    std::vector<Outcome> outcomes(variants.size(), Outcome::failed);
    const auto priceOne = [&](std::size_t i) {
      pruned_ = false;
      if (price(variants[i])) outcomes[i] = pruned_ ? Outcome::pruned : Outcome::priced;
    };
    std::vector<std::pair<double, std::size_t>> estimates;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (pricer_.isCostly(variants[i])) {
        estimates.emplace_back(pricer_.estimate(variants[i]) ? variants[i].price_s : 0, i);
      } else {
        priceOne(i);
      }
    }
    std::sort(estimates.begin(), estimates.end());
    for (const auto& [estimated_s, i] : estimates) {
      if (estimated_s > kFarOff * best_s_) {
        outcomes[i] = Outcome::pruned;
      } else {
        priceOne(i);
      }
    }
    return outcomes;
  }

  [[nodiscard]] std::uint64_t maxBlocks() const { return goss::maxBlocks(question_); }

  /// Prices the candidate and improves its parameters. False: it cannot be priced.
  bool price(Candidate& candidate) {
    if (candidate.algorithm->traits().pipelined) {
      if (!pricer_.priceBlocks(candidate)) return false;
      pricer_.isCostly(candidate) ? searchBlocks(candidate) : tryBlocks(candidate);
    } else if (pricer_.expectedSteps(candidate) > pricer_.maxStepsFor(candidate)) {
      if (!pricer_.priceByLevel(candidate, true) && !pricer_.extrapolate(candidate)) return false;
    } else {
      const std::vector<Schedule> schedules = pricer_.planAll(candidate);
      if (schedules.empty() || !pricer_.simulate(candidate, schedules)) return false;
      cut(candidate, schedules);
    }
    best_s_ = std::min(best_s_, candidate.price_s);
    return true;
  }

  void cut(Candidate& candidate, const std::vector<Schedule>& schedules) {
    const bool unequal = question_.collective == Collective::allReduce && question_.bytes > 0 && !pricer_.isUniform() &&
                         static_cast<int>(schedules.size()) == size_; // Else ranks are alike.
    const bool pairs = candidate.algorithm->traits().pairs_groups;
    Candidate overlapped = candidate;
    Candidate shared = candidate;
    if (unequal && takeShares(shared, pairs ? pairShares(links_, shared.group_size) : directShares(links_), schedules))
      keepIfWorthwhile(candidate, shared);
    tryFragments(candidate, schedules);
    tryWarmFragments(candidate, schedules);
    // Shares by which the halves of a fragment overlap are better only if the vector is cut into fragments.
    const bool direct = unequal && candidate.algorithm->name() == "direct";
    if (!direct || !takeShares(overlapped, schedule::overlappedShares(links_), schedules)) return;
    tryFragments(overlapped, schedules);
    keepIfWorthwhile(candidate, overlapped);
  }

  /// Tunes the candidates that hopeless() left whole, so that a caller who compares sees their best prices. None of
  /// them becomes the cheapest.
  void refine(std::vector<Candidate>& found, const std::vector<std::size_t>& pruned) {
    best_s_ = std::numeric_limits<double>::infinity();
    budget_ = kThoroughStepBudget;
    for (const std::size_t index : pruned) {
      Candidate& candidate = found[index];
      if (candidate.algorithm->traits().pipelined) {
        tryBlocks(candidate);
      } else {
        tryFragments(candidate, pricer_.planAll(candidate));
      }
    }
  }

  /// A candidate may be the cheapest only because its price was extrapolated from a pipeline's first blocks. Simulates
  /// the cheapest one whole, and then the one that has become the cheapest, until that was simulated already.
  /// Effort::thorough simulates all of them whole.
  void confirm(std::vector<Candidate>& found) {
    const auto confirmed = [&](Candidate& candidate) {
      return Pricer::isLongPipeline(candidate) && pricer_.simulateWhole(candidate);
    };
    const auto cheaper = [](const Candidate& a, const Candidate& b) { return a.price_s < b.price_s; };
    if (effort_ == Effort::thorough) std::for_each(found.begin(), found.end(), confirmed);
    while (!found.empty() && confirmed(*std::min_element(found.begin(), found.end(), cheaper))) {
    }
  }

  /// Whether no fragmentation can make the candidate the best, because its busiest port alone takes longer than the
  /// best candidate. This test cannot be made for a pipeline over unequal links, because blocks after the first may use
  /// other ports.
  [[nodiscard]] bool hopeless(const Candidate& candidate) {
    const bool ways_differ = candidate.algorithm->traits().pipelined && !pricer_.isUniform();
    const bool is = candidate.least_s > best_s_ && !ways_differ;
    pruned_ = pruned_ || is;
    return is;
  }

  static void keepIfWorthwhile(Candidate& candidate, Candidate& trial) {
    if (trial.price_s < candidate.price_s * kWorthwhile) candidate = std::move(trial);
  }
  [[nodiscard]] Candidate inParts(const Candidate& candidate, std::uint32_t parts) const {
    return goss::inParts(candidate, parts, question_, links_);
  }

  /// Doubles the candidate's number of blocks while that gains. If it never did, halves the number while that loses
  /// little.
  void searchBlocks(Candidate& candidate) {
    const std::uint32_t first = candidate.blocks;
    const auto priced = [&](Candidate& trial) { return pricer_.spent() <= budget_ && pricer_.priceBlocks(trial); };
    for (bool better = true; better && 2 * candidate.blocks <= maxBlocks() && !hopeless(candidate);) {
      Candidate trial = inParts(candidate, 2 * candidate.blocks);
      better = priced(trial) && trial.price_s < candidate.price_s * kWorthwhile;
      if (better) candidate = std::move(trial);
    }
    for (bool as_good = candidate.blocks == first; as_good && candidate.blocks > 1 && !hopeless(candidate);) {
      Candidate trial = inParts(candidate, candidate.blocks / 2);
      as_good = priced(trial) && trial.price_s * kWorthwhile <= candidate.price_s;
      if (as_good) candidate = std::move(trial);
    }
  }

  void tryBlocks(Candidate& candidate) {
    tryParts(candidate, maxBlocks(), [&](std::uint32_t blocks) -> std::optional<Candidate> {
      if (hopeless(candidate)) return std::nullopt;
      Candidate trial = inParts(candidate, blocks);
      return pricer_.spent() <= budget_ && pricer_.priceBlocks(trial) ? std::optional(std::move(trial)) : std::nullopt;
    });
  }

  /// The largest number of fragments whose payloads have kMinPayloadBytes, where that matters.
  [[nodiscard]] std::uint64_t maxFragments(const Candidate& candidate, const std::vector<Schedule>& schedules) const {
    if (!question_.compressed || !pricer_.far()) return kMaxFragments;
    const std::uint64_t largest = largestMessage(schedules, shapeFor(question_, candidate, size_));
    const double payload = static_cast<double>(largest) * question_.codec.payload_ratio;
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(payload / kMinPayloadBytes), 1, kMaxFragments);
  }

  void tryFragments(Candidate& candidate, const std::vector<Schedule>& schedules) {
    const std::uint64_t largest = largestMessage(schedules, shapeFor(question_, candidate, size_));
    const std::uint64_t most = std::min(maxFragments(candidate, schedules), largest / kMinFragmentedBytes);
    tryParts(candidate, most, [&](std::uint32_t fragments) { return inFragments(candidate, fragments, schedules); });
  }

  void tryWarmFragments(Candidate& candidate, const std::vector<Schedule>& schedules) {
    if (!streams(question_) || hopeless(candidate)) return;
    const std::uint64_t most = std::min(maxFragments(candidate, schedules), question_.bytes / kWarmBytes);
    tryWarmParts(candidate, most,
                 [&](std::uint32_t fragments) { return inFragments(candidate, fragments, schedules); });
  }

  /// The candidate in so many fragments, with its price. nullopt: it cannot be the best, or too few steps are left to
  /// simulate it.
  std::optional<Candidate> inFragments(const Candidate& candidate, std::uint32_t fragments,
                                       const std::vector<Schedule>& schedules) {
    if (hopeless(candidate) || pricer_.spent() + kWindow * stepsOf(schedules) > budget_) return std::nullopt;
    Candidate trial = inParts(candidate, fragments);
    return pricer_.simulate(trial, schedules) ? std::optional(std::move(trial)) : std::nullopt;
  }

  /// Gives share c of the vector to rank c, or pair c, and prices the candidate. (The price shows it if the algorithm
  /// assigns chunks to other ranks.) False, with the candidate unchanged: `shares` is empty, the algorithm takes none,
  /// or too few steps are left.
  bool takeShares(Candidate& candidate, std::vector<double> shares, const std::vector<Schedule>& schedules) {
    const bool takes =
        candidate.algorithm->traits().pairs_groups || schedules[0].chunk_count == static_cast<std::uint32_t>(size_);
    if (!takes || shares.empty() || schedules[0].partition != Partition::even ||
        pricer_.spent() + stepsOf(schedules) > budget_)
      return false;
    std::swap(candidate.weights, shares);
    const bool priced = pricer_.simulate(candidate, schedules);
    if (!priced) std::swap(candidate.weights, shares);
    return priced;
  }

  const Question& question_;
  const Links& links_;
  const Effort effort_;
  const int size_;
  Pricer pricer_;
  std::uint64_t budget_ = kStepBudget;
  bool pruned_ = false; ///< hopeless() left the current candidate whole.
  double best_s_ = std::numeric_limits<double>::infinity();
};

} // namespace

std::vector<Candidate> priceCandidates(const Question& question, std::span<const Algorithm* const> algorithms,
                                       const Links& links, Effort effort, PriceMemo* memo) {
  LinkStructure structure = memo != nullptr ? memo->structureOf(links) : LinkStructure::of(links);
  return Search(question, links, std::move(structure), effort, memo).run(algorithms);
}

bool priceAgain(const Question& question, Candidate& candidate, const Links& links) {
  return Search(question, links, LinkStructure::of(links)).priceAgain(candidate);
}

Result<double> priceOver(const Question& question, const Candidate& candidate, const Links& links) {
  const Symmetry symmetry = symmetryOf(question, candidate, links, links.period());
  const std::vector<Schedule> schedules = planAll(question, candidate, links, symmetry);
  if (schedules.empty()) return Status::error(GOSS_ERR_UNSUPPORTED, "no legal schedule");
  const Result<Simulation> result = schedule::simulate(schedules, shapeFor(question, candidate, links.size()), links,
                                                       optionsFor(question, candidate, symmetry));
  if (!result.isOk()) return result.status();
  return result.value().finish_s;
}

} // namespace goss

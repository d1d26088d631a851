#include "planner/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "call/tag.h"
#include "planner/closed_form.h"
#include "planner/cuts.h"
#include "planner/extrapolation.h"
#include "planner/planned_ranks.h"
#include "schedule/placement.h"
#include "schedule/shares.h"
#include "schedule/simulator.h"

namespace goss {

namespace {

using schedule::directShares;
using schedule::Links;
using schedule::pairShares;
using schedule::Shape;
using schedule::Simulation;

/// On WAN links, payloads smaller than this are not fragmented, however large the message is.
constexpr double kMinPayloadBytes = 32 << 10;
/// Losses that the model does not know, of WAN flows whose rate is unknown, as parts of the time that the bytes take.
/// Flows that meet in front of a rank lose packets and slow down in turns; the slowest of them ends the collective. 4
/// ranks at 500 Mbit/s and 50 ms one way, 64 MiB: with three partners at a time 2.3 s, and at 1 % of loss 3.8 s, with
/// one partner each way 1.8 and 2.1 s, where 1.7 s are possible.
constexpr double kMeetingLoss = 0.25;
/// With one partner each way a rank waits for its predecessor time and again, and congestion control takes the
/// resulting rate for the path's. At 1000 Mbit/s and 50 ms 1.2 s, and with a loss of 1 % 2.8 s, where 0.9 are possible.
constexpr double kHeldUpLoss = 0.12;
/// Steps of all simulated ranks together that one simulation may have: where links repeat, and where each differs.
constexpr std::uint64_t kMaxStepsAlike = 8'000;
constexpr std::uint64_t kMaxSteps = 40'000;
/// Of a pipeline with more steps the first blocks are simulated; each of the others takes as long as the last of them.
constexpr std::uint64_t kMaxPipelineSteps = 2'000;
constexpr std::uint32_t kFirstBlocks = 8;
/// Simulated steps of all trials for one question; candidates that are left when the budget is spent keep their
/// simplest form.
constexpr std::uint64_t kStepBudget = 400'000;
/// Additional steps for candidates that cannot win, when the caller wants to see their prices.
constexpr std::uint64_t kThoroughStepBudget = 4'000'000;
/// Where ranks are interchangeable, a candidate of which more ranks than this must be simulated is estimated first,
/// from the prices of so few ranks, or of more if their steps are few, and of a half and a quarter of them; and it is
/// not simulated at all when the estimate is kFarOff times the best price.
constexpr std::size_t kFewSimulated = 16;
constexpr std::uint32_t kStepsForEstimate = 600;
constexpr double kFarOff = 1.25;
/// Over links of two levels formulas price the candidates, and the search then simulates the most promising ones in up
/// to kStepsOfNear steps, among up to kRanksOfNear ranks: to make the schedules of more takes longer than all formulas.
/// A long call is worth more steps: kStepsASecond for each second that it takes, up to kMostSeconds.
constexpr std::uint64_t kStepsOfNear = 6'000;
constexpr double kStepsASecond = 50'000;
constexpr double kMostSeconds = 2;
constexpr int kRanksOfNear = 256;
/// Where one rank stands for all, the prices of more steps follow from so many ranks, a half and a quarter of them.
constexpr std::uint64_t kMaxStepsOfOne = 1'200;
constexpr int kRanksOfOne = 128;
/// Among more ranks that are interchangeable formulas take the place of simulations; among fewer they err more.
constexpr int kSimulatedRanks = 8;

/// The search for one question. Keeps the budget and the best price so far.
class Search {
 public:
  /// `structure`: that of the links.
  Search(const Question& question, const Links& links, LinkStructure structure, Effort effort = Effort::choose,
         PriceMemo* memo = nullptr)
      : question_(question),
        links_(links),
        effort_(effort),
        memo_(question.compressed ? nullptr : memo),
        size_(links.size()),
        structure_(std::move(structure)),
        period_(structure_.period),
        uniform_(period_ == 1),
        max_steps_(period_ < size_ ? kMaxStepsAlike : kMaxSteps) {}

  std::vector<Candidate> run(std::span<const Algorithm* const> algorithms) {
    std::vector<Candidate> variants;
    for (const Algorithm* algorithm : algorithms) {
      for (Candidate& variant : legalVariants(question_, *algorithm, links_, byFormula()))
        variants.push_back(std::move(variant));
    }
    if (byFormula()) return formed(std::move(variants));
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
    if (simulateWhole(candidate)) return true;
    return byFormula() ? form().price(candidate) : priceByLevel(candidate, false);
  }

 private:
  enum class Outcome : std::uint8_t { failed, priced, pruned };

  /// Whether formulas price the candidates instead of simulations. Losses over long distances depend on schedules where
  /// all ranks are wide apart.
  [[nodiscard]] bool byFormula() const {
    if (effort_ != Effort::choose || size_ <= kSimulatedRanks || question_.compressed) return false;
    return structure_.levels.has_value() ? structure_.levels->alike : !far() && ClosedForm::holdsOver(links_);
  }
  [[nodiscard]] ClosedForm form() const {
    return {question_, links_, structure_.levels.has_value() ? &*structure_.levels : nullptr};
  }
  /// Prices what takes too many steps to simulate over links of two levels. False: those are others.
  bool priceByLevel(Candidate& candidate, bool tunes) const {
    const bool knows = structure_.levels.has_value() && size_ > kSimulatedRanks && !question_.compressed;
    if (!knows || !candidate.order.empty()) return false;
    return tunes ? form().tune(candidate) : form().price(candidate);
  }

  /// Prices all variants by formulas, and those without one by simulation.
  std::vector<Candidate> formed(std::vector<Candidate> variants) {
    const ClosedForm closed = form();
    double least_s = best_s_;
    std::vector<bool> priced;
    for (Candidate& variant : variants) {
      priced.push_back(closed.tune(variant));
      if (priced.back()) least_s = std::min(least_s, variant.price_s);
    }
    const bool over_levels = structure_.levels.has_value();
    if (over_levels) best_s_ = kFarOff * least_s;
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (priced[i] || price(variants[i])) found.push_back(std::move(variants[i]));
    }
    if (over_levels && size_ <= kRanksOfNear) simulateNear(found, least_s);
    return found;
  }

  /// Simulates those that may be the cheapest, the most promising first, as far as that takes few steps for a call of
  /// `call_s` seconds.
  void simulateNear(std::vector<Candidate>& found, double call_s) {
    const auto worth = static_cast<std::uint64_t>(kStepsASecond * std::min(call_s, kMostSeconds));
    const std::uint64_t most = std::max(kStepsOfNear, worth);
    double least_s = std::numeric_limits<double>::infinity();
    const auto before = [](const Candidate& a, const Candidate& b) {
      return a.extrapolated != b.extrapolated ? a.extrapolated : a.price_s < b.price_s;
    };
    for (spent_ = 0; !found.empty();) {
      Candidate& next = *std::min_element(found.begin(), found.end(), before);
      if (!next.extrapolated || next.price_s > kFarOff * least_s) return;
      const std::uint64_t steps = expectedSteps(next) * std::min(next.fragments, kWindow);
      if (spent_ + steps > most || !simulateWhole(next)) return;
      least_s = std::min(least_s, next.price_s);
    }
  }

  /// Prices what is cheap to simulate, then the others by their estimates, so that most of these are not simulated.
  std::vector<Outcome> priceAll(std::vector<Candidate>& variants) {
    std::vector<Outcome> outcomes(variants.size(), Outcome::failed);
    const auto priceOne = [&](std::size_t i) {
      pruned_ = false;
      if (price(variants[i])) outcomes[i] = pruned_ ? Outcome::pruned : Outcome::priced;
    };
    std::vector<std::pair<double, std::size_t>> estimates;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (isCostly(variants[i])) {
        estimates.emplace_back(estimate(variants[i]) ? variants[i].price_s : 0, i);
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

  /// Whether ranks are interchangeable, but many must be simulated.
  [[nodiscard]] bool isCostly(const Candidate& candidate) const {
    return effort_ == Effort::choose && uniform_ && !question_.compressed && simulatedRanks(candidate) > kFewSimulated;
  }
  [[nodiscard]] std::size_t simulatedRanks(const Candidate& candidate) const {
    return schedule::ranksToSimulate(symmetryOf(candidate), size_).size();
  }

  /// Prices the candidate by few ranks. False: it cannot be.
  bool estimate(Candidate& candidate) {
    if (!candidate.algorithm->traits().pipelined) return extrapolate(candidate);
    // The best number of blocks grows with the hops of the longest path, between the logarithm of the ranks and all.
    Candidate few = candidate;
    Candidate many = candidate;
    few.blocks = blocksFor(std::bit_width(static_cast<unsigned>(size_)));
    many.blocks = blocksFor(size_);
    if (!priceByFew(few)) return false;
    const bool both = many.blocks != few.blocks && priceByFew(many);
    candidate = both && many.price_s < few.price_s ? std::move(many) : std::move(few);
    return true;
  }

  bool priceByFew(Candidate& candidate) {
    const bool all = candidate.group_size == 0 && size_ <= mostForEstimate(candidate);
    return all ? priceBlocks(candidate) : extrapolate(candidate);
  }
  /// The largest number of ranks, or groups, of which all are simulated for an estimate.
  [[nodiscard]] static int mostForEstimate(const Candidate& candidate) {
    const std::uint32_t ranks = candidate.group_size > 0 ? 0 : kStepsForEstimate / (2 * candidate.blocks);
    return static_cast<int>(std::max<std::uint32_t>(std::bit_floor(ranks), kFewSimulated));
  }

  /// The best power of two blocks for a pipeline of so many hops.
  [[nodiscard]] std::uint32_t blocksFor(int hops) const {
    const schedule::LinkPrice& price = links_.price(0, 1);
    const double hop_s = price.latency_s + price.overhead_s;
    const double bytes_s = static_cast<double>(question_.bytes) / price.bandwidth_bytes_per_s;
    const double best = hop_s > 0 ? std::sqrt(hops * bytes_s / hop_s) : 1;
    const double most = std::max(1.0, static_cast<double>(mostBlocks()));
    return std::bit_floor(static_cast<std::uint32_t>(std::clamp(best * 1.4, 1.0, most)));
  }
  [[nodiscard]] std::uint64_t mostBlocks() const { return goss::mostBlocks(question_); }
  [[nodiscard]] Symmetry symmetryOf(const Candidate& candidate) const {
    return goss::symmetryOf(question_, candidate, links_, period_);
  }
  [[nodiscard]] std::vector<Schedule> planAll(const Candidate& candidate) const {
    return goss::planAll(question_, candidate, links_, symmetryOf(candidate));
  }
  /// Steps of all ranks that planAll() plans, if each had as many as rank 0.
  [[nodiscard]] std::uint64_t expectedSteps(const Candidate& candidate) const {
    const auto steps = [&](const Candidate& one) { return stepsOfOne(question_, one, size_); };
    if (candidate.blocks <= 2 * kFirstBlocks) return steps(candidate) * simulatedRanks(candidate);
    // Schedules of many blocks are not made to count their steps.
    Candidate few = candidate;
    few.blocks = kFirstBlocks;
    const std::uint64_t first = steps(few);
    few.blocks = 2 * kFirstBlocks;
    const std::uint64_t second = steps(few);
    const std::uint64_t more = (candidate.blocks - few.blocks) * (second - first) / kFirstBlocks;
    return (second + more) * simulatedRanks(candidate);
  }

  /// Prices the candidate and improves its parameters. False: it cannot be priced.
  bool price(Candidate& candidate) {
    if (candidate.algorithm->traits().pipelined) {
      if (!priceBlocks(candidate)) return false;
      isCostly(candidate) ? searchBlocks(candidate) : tryBlocks(candidate);
    } else if (expectedSteps(candidate) > maxStepsFor(candidate)) {
      if (!priceByLevel(candidate, true) && !extrapolate(candidate)) return false;
    } else {
      const std::vector<Schedule> schedules = planAll(candidate);
      if (schedules.empty() || !simulate(candidate, schedules)) return false;
      cut(candidate, schedules);
    }
    best_s_ = std::min(best_s_, candidate.price_s);
    return true;
  }

  void cut(Candidate& candidate, const std::vector<Schedule>& schedules) {
    const bool unequal = question_.collective == Collective::allReduce && question_.bytes > 0 && !uniform_ &&
                         static_cast<int>(schedules.size()) == size_; // Else ranks are alike.
    const bool pairs = candidate.algorithm->traits().pairs_groups;
    Candidate overlapped = candidate;
    Candidate shared = candidate;
    if (unequal && takeShares(shared, pairs ? pairShares(links_, shared.group_size) : directShares(links_), schedules))
      keepIfWorthwhile(candidate, shared);
    tryFragments(candidate, schedules);
    tryWarmFragments(candidate, schedules);
    // Shares for fragments whose halves overlap are better only when the vector is cut.
    const bool direct = unequal && candidate.algorithm->name() == "direct";
    if (!direct || !takeShares(overlapped, schedule::overlappedShares(links_), schedules)) return;
    tryFragments(overlapped, schedules);
    keepIfWorthwhile(candidate, overlapped);
  }

  [[nodiscard]] std::uint64_t maxStepsFor(const Candidate& candidate) const {
    const bool one = uniform_ && effort_ == Effort::choose && size_ > kRanksOfOne && simulatedRanks(candidate) == 1;
    return one ? kMaxStepsOfOne : max_steps_;
  }

  /// Prices the candidate with the blocks that it has.
  bool priceBlocks(Candidate& candidate) {
    if (memo_ == nullptr || !candidate.order.empty() || !candidate.weights.empty()) return priceBlocksAnew(candidate);
    const PriceMemo::Key key(candidate.algorithm, size_, question_.root, candidate.group_size, candidate.blocks,
                             question_.bytes);
    // A remembered price spends the steps of its simulation again, so that the choice does not depend on earlier calls.
    if (const PriceMemo::Price* known = memo_->find(key)) {
      candidate = known->candidate;
      spent_ += known->steps;
      return true;
    }
    const std::uint64_t before = spent_;
    const bool priced = priceBlocksAnew(candidate);
    if (priced) memo_->keep(key, {candidate, spent_ - before});
    return priced;
  }

  bool priceBlocksAnew(Candidate& candidate) {
    const std::uint64_t steps = expectedSteps(candidate);
    if (candidate.blocks > kFirstBlocks && steps > kMaxPipelineSteps) return priceLongPipeline(candidate);
    if (steps > max_steps_) return priceByLevel(candidate, false) || extrapolate(candidate);
    const std::vector<Schedule> schedules = planAll(candidate);
    return !schedules.empty() && simulate(candidate, schedules);
  }

  /// Prices the first blocks, and adds for each of the others what those of the second half took, or the busiest port.
  bool priceLongPipeline(Candidate& candidate) {
    Candidate first = candidate;
    Candidate middle = candidate;
    if (!priceFirstBlocks(first, kFirstBlocks) || !priceFirstBlocks(middle, kFirstBlocks / 2)) return false;
    const double second_half_s = std::max(first.price_s - middle.price_s, first.least_s - middle.least_s);
    const double each_s = second_half_s / (kFirstBlocks - kFirstBlocks / 2);
    const std::uint32_t blocks = candidate.blocks;
    candidate = std::move(first);
    candidate.price_s += (blocks - kFirstBlocks) * each_s;
    candidate.least_s *= static_cast<double>(blocks) / kFirstBlocks;
    candidate.most_bytes_sent = candidate.most_bytes_sent * blocks / kFirstBlocks;
    candidate.most_messages_sent = candidate.most_messages_sent * blocks / kFirstBlocks;
    candidate.blocks = blocks;
    candidate.extrapolated = true;
    return true;
  }

  bool priceFirstBlocks(Candidate& candidate, std::uint32_t blocks) {
    Question question = question_;
    question.bytes = question.bytes * blocks / candidate.blocks;
    candidate.blocks = blocks;
    return priceAmong(question, links_, candidate);
  }

  /// Prices the candidate as it stands for another question or over other links.
  bool priceAmong(const Question& question, const Links& links, Candidate& candidate) {
    const bool same = &links == &links_;
    // Which of many ranks that differ stand for all is not remembered.
    PriceMemo* const memo = same || uniform_ ? memo_ : nullptr;
    Search search(question, links, same ? structure_ : LinkStructure::of(links), effort_, memo);
    const bool priced = search.priceBlocks(candidate);
    spent_ += search.spent_;
    return priced;
  }

  /// Tunes the candidates that were left whole because no fragmentation could make them the best; it still cannot.
  void refine(std::vector<Candidate>& found, const std::vector<std::size_t>& pruned) {
    best_s_ = std::numeric_limits<double>::infinity();
    budget_ = kThoroughStepBudget;
    for (const std::size_t index : pruned) {
      Candidate& candidate = found[index];
      if (candidate.algorithm->traits().pipelined) {
        tryBlocks(candidate);
      } else {
        tryFragments(candidate, planAll(candidate));
      }
    }
  }

  /// Simulates whole what only its first blocks made the cheapest, until nothing is cheaper; thoroughly: all that can
  /// be.
  void confirm(std::vector<Candidate>& found) {
    const auto confirmed = [&](Candidate& candidate) {
      const bool long_pipeline = candidate.extrapolated && candidate.blocks > kFirstBlocks;
      return long_pipeline && simulateWhole(candidate);
    };
    const auto cheaper = [](const Candidate& a, const Candidate& b) { return a.price_s < b.price_s; };
    if (effort_ == Effort::thorough) std::for_each(found.begin(), found.end(), confirmed);
    while (!found.empty() && confirmed(*std::min_element(found.begin(), found.end(), cheaper))) {
    }
  }

  /// False: it has too many steps, or no legal schedule.
  bool simulateWhole(Candidate& candidate) {
    if (expectedSteps(candidate) > kMaxSteps) return false;
    const std::vector<Schedule> schedules = planAll(candidate);
    return !schedules.empty() && stepsOf(schedules) <= kMaxSteps && simulate(candidate, schedules);
  }

  bool simulate(Candidate& candidate, const std::vector<Schedule>& schedules) {
    schedule::SimulationOptions options;
    options.fragments = candidate.fragments;
    options.window = candidate.window;
    options.codec = question_.codec;
    if (static_cast<int>(schedules.size()) < size_) options.symmetry = symmetryOf(candidate);
    const std::uint64_t steps = std::max<std::uint64_t>(1, stepsOf(schedules));
    options.detailed_fragments =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(max_steps_ / steps, 4, options.detailed_fragments));
    spent_ += steps * std::min(options.detailed_fragments, options.fragments);
    const Result<Simulation> result =
        schedule::simulate(schedules, shapeFor(question_, candidate, size_), links_, options);
    if (!result.isOk()) return false;
    candidate.price_s = result.value().finish_s;
    candidate.extrapolated = false;
    candidate.least_s = result.value().least_s;
    candidate.critical_rank = result.value().critical_rank;
    candidate.most_bytes_sent = 0;
    candidate.most_messages_sent = 0;
    for (const schedule::RankTraffic& rank : result.value().ranks) {
      candidate.most_bytes_sent = std::max(candidate.most_bytes_sent, rank.bytes_sent);
      candidate.most_messages_sent = std::max(candidate.most_messages_sent, rank.messages_sent);
    }
    candidate.price_s += distanceLoss(candidate, schedules);
    return true;
  }

  [[nodiscard]] bool far() const { return size_ > 1 && links_.price(0, 1).latency_s >= kFar_s; }

  /// The loss of WAN flows of unknown rate; flows that are paced to a line are known to fit.
  [[nodiscard]] double distanceLoss(const Candidate& candidate, const std::vector<Schedule>& schedules) const {
    if (question_.compressed || !uniform_ || size_ < 3 || !far()) return 0;
    const bool paced = !question_.uneven && paceFor(links_, schedules[0], shapeFor(question_, candidate, size_)) > 0;
    if (paced) return 0;
    const bool alone = std::all_of(schedules.begin(), schedules.end(), hasOneReceiver);
    return (alone ? kHeldUpLoss : kMeetingLoss) * static_cast<double>(candidate.most_bytes_sent) /
           links_.price(0, 1).bandwidth_bytes_per_s;
  }

  /// Whether no fragmentation can make the candidate the best. Where links differ, the blocks of a pipeline may take
  /// other ways than the first, so that more blocks may need less of the busiest port.
  [[nodiscard]] bool hopeless(const Candidate& candidate) {
    const bool ways_differ = candidate.algorithm->traits().pipelined && !uniform_;
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

  /// From the number of blocks that the candidate has: doubles it while that gains, else halves it while that loses
  /// little.
  void searchBlocks(Candidate& candidate) {
    const std::uint32_t first = candidate.blocks;
    const auto priced = [&](Candidate& trial) { return spent_ <= budget_ && priceBlocks(trial); };
    for (bool better = true; better && 2 * candidate.blocks <= mostBlocks() && !hopeless(candidate);) {
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
    tryParts(candidate, mostBlocks(), [&](std::uint32_t blocks) -> std::optional<Candidate> {
      if (hopeless(candidate)) return std::nullopt;
      Candidate trial = inParts(candidate, blocks);
      return spent_ <= budget_ && priceBlocks(trial) ? std::optional(std::move(trial)) : std::nullopt;
    });
  }

  /// The number of fragments above which payloads become too small.
  [[nodiscard]] std::uint64_t mostFragments(const Candidate& candidate, const std::vector<Schedule>& schedules) const {
    if (!question_.compressed || !far()) return kMaxFragments;
    const std::uint64_t largest = largestMessage(schedules, shapeFor(question_, candidate, size_));
    const double payload = static_cast<double>(largest) * question_.codec.payload_ratio;
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(payload / kMinPayloadBytes), 1, kMaxFragments);
  }

  void tryFragments(Candidate& candidate, const std::vector<Schedule>& schedules) {
    const std::uint64_t largest = largestMessage(schedules, shapeFor(question_, candidate, size_));
    const std::uint64_t most = std::min(mostFragments(candidate, schedules), largest / kMinFragmentedBytes);
    tryParts(candidate, most, [&](std::uint32_t fragments) { return inFragments(candidate, fragments, schedules); });
  }

  void tryWarmFragments(Candidate& candidate, const std::vector<Schedule>& schedules) {
    if (!streams(question_) || hopeless(candidate)) return;
    const std::uint64_t most = std::min(mostFragments(candidate, schedules), question_.bytes / kWarmBytes);
    tryWarmParts(candidate, most,
                 [&](std::uint32_t fragments) { return inFragments(candidate, fragments, schedules); });
  }

  /// The candidate, priced; nothing when that cannot be the best, or the budget does not last for so many fragments.
  std::optional<Candidate> inFragments(const Candidate& candidate, std::uint32_t fragments,
                                       const std::vector<Schedule>& schedules) {
    if (hopeless(candidate) || spent_ + kWindow * stepsOf(schedules) > budget_) return std::nullopt;
    Candidate trial = inParts(candidate, fragments);
    return simulate(trial, schedules) ? std::optional(std::move(trial)) : std::nullopt;
  }

  /// Rank c, or pair c, is to own share c; where an algorithm assigns chunks differently, the price shows it. False,
  /// and the candidate is as before: there are no shares, or the algorithm takes none.
  bool takeShares(Candidate& candidate, std::vector<double> shares, const std::vector<Schedule>& schedules) {
    const bool takes =
        candidate.algorithm->traits().pairs_groups || schedules[0].chunk_count == static_cast<std::uint32_t>(size_);
    if (!takes || shares.empty() || schedules[0].partition != Partition::even || spent_ + stepsOf(schedules) > budget_)
      return false;
    std::swap(candidate.weights, shares);
    const bool priced = simulate(candidate, schedules);
    if (!priced) std::swap(candidate.weights, shares);
    return priced;
  }

  /// The numbers of ranks from whose prices that of all is extrapolated: in fewer groups where ranks are
  /// interchangeable, else in as many groups of fewer ranks, unless `keeps_groups` becomes false: groups are too small.
  [[nodiscard]] std::vector<int> smallerSizes(const Candidate& candidate, bool& keeps_groups) const {
    keeps_groups = !uniform_;
    if (uniform_ && effort_ == Effort::choose) {
      const int most = simulatedRanks(candidate) == 1 ? kRanksOfOne : mostForEstimate(candidate);
      return fewerRanks(question_, candidate, size_, most);
    }
    std::vector<int> sizes = halvedRanks(question_, candidate, size_, max_steps_ / 2, keeps_groups);
    if (uniform_ || sizes.size() == 3) return sizes;
    keeps_groups = false;
    return halvedRanks(question_, candidate, size_, max_steps_, false);
  }

  /// Prices the candidate by so many ranks that stand for all. False: it cannot be.
  bool priceSome(const Question& question, int size, bool keeps_groups, Candidate& candidate) {
    candidate.order.clear();
    if (!keeps_groups) return priceAmong(question, firstRanks(links_, size), candidate);
    const int groups = candidate.group_size > 0 ? size_ / candidate.group_size : 0;
    candidate = amongSome(candidate, size, size_);
    return priceAmong(question, someRanks(links_, size, groups), candidate);
  }

  /// Prices s, s/2 and s/4 ranks, and all ranks as these suggest.
  bool extrapolate(Candidate& candidate) {
    bool keeps_groups = false;
    const std::vector<int> sizes = smallerSizes(candidate, keeps_groups);
    if (sizes.size() < 3) return false;
    std::array<double, 3> prices_s{};
    Question question = question_;
    question.root = 0;
    for (std::size_t i = 3; i-- > 0;) {
      Candidate smaller = candidate;
      if (!priceSome(question, sizes[i], keeps_groups, smaller)) return false;
      prices_s[i] = smaller.price_s;
      if (i > 0) continue;
      candidate.least_s = smaller.least_s;
      candidate.most_bytes_sent = smaller.most_bytes_sent;
      candidate.most_messages_sent = smaller.most_messages_sent;
    }
    const double least_s = structure_.levels.has_value() ? form().leastOf(candidate) : 0;
    candidate.price_s = std::max(extrapolatedPrice(prices_s, sizes[0], size_), least_s);
    candidate.extrapolated = true;
    return true;
  }

  const Question& question_;
  const Links& links_;
  const Effort effort_;
  PriceMemo* const memo_; ///< Null: nothing is remembered.
  const int size_;
  const LinkStructure structure_;
  const int period_; ///< Period of the links.
  const bool uniform_;
  const std::uint64_t max_steps_;
  std::uint64_t spent_ = 0;
  std::uint64_t budget_ = kStepBudget;
  bool pruned_ = false; ///< The current candidate was left whole as hopeless.
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
  schedule::SimulationOptions options;
  options.symmetry = symmetryOf(question, candidate, links, links.period());
  const std::vector<Schedule> schedules = planAll(question, candidate, links, options.symmetry);
  options.fragments = candidate.fragments;
  options.window = candidate.window;
  options.codec = question.codec;
  if (schedules.empty()) return Status::error(GOSS_ERR_UNSUPPORTED, "no legal schedule");
  const Result<Simulation> result =
      schedule::simulate(schedules, shapeFor(question, candidate, links.size()), links, options);
  if (!result.isOk()) return result.status();
  return result.value().finish_s;
}

} // namespace goss

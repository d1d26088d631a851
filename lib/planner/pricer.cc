#include "planner/pricer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "planner/cuts.h"
#include "planner/extrapolation.h"
#include "planner/planned_ranks.h"
#include "schedule/simulator.h"

namespace goss {

namespace {

using schedule::Links;
using schedule::Simulation;

/// The simulator knows no packet loss. Where the rate of a WAN path is unknown, Pricer adds this share of the time that
/// the bytes of the busiest rank take: flows of several senders that meet in front of one rank lose packets and slow
/// down in turns, and the slowest of them ends the collective. 4 ranks at 500 Mbit/s and 50 ms one way, 64 MiB: an
/// exchange with three partners at a time took 2.3 s (at 1 % loss 3.8 s), one with one partner each way 1.8 s (2.1 s),
/// where 1.7 s are possible.
constexpr double kMeetingLoss = 0.25;
/// Pricer adds this share where each rank sends to one partner only: the rank waits for its predecessor time and again,
/// and congestion control takes the resulting rate for that of the path. At 1000 Mbit/s and 50 ms such an all-reduce
/// took 1.2 s, and at 1 % loss 2.8 s, where 0.9 s are possible.
constexpr double kHeldUpLoss = 0.12;
/// One simulation may have this many steps, of all simulated ranks together, where links repeat.
constexpr std::uint64_t kMaxStepsAlike = 8'000;
/// One simulation may have this many steps, of all ranks together, where links do not repeat.
constexpr std::uint64_t kMaxSteps = 40'000;
/// Pricer simulates only the first kFirstBlocks blocks of a pipeline with more steps, and prices every further block at
/// the mean of the second half of those.
constexpr std::uint64_t kMaxPipelineSteps = 2'000;
constexpr std::uint32_t kFirstBlocks = 8;
/// Where ranks are interchangeable, Pricer estimates a candidate first if it would have to simulate more than
/// kFewSimulated ranks of it. The estimate follows from the prices of that many ranks (or of more, up to
/// kStepsForEstimate steps), and of a half and a quarter of them.
constexpr std::size_t kFewSimulated = 16;
constexpr std::uint32_t kStepsForEstimate = 600;
/// Where one rank stands for all, a candidate of more than kMaxStepsOfOne steps gets its price from the prices of
/// kRanksOfOne ranks, and of a half and a quarter of them.
constexpr std::uint64_t kMaxStepsOfOne = 1'200;
constexpr int kRanksOfOne = 128;
/// Formulas replace simulations among more interchangeable ranks than this; among fewer they err more.
constexpr int kSimulatedRanks = 8;

} // namespace

Pricer::Pricer(const Question& question, const Links& links, LinkStructure structure, Effort effort, PriceMemo* memo)
    : question_(question),
      links_(links),
      effort_(effort),
      memo_(question.compressed ? nullptr : memo),
      size_(links.size()),
      structure_(std::move(structure)),
      uniform_(structure_.period == 1),
      max_steps_(structure_.period < size_ ? kMaxStepsAlike : kMaxSteps) {}

bool Pricer::isLongPipeline(const Candidate& candidate) {
  return candidate.extrapolated && candidate.blocks > kFirstBlocks;
}

bool Pricer::byFormula() const {
  if (effort_ != Effort::choose || size_ <= kSimulatedRanks || question_.compressed) return false;
  return structure_.levels.has_value() ? structure_.levels->alike : !far() && ClosedForm::holdsOver(links_);
}

ClosedForm Pricer::formulas() const {
  return {question_, links_, structure_.levels.has_value() ? &*structure_.levels : nullptr};
}

bool Pricer::priceByLevel(Candidate& candidate, bool tunes) const {
  const bool knows = structure_.levels.has_value() && size_ > kSimulatedRanks && !question_.compressed;
  if (!knows || !candidate.order.empty()) return false;
  return tunes ? formulas().tune(candidate) : formulas().price(candidate);
}

bool Pricer::isCostly(const Candidate& candidate) const {
  return effort_ == Effort::choose && uniform_ && !question_.compressed && simulatedRanks(candidate) > kFewSimulated;
}

std::size_t Pricer::simulatedRanks(const Candidate& candidate) const {
  return schedule::ranksToSimulate(symmetryOf(candidate), size_).size();
}

bool Pricer::estimate(Candidate& candidate) {
  if (!candidate.algorithm->traits().pipelined) return extrapolate(candidate);
  // The best number of blocks grows with the hops of the longest path: at least log2(ranks), at most all ranks.
  Candidate few = candidate;
  Candidate many = candidate;
  few.blocks = blocksFor(static_cast<int>(std::bit_width(static_cast<unsigned>(size_))));
  many.blocks = blocksFor(size_);
  if (!priceByFew(few)) return false;
  const bool both = many.blocks != few.blocks && priceByFew(many);
  candidate = both && many.price_s < few.price_s ? std::move(many) : std::move(few);
  return true;
}

bool Pricer::priceByFew(Candidate& candidate) {
  const bool all = candidate.group_size == 0 && size_ <= maxForEstimate(candidate);
  return all ? priceBlocks(candidate) : extrapolate(candidate);
}

int Pricer::maxForEstimate(const Candidate& candidate) {
  const std::uint32_t ranks = candidate.group_size > 0 ? 0 : kStepsForEstimate / (2 * candidate.blocks);
  return static_cast<int>(std::max<std::uint32_t>(std::bit_floor(ranks), kFewSimulated));
}

std::uint32_t Pricer::blocksFor(int hops) const {
  const schedule::LinkPrice& price = links_.price(0, 1);
  const double hop_s = price.latency_s + price.overhead_s;
  const double bytes_s = static_cast<double>(question_.bytes) / price.bandwidth_bytes_per_s;
  const double best = hop_s > 0 ? std::sqrt(hops * bytes_s / hop_s) : 1;
  const double most = std::max(1.0, static_cast<double>(maxBlocks(question_)));
  return std::bit_floor(static_cast<std::uint32_t>(std::clamp(best * 1.4, 1.0, most)));
}

Symmetry Pricer::symmetryOf(const Candidate& candidate) const {
  return goss::symmetryOf(question_, candidate, links_, structure_.period);
}

std::vector<Schedule> Pricer::planAll(const Candidate& candidate) const {
  return goss::planAll(question_, candidate, links_, symmetryOf(candidate));
}

std::uint64_t Pricer::expectedSteps(const Candidate& candidate) const {
  const auto steps = [&](const Candidate& one) { return stepsOfOne(question_, one, size_); };
  if (candidate.blocks <= 2 * kFirstBlocks) return steps(candidate) * simulatedRanks(candidate);
  // To build the schedules of many blocks only to count their steps would take too long.
  Candidate few = candidate;
  few.blocks = kFirstBlocks;
  const std::uint64_t first = steps(few);
  few.blocks = 2 * kFirstBlocks;
  const std::uint64_t second = steps(few);
  const std::uint64_t more = (candidate.blocks - few.blocks) * (second - first) / kFirstBlocks;
  return (second + more) * simulatedRanks(candidate);
}

std::uint64_t Pricer::maxStepsFor(const Candidate& candidate) const {
  const bool one = uniform_ && effort_ == Effort::choose && size_ > kRanksOfOne && simulatedRanks(candidate) == 1;
  return one ? kMaxStepsOfOne : max_steps_;
}

bool Pricer::priceBlocks(Candidate& candidate) {
  if (memo_ == nullptr || !candidate.order.empty() || !candidate.weights.empty()) return priceBlocksAnew(candidate);
  const PriceMemo::Key key(candidate.algorithm, size_, question_.root, candidate.group_size, candidate.blocks,
                           question_.bytes);
  // A remembered price counts the steps of its simulation again, so that the choice does not depend on earlier calls.
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

bool Pricer::priceBlocksAnew(Candidate& candidate) {
  const std::uint64_t steps = expectedSteps(candidate);
  if (candidate.blocks > kFirstBlocks && steps > kMaxPipelineSteps) return priceLongPipeline(candidate);
  if (steps > max_steps_) return priceByLevel(candidate, false) || extrapolate(candidate);
  const std::vector<Schedule> schedules = planAll(candidate);
  return !schedules.empty() && simulate(candidate, schedules);
}

bool Pricer::priceLongPipeline(Candidate& candidate) {
  Candidate first = candidate;
  Candidate middle = candidate;
  constexpr std::uint32_t kHalf = kFirstBlocks / 2;
  if (!priceFirstBlocks(first, kFirstBlocks) || !priceFirstBlocks(middle, kHalf)) return false;
  const double second_half_s = std::max(first.price_s - middle.price_s, first.least_s - middle.least_s);
  const double each_s = second_half_s / (kFirstBlocks - kHalf);
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

bool Pricer::priceFirstBlocks(Candidate& candidate, std::uint32_t blocks) {
  Question question = question_;
  question.bytes = question.bytes * blocks / candidate.blocks;
  candidate.blocks = blocks;
  return priceAmong(question, links_, candidate);
}

bool Pricer::priceAmong(const Question& question, const Links& links, Candidate& candidate) {
  const bool same = &links == &links_;
  // PriceMemo's key does not say which of many unlike ranks were simulated, so their prices are not remembered.
  PriceMemo* const memo = same || uniform_ ? memo_ : nullptr;
  Pricer pricer(question, links, same ? structure_ : LinkStructure::of(links), effort_, memo);
  const bool priced = pricer.priceBlocks(candidate);
  spent_ += pricer.spent_;
  return priced;
}

bool Pricer::simulateWhole(Candidate& candidate) {
  if (expectedSteps(candidate) > kMaxSteps) return false;
  const std::vector<Schedule> schedules = planAll(candidate);
  return !schedules.empty() && stepsOf(schedules) <= kMaxSteps && simulate(candidate, schedules);
}

bool Pricer::simulate(Candidate& candidate, const std::vector<Schedule>& schedules) {
  const bool is_subset = static_cast<int>(schedules.size()) < size_;
  schedule::SimulationOptions options =
      optionsFor(question_, candidate, is_subset ? symmetryOf(candidate) : Symmetry());
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

bool Pricer::far() const { return size_ > 1 && links_.price(0, 1).latency_s >= kFar_s; }

double Pricer::distanceLoss(const Candidate& candidate, const std::vector<Schedule>& schedules) const {
  if (question_.compressed || !uniform_ || size_ < 3 || !far()) return 0;
  const bool paced = !question_.uneven && paceFor(links_, schedules[0], shapeFor(question_, candidate, size_)) > 0;
  if (paced) return 0;
  const bool alone = std::all_of(schedules.begin(), schedules.end(), hasOneReceiver);
  return (alone ? kHeldUpLoss : kMeetingLoss) * static_cast<double>(candidate.most_bytes_sent) /
         links_.price(0, 1).bandwidth_bytes_per_s;
}

std::vector<int> Pricer::smallerSizes(const Candidate& candidate, bool& keeps_groups) const {
  keeps_groups = !uniform_;
  if (uniform_ && effort_ == Effort::choose) {
    const int most = simulatedRanks(candidate) == 1 ? kRanksOfOne : maxForEstimate(candidate);
    return fewerRanks(question_, candidate, size_, most);
  }
  std::vector<int> sizes = halvedRanks(question_, candidate, size_, max_steps_ / 2, keeps_groups);
  if (uniform_ || sizes.size() == 3) return sizes;
  keeps_groups = false;
  return halvedRanks(question_, candidate, size_, max_steps_, false);
}

bool Pricer::priceSome(const Question& question, int size, bool keeps_groups, Candidate& candidate) {
  candidate.order.clear();
  if (!keeps_groups) return priceAmong(question, firstRanks(links_, size), candidate);
  const int groups = candidate.group_size > 0 ? size_ / candidate.group_size : 0;
  candidate = amongSome(candidate, size, size_);
  return priceAmong(question, someRanks(links_, size, groups), candidate);
}

bool Pricer::extrapolate(Candidate& candidate) {
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
  const double least_s = structure_.levels.has_value() ? formulas().leastOf(candidate) : 0;
  candidate.price_s = std::max(extrapolatedPrice(prices_s, sizes[0], size_), least_s);
  candidate.extrapolated = true;
  return true;
}

} // namespace goss

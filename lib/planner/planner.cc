#include "planner/planner.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/wire.h"
#include "boards/board_price.h"
#include "call/tag.h"
#include "planner/oversubscription.h"
#include "schedule/contract.h"

namespace goss {

namespace {

/// For fewer bytes, every algorithm's price is its latencies.
constexpr std::uint64_t kTinyBytes = 256;
constexpr std::uint64_t kTinyClassBytes = 64;
/// What arrives from a neighbour is still in a cache when it is added.
constexpr std::uint64_t kNeighborFragmentBytes = 1 << 20;
/// A caller may give other weights in every call: only so many plans are remembered.
constexpr std::size_t kMaxNeighborPlans = 256;

/// 0: no bytes, 1: tiny, else the nearest power of two (rounded down up to 1.5 times of it).
std::uint32_t sizeClassOf(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  if (bytes <= kTinyBytes) return 1;
  const auto exponent = static_cast<std::uint32_t>(std::bit_width(bytes) - 1);
  const std::uint64_t half = std::uint64_t{1} << (exponent - 1);
  return exponent + (bytes >= 3 * half ? 1 : 0);
}

std::uint64_t middleOfClass(std::uint32_t size_class) {
  if (size_class == 0) return 0;
  return size_class == 1 ? kTinyClassBytes : std::uint64_t{1} << size_class;
}

int rootOf(const PlanKey& key) { return key.root < 0 ? 0 : key.root; }

std::uint64_t bytesOf(const PlanKey& key, int size) {
  const std::uint64_t count = key.uneven ? key.count / static_cast<std::uint64_t>(size) : key.count;
  return count * key.element_bytes;
}

std::uint64_t codecsOf(const PlanKey& key) { return key.codecs != nullptr ? key.codecs->hash + key.element_bytes : 0; }

/// Over boards each rank writes its contribution once; those are the messages that count.
Candidate onBoard(const Algorithm& flat, const PlanKey& key, int size, std::uint64_t bytes, std::uint64_t board_bytes) {
  Candidate candidate;
  candidate.algorithm = &flat;
  candidate.on_board = true;
  candidate.price_s = flatPrice_s(key.collective, size, bytes, board_bytes);
  candidate.most_messages_sent = 1;
  candidate.most_bytes_sent = maxBytesWritten(key.collective, size, bytes);
  return candidate;
}

std::uint64_t hashOf(const Neighborhood& neighborhood) {
  std::uint64_t hash = std::bit_cast<std::uint64_t>(neighborhood.self_weight);
  for (const std::vector<Neighbor>* list : {&neighborhood.sources, &neighborhood.destinations}) {
    hash = detail::mix64(hash + list->size());
    for (const auto& [rank, weight] : *list) {
      hash = detail::mix64(hash + static_cast<std::uint64_t>(rank));
      hash = detail::mix64(hash ^ std::bit_cast<std::uint64_t>(weight));
    }
  }
  return hash;
}

/// Plan::hash of the candidate's plan.
std::uint64_t hashOf(const Candidate& candidate) {
  base::WireWriter writer;
  writer.text(candidate.algorithm->name()).integer(candidate.blocks).integer(candidate.fragments);
  writer.integer(candidate.group_size);
  writer.integer(static_cast<std::uint8_t>(candidate.between_nodes));
  writer.integer(static_cast<std::uint8_t>(candidate.on_board));
  writer.integer(static_cast<std::uint32_t>(candidate.order.size()));
  for (const int rank : candidate.order)
    writer.integer(rank);
  for (const double weight : candidate.weights)
    writer.integer(std::bit_cast<std::uint64_t>(weight));
  const std::string bytes = writer.take();
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t pack(const PlanKey& key, std::uint32_t size_class, int root, bool fits_board) {
  return static_cast<std::uint64_t>(key.collective) | std::uint64_t{key.uneven} << 8 | std::uint64_t{fits_board} << 9 |
         std::uint64_t{size_class} << 16 | static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
}

} // namespace

Planner::Planner(int rank, schedule::Links links, const Catalogue& catalogue, Preferences preferred,
                 std::uint64_t board_bytes)
    : rank_(rank),
      links_(std::move(links)),
      catalogue_(catalogue),
      preferred_(std::move(preferred)),
      board_bytes_(board_bytes),
      uniform_(links_.uniform()) {
  assert(rank >= 0 && rank < size());
}

void Planner::useLinks(schedule::Links links) {
  assert(links.size() == size());
  links_ = std::move(links);
  uniform_ = links_.uniform();
  preferred_.among_equals.clear(); // The preference corrects built-in prices only.
  preferred_.in_turns = false;
  plans_.clear();
  neighbor_plans_.clear();
  choices_.clear();
  schedules_.clear();
  memo_.clear();
}

Result<std::shared_ptr<const Plan>> Planner::plan(const PlanKey& key) {
  const std::uint32_t size_class = sizeClassOf(bytesOf(key, size()));
  const std::uint64_t packed = pack(key, size_class, rootOf(key), fitsBoard(key));
  if (isAmongNeighbors(key.collective)) return planAmongNeighbors(key, size_class, packed);
  if (const auto known = plans_.find(CacheKeyView{packed, codecsOf(key), key.algorithm}); known != plans_.end())
    return known->second;

  const Result<const Candidate*> chosen = choose(key, size_class);
  if (!chosen.isOk()) return chosen.status();
  const Question question = questionOf(key, middleOfClass(size_class));
  Candidate candidate = *chosen.value();
  cutAsPreferred(candidate, question);
  auto plan = std::make_shared<Plan>();
  plan->schedule = scheduleOf(question, candidate);
  plan->fragments = candidate.fragments;
  plan->window = candidate.window;
  plan->weights = candidate.weights;
  if (!key.uneven) plan->pace_bytes_per_s = paceFor(links_, *plan->schedule, shapeFor(question, candidate, size()));
  plan->algorithm = candidate.algorithm->name();
  plan->hash = hashOf(candidate);
  plan->on_board = candidate.on_board;
  plan->predicted_s = candidate.price_s;
  plans_.emplace(CacheKey{packed, codecsOf(key), std::string(key.algorithm)}, plan);
  return std::shared_ptr<const Plan>(std::move(plan));
}

/// Sizes are no part of a schedule: the plans of other size classes share it.
std::shared_ptr<const Schedule> Planner::scheduleOf(const Question& question, const Candidate& candidate) {
  const auto make = [&] {
    return std::make_shared<const Schedule>(scheduleFor(question, candidate, links_, rank_).schedule);
  };
  if (question.compressed || !candidate.order.empty()) return make();
  std::shared_ptr<const Schedule>& known =
      schedules_[{candidate.algorithm, candidate.blocks, candidate.group_size, question.root, question.uneven}];
  if (known == nullptr) known = make();
  return known;
}

/// There is one way to exchange with neighbours, and a rank knows no neighbours but its own: so fragments, which must
/// be equal at both ends, follow from what all ranks know.
Result<std::shared_ptr<const Plan>> Planner::planAmongNeighbors(const PlanKey& key, std::uint32_t size_class,
                                                                std::uint64_t packed) {
  const Result<std::string_view> name = nameFor(key);
  if (!name.isOk()) return name.status();
  const std::uint64_t hash = codecsOf(key) ^ hashOf(*key.neighborhood);
  const auto known = neighbor_plans_.find(CacheKeyView{packed, hash, key.algorithm});
  if (known != neighbor_plans_.end() && known->second->schedule->neighborhood == *key.neighborhood)
    return known->second;
  if (neighbor_plans_.size() >= kMaxNeighborPlans) neighbor_plans_.clear();

  const Question question = questionOf(key, middleOfClass(size_class));
  Candidate candidate;
  candidate.algorithm = catalogue_.of(key.collective).front();
  const std::uint64_t parts = question.bytes / kNeighborFragmentBytes; // 0 with counts that only two ranks know
  candidate.fragments = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts, 1, kMaxFragments));
  candidate.window = windowFor(links_, question, candidate.fragments);
  cutAsPreferred(candidate, question);
  PlanRequest request = requestFor(question, candidate, size(), rank_);
  request.neighborhood = key.neighborhood;
  Schedule schedule = candidate.algorithm->plan(request);
  if (question.compressed) schedule = schedule::compressed(schedule).schedule;
  auto plan = std::make_shared<Plan>();
  plan->schedule = std::make_shared<const Schedule>(std::move(schedule));
  plan->fragments = candidate.fragments;
  plan->window = candidate.window;
  plan->algorithm = candidate.algorithm->name();
  plan->hash = hashOf(candidate);
  neighbor_plans_.insert_or_assign(CacheKey{packed, hash, std::string(key.algorithm)}, plan);
  return std::shared_ptr<const Plan>(std::move(plan));
}

Question Planner::questionOf(const PlanKey& key, std::uint64_t bytes) const {
  Question question{key.collective, rootOf(key), key.uneven, bytes};
  if (key.codecs == nullptr) return question;
  question.compressed = true;
  const Result<std::string_view> name = nameFor(key);
  question.adds_payloads = schedule::reduces(key.collective) && key.codecs->addsPayloads(size());
  question.may_requantize =
      question.adds_payloads || key.codecs->mayRequantize() || (name.isOk() && !name.value().empty());
  question.stochastic = key.codecs->contribution.codec->traits().stochastic;
  question.codec = key.codecs->price(key.element_bytes);
  return question;
}

void Planner::cutAsPreferred(Candidate& candidate, const Question& question) const {
  if (preferred_.fragment_bytes == 0) return;
  const std::uint64_t parts = (question.bytes + preferred_.fragment_bytes - 1) / preferred_.fragment_bytes;
  const auto count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(parts, 1, kMaxFragments));
  candidate = inParts(candidate, count, question, links_);
}

Result<const Candidate*> Planner::choose(const PlanKey& key, std::uint32_t size_class) {
  // Where ranks are interchangeable the root changes the schedule, but no price.
  PlanKey rootless = key;
  if (uniform_) rootless.root = 0;
  const std::uint64_t packed = pack(rootless, size_class, rootOf(rootless), fitsBoard(key));
  const auto known = choices_.find(CacheKeyView{packed, codecsOf(key), key.algorithm});
  if (known != choices_.end()) return &known->second;
  const std::uint64_t bytes = middleOfClass(size_class);
  Result<std::vector<Candidate>> candidates = priced(rootless, bytes, Effort::choose, &memo_);
  if (!candidates.isOk()) return candidates.status();
  Candidate& best = candidates.value()[indexOfTaken(candidates.value(), key, bytes)];
  return &choices_.emplace(CacheKey{packed, codecsOf(key), std::string(key.algorithm)}, std::move(best)).first->second;
}

Result<Candidate> Planner::choice(const PlanKey& key) {
  const Result<const Candidate*> chosen = choose(key, sizeClassOf(bytesOf(key, size())));
  if (!chosen.isOk()) return chosen.status();
  return *chosen.value();
}

Result<std::vector<Candidate>> Planner::candidates(const PlanKey& key) const {
  return priced(key, bytesOf(key, size()), Effort::thorough, nullptr);
}

std::size_t Planner::cheapest(const std::vector<Candidate>& candidates, std::string_view among_equals) {
  double least_s = candidates.front().price_s;
  for (const Candidate& candidate : candidates)
    least_s = std::min(least_s, candidate.price_s);
  const auto as_good = [&](const Candidate& candidate) { return candidate.price_s <= least_s * kAsGood; };
  auto chosen = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.algorithm->name() == among_equals && as_good(candidate);
  });
  if (chosen == candidates.end()) chosen = std::find_if(candidates.begin(), candidates.end(), as_good);
  return static_cast<std::size_t>(chosen - candidates.begin());
}

/// The index of the candidate that plan() takes of these for the key.
std::size_t Planner::indexOfTaken(const std::vector<Candidate>& candidates, const PlanKey& key,
                                  std::uint64_t bytes) const {
  const std::string_view in_turns = algorithmWhenOversubscribed(key, bytes);
  const auto taken = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return !in_turns.empty() && candidate.algorithm->name() == in_turns;
  });
  if (taken != candidates.end()) return static_cast<std::size_t>(taken - candidates.begin());
  return cheapest(candidates, preferred_.among_equals);
}

/// An algorithm that is asked for is the only candidate, so it need not be looked for here. For a caller with exact
/// bytes this returns the answer for their size class, as plan() does.
std::string_view Planner::algorithmWhenOversubscribed(const PlanKey& key, std::uint64_t bytes) const {
  if (!preferred_.in_turns || key.codecs != nullptr) return "";
  return goss::algorithmWhenOversubscribed(key.collective, size(), middleOfClass(sizeClassOf(bytes)), fitsBoard(key));
}

Result<std::vector<Candidate>> Planner::priced(const PlanKey& key, std::uint64_t bytes, Effort effort,
                                               PriceMemo* memo) const {
  assert(rootOf(key) < size());
  const Result<std::string_view> name = nameFor(key);
  if (!name.isOk()) return name.status();
  const Question question = questionOf(key, bytes);
  std::vector<const Algorithm*> algorithms;
  const Algorithm* flat = nullptr;
  for (const Algorithm* algorithm : catalogue_.of(key.collective)) {
    const bool is_flat = algorithm->name() == kFlatName;
    // Plans promise the same bits on all ranks; an algorithm that does not must be asked for.
    const bool wanted = name.value().empty() ? algorithm->traits().identical_bits : algorithm->name() == name.value();
    // Compressed, "flat" is an all-gather of payloads, which all ranks add in the same order.
    const bool messages = !is_flat || !name.value().empty() || key.codecs != nullptr;
    if (wanted && is_flat && fitsBoard(key)) {
      flat = algorithm;
    } else if (wanted && (messages || algorithmWhenOversubscribed(key, bytes) == kFlatName)) {
      algorithms.push_back(algorithm);
    }
  }
  if (effort == Effort::choose) keepTaken(algorithms, flat != nullptr, key, bytes);
  std::vector<Candidate> candidates = priceCandidates(question, algorithms, links_, effort, memo);
  if (flat != nullptr) candidates.push_back(onBoard(*flat, key, size(), bytes, board_bytes_));
  if (!candidates.empty()) return candidates;
  if (name.value().empty()) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("no algorithm offers {}{} for {} ranks", schedule::nameOf(key.collective),
                                     key.uneven ? " with uneven blocks" : "", size()));
  }
  const std::string what = fmt::format("{}{} for {} ranks", schedule::nameOf(key.collective),
                                       key.uneven ? " with uneven blocks" : "", size());
  const Algorithm* named = catalogue_.find(key.collective, name.value());
  if (key.codecs == nullptr || named == nullptr || legalVariants(question, *named, links_).empty())
    return refuse(key, name.value(), fmt::format("algorithm '{}' cannot do {}", name.value(), what));
  return refuse(key, name.value(),
                fmt::format("algorithm '{}' cannot do {} with codec '{}': they would end with different bits",
                            name.value(), what, key.codecs->text));
}

/// Leaves out what indexOfTaken() would not name.
void Planner::keepTaken(std::vector<const Algorithm*>& algorithms, bool board_offered, const PlanKey& key,
                        std::uint64_t bytes) const {
  const std::string_view in_turns = algorithmWhenOversubscribed(key, bytes);
  const auto other = [&](const Algorithm* algorithm) { return algorithm->name() != in_turns; };
  const bool on_board = board_offered && in_turns == kFlatName;
  if (on_board || !std::all_of(algorithms.begin(), algorithms.end(), other)) std::erase_if(algorithms, other);
}

/// Decides by the exact size, not by its class: a call that does not fit a board is sent in messages.
bool Planner::fitsBoard(const PlanKey& key) const {
  return board_bytes_ > 0 && size() > 1 && !isAmongNeighbors(key.collective) && key.codecs == nullptr && !key.uneven &&
         maxBytesWritten(key.collective, size(), bytesOf(key, size())) <= board_bytes_;
}

/// The name of the required algorithm: the call's own, else the preferred one where the collective has it; empty: free
/// choice.
Result<std::string_view> Planner::nameFor(const PlanKey& key) const {
  if (key.codecs != nullptr && key.codecs->gathers()) {
    if (key.algorithm.empty() || key.algorithm == kFlatName) return kFlatName;
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("codec '{}' has a momentum, so that payloads are gathered: only by algorithm '{}', not '{}'",
                    key.codecs->text, kFlatName, key.algorithm));
  }
  const std::string_view name = key.algorithm.empty() ? std::string_view(preferred_.algorithm) : key.algorithm;
  if (name.empty() || catalogue_.find(key.collective, name) != nullptr) return name;
  bool elsewhere = false;
  for (const CatalogueEntry& entry : catalogue_.entries())
    elsewhere = elsewhere || entry.algorithm->name() == name;
  if (elsewhere && key.algorithm.empty()) return std::string_view();
  return refuse(key, name, fmt::format("{} has no algorithm '{}'", schedule::nameOf(key.collective), name));
}

Status Planner::refuse(const PlanKey& key, std::string_view name, const std::string& complaint) const {
  Question question{key.collective, rootOf(key), key.uneven, 1}; // questionOf() asks nameFor(), which may be the caller
  question.compressed = key.codecs != nullptr;
  question.adds_payloads = question.compressed && key.codecs->addsPayloads(size());
  std::vector<std::string_view> names;
  for (const Algorithm* algorithm : catalogue_.of(key.collective)) {
    if (algorithm->name() != name && !legalVariants(question, *algorithm, links_).empty())
      names.push_back(algorithm->name());
  }
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{}; use one of: {}", complaint, fmt::join(names, ", ")));
}

} // namespace goss

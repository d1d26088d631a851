#include "runner/plan_trials.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "base/median.h"
#include "base/wire.h"

namespace goss {

namespace {

/// Maximum number of kinds. Calls of further sizes are planned without trials.
constexpr std::size_t kMaxKinds = 16;
/// Planners that no kind uses are kept up to this number of all.
constexpr std::size_t kMaxPlanners = 8;
/// The algorithm that is tried while the rates of some paths are not known: it uses every path.
constexpr std::string_view kExplorer = "direct";
/// Maximum number of proposals of kExplorer. If one call of it leaves the rate of a path unknown, because it sends
/// little there, the next proposal is compared like any other plan.
constexpr int kMaxExplorers = 2;

/// Plans of one algorithm are the same but for noise where owners' shares of the vector differ by less than this, and
/// paces and numbers of fragments by less than these factors.
constexpr double kSameShare = 0.03;
constexpr double kSamePace = 1.1;
constexpr std::uint32_t kSameFragments = 2;
/// In a settled stretch ranks do not report this many of the last calls, which run while rank 0 decides.
constexpr std::uint32_t kInHand = 3;
/// Where a pace holds flows back, a plan for links that are faster by this is tried.
constexpr double kFaster = 2;
/// Flows that share a line are paced to a little more than the line carries (kPaceOfLine in planner/question.cc). So
/// they get less than this part of their pace, unless the line has become faster.
constexpr double kAtPace = 0.97;

std::uint32_t clipped(double value) {
  return static_cast<std::uint32_t>(std::clamp<double>(value, 0, std::numeric_limits<std::uint32_t>::max()));
}

bool knows(const Catalogue& catalogue, std::string_view algorithm) {
  return catalogue.find(Collective::allReduce, algorithm) != nullptr;
}

PlanKey keyOf(std::uint64_t bytes, std::string_view algorithm) {
  PlanKey key;
  key.collective = Collective::allReduce;
  key.count = bytes;
  key.root = -1;
  key.algorithm = algorithm;
  return key;
}

/// Whether each rank is a node of its own.
bool areNodes(const schedule::Links& links) { return static_cast<int>(links.firstOfNodes().size()) == links.size(); }

bool areWithin(double one, double other, double factor) { return one <= factor * other && other <= factor * one; }

bool haveSameShares(const Plan& one, const Plan& other) {
  const auto ranks = static_cast<std::size_t>(one.schedule->size);
  const double equal = 1.0 / static_cast<double>(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double mine = rank < one.weights.size() ? one.weights[rank] : equal;
    const double theirs = rank < other.weights.size() ? other.weights[rank] : equal;
    if (std::abs(mine - theirs) >= kSameShare) return false;
  }
  return true;
}

/// Whether both move the same chunks between the same ranks in the same order.
bool haveSameSteps(const Plan& one, const Plan& other) {
  const std::vector<Step>& steps = one.schedule->steps;
  const std::vector<Step>& others = other.schedule->steps;
  return std::equal(steps.begin(), steps.end(), others.begin(), others.end(),
                    [](const Step& a, const Step& b) { return a.kind == b.kind && a.peer == b.peer; });
}

/// Whether a comparison of these could find no more than noise.
bool areAlike(const Plan& one, const Plan& other) {
  return one.algorithm == other.algorithm && areWithin(one.fragments, other.fragments, kSameFragments) &&
         areWithin(static_cast<double>(one.pace_bytes_per_s), static_cast<double>(other.pace_bytes_per_s), kSamePace) &&
         haveSameShares(one, other) && haveSameSteps(one, other);
}

} // namespace

/// The calls of one number of bytes.
struct PlanTrials::Kind {
  Kind(std::uint64_t all, TrialSeries series_of_calls) : bytes(all), series(std::move(series_of_calls)) {}

  const std::uint64_t bytes;
  std::uint64_t started = 0;

  std::uint64_t stretch = 0; ///< Number of the stretch in which the last call has started.
  TrialPlan plan;            ///< Plan of that stretch, to which the next members belong, too.
  std::uint64_t first = 0;   ///< Number of the stretch's first call.
  std::uint32_t calls = 0;
  std::shared_ptr<const Plan> kept;      ///< Plan of the last stretch of several calls: its execution is kept.
  std::vector<double> seconds;           ///< Durations of those calls of the stretch that have ended.
  std::string runs;                      ///< The algorithm of the last call that was planned.
  bool reported = false;                 ///< This rank has reported the stretch.
  std::vector<ObservedFlow> before;      ///< What flows() returned when the stretch began.
  std::vector<std::vector<double>> seen; ///< By rank: ObservedFlow::seen_bytes_per_s at the end of each call.

  std::optional<TrialSeries::Stretch> next; ///< The next stretch is decided, and no call of it has started.
  std::vector<Ticket*> waiting;             ///< Operations that wait for a decision, in their order.

  // Rank 0 alone uses these members, to decide the next stretch.
  TrialSeries series;
  std::vector<std::optional<Report>> reports;      ///< Reports on the current stretch, by rank.
  std::vector<std::shared_ptr<const Plan>> judged; ///< Plans that were compared since the calls settled last.
  int explorers = 0;                               ///< Proposals without rates since the calls settled last.
  std::optional<FollowedLinks> followed;           ///< Where links that were measured are followed.
  bool held_back = false;                          ///< mayBeHeldBack() when the calls were settled last.
  bool looks = false;                              ///< Proposals look for rates that `followed` cannot see.
  bool noted = false;                              ///< noteAdoption() has been called for this decision.

  [[nodiscard]] std::uint64_t end() const { return first + calls; }
  [[nodiscard]] bool settled() const { return calls == TrialSeries::kSettledCalls; }
  /// The number of calls that have ended when a rank reports.
  [[nodiscard]] std::size_t reportsAfter() const { return settled() ? calls - kInHand : calls; }
};

PlanTrials::PlanTrials(const RunEnvironment& environment, const Peers& peers, const Rules& rules,
                       const schedule::Links& links)
    : environment_(environment), peers_(peers), rules_(rules), links_(1), observed_(1) {
  wanted_ = rules.reason == TrialSeries::Reason::times && areNodes(links);
  if (!wanted_) return; // The prices between all of many ranks would take their memory for nothing.
  links_ = links;
  observed_ = ObservedLinks(links.size());
}

void PlanTrials::follow(const schedule::Links& links) {
  wanted_ = rules_.reason == TrialSeries::Reason::links && areNodes(links);
  if (!wanted_) return;
  follows_ = true;
  links_ = links;
  observed_ = ObservedLinks(links.size());
}

PlanTrials::~PlanTrials() = default;

bool PlanTrials::takes(const Call& call) const {
  if (!wanted_ || call.collective != Collective::allReduce || call.uneven) return false;
  if (call.codecs != nullptr || call.phase_of != nullptr || !call.algorithm.empty()) return false;
  const std::uint64_t bytes = call.payloadBytes();
  return bytes >= kMinBytes && (kinds_.size() < kMaxKinds || kinds_.contains(bytes));
}

PlanTrials::Kind& PlanTrials::kindOf(std::uint64_t bytes) {
  if (const auto known = kinds_.find(bytes); known != kinds_.end()) return *known->second;
  auto kind = std::make_unique<Kind>(
      bytes, TrialSeries([this, bytes](const TrialPlan& used) GOSS_ON_LOOP { return propose(*kinds_.at(bytes), used); },
                         follows_ ? TrialSeries::Reason::links : TrialSeries::Reason::times));
  if (follows_ && peers_.group.rank() == 0) kind->followed.emplace(links_);
  enter(*kind, kind->series.first());
  return *kinds_.emplace(bytes, std::move(kind)).first->second;
}

void PlanTrials::number(Ticket& ticket, std::uint64_t bytes) {
  ticket.kind = &kindOf(bytes);
  ticket.number = ticket.kind->started++;
}

/// The next call is the first of `stretch`.
void PlanTrials::enter(Kind& kind, TrialSeries::Stretch stretch) {
  if (kind.calls > 0) ++kind.stretch;
  kind.first = kind.end();
  kind.calls = stretch.calls;
  kind.plan = std::move(stretch.plan);
  kind.seconds.clear();
  kind.reported = false;
  kind.before = flows();
  kind.seen.assign(kind.before.size(), {});
  kind.reports.assign(static_cast<std::size_t>(links_.size()), std::nullopt);
}

Result<std::shared_ptr<const Plan>> PlanTrials::planFor(Ticket& ticket) {
  Kind& kind = *ticket.kind;
  while (ticket.number >= kind.end()) {
    if (!kind.next.has_value()) {
      kind.waiting.push_back(&ticket);
      return std::shared_ptr<const Plan>();
    }
    enter(kind, *std::exchange(kind.next, std::nullopt));
  }
  ticket.stretch = kind.stretch;
  ticket.hash = hashOf(kind);
  const Result<Planner*> planner = plannerBy(kind.plan.rates);
  if (!planner.isOk()) return planner.status();
  Result<std::shared_ptr<const Plan>> plan = planner.value()->plan(keyOf(kind.bytes, kind.plan.algorithm));
  if (plan.isOk() && kind.calls > 1 && kind.kept != plan.value())
    ticket.replaced = std::exchange(kind.kept, plan.value());
  if (plan.isOk()) kind.runs = plan.value()->algorithm;
  return plan;
}

std::uint32_t PlanTrials::hashOf(const Kind& kind) {
  XXH64_hash_t hash = XXH64(kind.plan.algorithm.data(), kind.plan.algorithm.size(), kind.stretch);
  hash = XXH64(kind.plan.rates.data(), kind.plan.rates.size(), hash);
  return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

bool PlanTrials::keeps(const Ticket& ticket, const Plan& plan) const { return ticket.kind->kept.get() == &plan; }

void PlanTrials::forget(Ticket& ticket) {
  if (ticket.kind != nullptr) std::erase(ticket.kind->waiting, &ticket);
}

std::vector<int> PlanTrials::awaitedFor(const Ticket& ticket) const {
  if (peers_.group.rank() != 0) return {0};
  std::vector<int> ranks;
  for (int rank = 1; ticket.kind != nullptr && rank < links_.size(); ++rank)
    if (!ticket.kind->reports[static_cast<std::size_t>(rank)].has_value()) ranks.push_back(rank);
  return ranks;
}

// ---- What the ranks tell each other --------------------------------------------------------------------------------

std::vector<ObservedFlow> PlanTrials::flows() const {
  std::vector<ObservedFlow> flows;
  for (const int peer : peers_.group.worldRanks()) {
    const PathUse use = environment_.mesh.pathUse(peer);
    flows.push_back({use.bytes, use.busy_s, use.last_rate_bytes_per_s});
  }
  return flows;
}

void PlanTrials::ended(const Ticket& ticket, double seconds) {
  Kind& kind = *ticket.kind;
  if (ticket.stretch != kind.stretch) return;
  if (kind.reported) return;
  kind.seconds.push_back(seconds);
  const std::vector<ObservedFlow> now = flows();
  for (std::size_t rank = 0; rank < now.size(); ++rank)
    kind.seen[rank].push_back(now[rank].seen_bytes_per_s);
  if (kind.seconds.size() >= kind.reportsAfter()) report(kind);
}

void PlanTrials::report(Kind& kind) {
  kind.reported = true;
  const double least_s = *std::min_element(kind.seconds.begin(), kind.seconds.end());
  Report own{kind.settled() ? base::upperMedian(kind.seconds) : least_s, flows()};
  for (std::size_t rank = 0; rank < own.flows.size(); ++rank) {
    own.flows[rank].bytes -= std::min(own.flows[rank].bytes, kind.before[rank].bytes);
    own.flows[rank].busy_s -= kind.before[rank].busy_s;
    own.flows[rank].seen_bytes_per_s = base::upperMedian(kind.seen[rank]);
  }
  if (peers_.group.rank() == 0) return take(kind, 0, std::move(own));
  base::WireWriter writer;
  writer.integer(kind.bytes).integer(clipped(own.seconds * 1e6));
  for (const ObservedFlow& flow : own.flows)
    writer.integer(flow.bytes).integer(clipped(flow.busy_s * 1e6)).integer(clipped(flow.seen_bytes_per_s / 1e3));
  ControlMessage message = peers_.message(ControlMessage::Type::report);
  message.operation = kind.stretch;
  message.text = writer.take();
  peers_.send(0, message);
}

void PlanTrials::handle(int rank, const ControlMessage& message) {
  Status status;
  try { // The progress loop, which calls this, handles no exceptions.
    status = message.type == ControlMessage::Type::report ? handleReport(rank, message) : handleDecision(rank, message);
  } catch (const std::bad_alloc&) {
    status = Status::error(GOSS_ERR_RESOURCE, "out of memory while plans of all-reduces are compared");
  }
  if (!status.isOk()) environment_.fail(status);
}

Status PlanTrials::handleReport(int rank, const ControlMessage& message) {
  base::WireReader reader(message.text);
  const auto bytes = reader.integer<std::uint64_t>();
  Report report;
  report.seconds = 1e-6 * reader.integer<std::uint32_t>();
  for (int peer = 0; peer < links_.size(); ++peer) {
    ObservedFlow flow;
    flow.bytes = reader.integer<std::uint64_t>();
    flow.busy_s = 1e-6 * reader.integer<std::uint32_t>();
    flow.seen_bytes_per_s = 1e3 * reader.integer<std::uint32_t>();
    report.flows.push_back(flow);
  }
  const auto kind = kinds_.find(bytes);
  const bool expected = kind != kinds_.end() && message.operation == kind->second->stretch;
  if (!reader.complete() || !expected || peers_.group.rank() != 0)
    return Status::error(GOSS_ERR_PROTOCOL,
                         fmt::format("{} reports of calls what makes no sense", peers_.group.nameOf(rank)),
                         ErrorScope::communicator, peers_.group.worldRank(rank));
  take(*kind->second, rank, std::move(report));
  return Status::ok();
}

/// Rank 0 has received a report; with the last report of the stretch it decides.
void PlanTrials::take(Kind& kind, int rank, Report report) {
  kind.reports[static_cast<std::size_t>(rank)] = std::move(report);
  const auto is_here = [](const std::optional<Report>& one) { return one.has_value(); };
  if (std::all_of(kind.reports.begin(), kind.reports.end(), is_here)) decide(kind);
}

void PlanTrials::decide(Kind& kind) {
  std::vector<double> seconds;
  std::vector<ObservedFlow> flows;
  for (const std::optional<Report>& report : kind.reports) {
    seconds.push_back(report->seconds);
    flows.insert(flows.end(), report->flows.begin(), report->flows.end());
  }
  if (kind.series.isSettled()) { // Only comparisons need what a path could do earlier.
    observed_.age();
    kind.judged.clear();
    kind.explorers = 0;
  }
  observed_.add(flows, links_);
  // Whole microseconds, as other ranks are told: all record the same.
  const double took_s = 1e-6 * clipped(1e6 * base::upperMedian(std::move(seconds)));
  kind.noted = false;
  TrialSeries::Stretch next = kind.series.next(took_s, observe(kind, flows));
  noteAdoption(kind);
  base::WireWriter writer;
  writer.integer(kind.bytes).integer(next.calls).text(next.plan.algorithm).text(next.plan.rates);
  const std::optional<TrialSeries::Comparison>& ended = kind.series.ended();
  writer.integer(static_cast<std::uint8_t>(ended.has_value()));
  if (ended.has_value()) {
    judge(kind, *ended);
    const TrialFinding finding = findingOf(kind, *ended);
    rules_.log.write(base::LogLevel::info, fmt::format("all_reduce of {} bytes: {}", kind.bytes, finding.text()));
    finding.write(writer);
    record_.add(finding);
  }
  ControlMessage message = peers_.message(ControlMessage::Type::decision);
  message.operation = kind.stretch + 1;
  message.text = writer.take();
  peers_.send(peers_.group.others(), message);
  setNext(kind, std::move(next));
}

Status PlanTrials::handleDecision(int rank, const ControlMessage& message) {
  base::WireReader reader(message.text);
  const auto bytes = reader.integer<std::uint64_t>();
  TrialSeries::Stretch stretch;
  stretch.calls = reader.integer<std::uint32_t>();
  stretch.plan.algorithm = reader.text(TrialFinding::kMaxNameBytes);
  stretch.plan.rates = reader.text(ControlMessage::kMaxTextBytes);
  std::optional<TrialFinding> finding;
  if (reader.integer<std::uint8_t>() != 0) finding = TrialFinding::read(reader);
  const auto kind = kinds_.find(bytes);
  const bool expected = kind != kinds_.end() && message.operation == kind->second->stretch + 1 &&
                        !kind->second->next.has_value() && kind->second->reported;
  if (!reader.complete() || !expected || rank != 0 || stretch.calls < 1 || stretch.calls > TrialSeries::kSettledCalls)
    return Status::error(GOSS_ERR_PROTOCOL,
                         fmt::format("{} decides on plans what makes no sense", peers_.group.nameOf(rank)),
                         ErrorScope::communicator, peers_.group.worldRank(rank));
  if (finding.has_value() && knows(rules_.catalogue, finding->tried) && knows(rules_.catalogue, finding->against)) {
    finding->bytes = bytes;
    finding->call = kind->second->end();
    record_.add(std::move(*finding));
  }
  setNext(*kind->second, std::move(stretch));
  return Status::ok();
}

/// Returns what `flows`, those of the last stretch, show of the links. Called on rank 0 alone.
TrialSeries::Sight PlanTrials::observe(Kind& kind, const std::vector<ObservedFlow>& flows) {
  if (!kind.series.isSettled()) {
    if (kind.followed.has_value()) kind.followed->observeOthers(flows);
    return TrialSeries::Sight::same;
  }
  kind.held_back = mayBeHeldBack(kind);
  if (kind.followed.has_value() && kind.followed->observe(flows)) return TrialSeries::Sight::changed;
  const bool hides = kind.followed.has_value() && kind.followed->hidesRates();
  return kind.held_back || hides ? TrialSeries::Sight::hidden : TrialSeries::Sight::same;
}

/// Forgets earlier flows if a comparison has adopted another plan, by which flows share lines in another way.
void PlanTrials::noteAdoption(Kind& kind) {
  if (!kind.followed.has_value() || kind.noted || !kind.series.ended().has_value()) return;
  kind.noted = true;
  if (!kind.series.ended()->adopted) return;
  kind.followed->forgetFlows();
  if (!kind.looks) return;
  const std::string& rates = kind.series.ended()->tried.rates;
  if (const auto links = rates.empty() ? links_ : ObservedLinks::decode(rates, links_)) kind.followed->use(*links);
}

/// Remembers the plans that a comparison has judged, so that no other comparison runs them again.
void PlanTrials::judge(Kind& kind, const TrialSeries::Comparison& ended) {
  std::vector<TrialPlan> judged;
  if (ended.adopted) judged.push_back(ended.against);
  // A call that only showed what paths can do, over connections that had to find their speed, is no judgement.
  if (!ended.tried.rates.empty() || kind.followed.has_value()) judged.push_back(ended.tried);
  for (const TrialPlan& trial : judged)
    if (std::shared_ptr<const Plan> plan = trialPlan(kind.bytes, trial); plan != nullptr)
      kind.judged.push_back(std::move(plan));
}

/// The record of a comparison that ended with the last call so far, with the names of both plans' algorithms.
TrialFinding PlanTrials::findingOf(const Kind& kind, const TrialSeries::Comparison& ended) {
  const std::shared_ptr<const Plan> tried = trialPlan(kind.bytes, ended.tried);
  const std::shared_ptr<const Plan> against = trialPlan(kind.bytes, ended.against);
  return {kind.bytes,
          kind.end(),
          tried != nullptr ? tried->algorithm : "",
          against != nullptr ? against->algorithm : "",
          ended.tried_s,
          ended.against_s,
          ended.adopted};
}

/// Whether the flows of the last stretch were as fast as their plan's pace allows. Called on rank 0 alone.
bool PlanTrials::mayBeHeldBack(const Kind& kind) const {
  if (!kind.series.isSettled() || kind.kept == nullptr || kind.kept->pace_bytes_per_s == 0) return false;
  // The peer acknowledges what a call sends last one round trip later.
  const double waited_s = static_cast<double>(kind.reportsAfter()) * 2 * links_.price(0, 1).latency_s;
  std::vector<double> rates;
  for (const std::optional<Report>& report : kind.reports)
    for (const ObservedFlow& flow : report->flows)
      if (flow.busy_s > 0)
        rates.push_back(static_cast<double>(flow.bytes) / std::max(flow.busy_s - waited_s, flow.busy_s / 2));
  return !rates.empty() &&
         base::upperMedian(std::move(rates)) >= kAtPace * static_cast<double>(kind.kept->pace_bytes_per_s);
}

void PlanTrials::setNext(Kind& kind, TrialSeries::Stretch stretch) {
  kind.next = std::move(stretch);
  for (Ticket* ticket : std::exchange(kind.waiting, {}))
    environment_.engine.active().markDirty(*ticket->operation);
}

// ---- Plans ---------------------------------------------------------------------------------------------------------

Result<Planner*> PlanTrials::plannerBy(const std::string& rates) {
  std::unique_ptr<Planner>& known = planners_[rates];
  if (known != nullptr) return known.get();
  std::optional<schedule::Links> links = rates.empty() ? links_ : ObservedLinks::decode(rates, links_);
  if (!links.has_value()) {
    planners_.erase(rates);
    return Status::error(GOSS_ERR_PROTOCOL, "the rates of paths that rank 0 tells make no sense");
  }
  known = std::make_unique<Planner>(peers_.group.rank(), std::move(*links), rules_.catalogue);
  Planner* made = known.get();
  for (auto at = planners_.begin(); at != planners_.end() && planners_.size() > kMaxPlanners;) {
    const bool used = at->second.get() == made || at->first.empty() ||
                      std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
                        const Kind& one = *kind.second;
                        return one.plan.rates == at->first || one.series.used().rates == at->first ||
                               (one.next.has_value() && one.next->plan.rates == at->first);
                      });
    at = used ? std::next(at) : planners_.erase(at);
  }
  return made;
}

/// The plan for a vector of `bytes` bytes. Null: it cannot be planned.
std::shared_ptr<const Plan> PlanTrials::trialPlan(std::uint64_t bytes, const TrialPlan& trial) {
  const Result<Planner*> planner = plannerBy(trial.rates);
  if (!planner.isOk()) return nullptr;
  Result<std::shared_ptr<const Plan>> plan = planner.value()->plan(keyOf(bytes, trial.algorithm));
  return plan.isOk() ? plan.take() : nullptr;
}

std::vector<TrialPlan> PlanTrials::propose(Kind& kind, const TrialPlan& used) {
  if (kind.series.ended().has_value()) judge(kind, *kind.series.ended());
  if (kind.followed.has_value()) {
    noteAdoption(kind);
    const FollowedLinks& followed = *kind.followed;
    std::vector<TrialPlan> proposed = proposeBy(kind, used, followed.encode());
    kind.looks = proposed.empty();
    if (proposed.empty() && kind.held_back) proposed = proposeBy(kind, used, followed.encodeTimes(kFaster));
    if (proposed.empty() && followed.hidesRates()) proposed = proposeBy(kind, used, "");
    return proposed;
  }
  const std::string rates = observed_.encode(links_);
  if (!rates.empty()) return proposeBy(kind, used, rates);
  const std::shared_ptr<const Plan> now = trialPlan(kind.bytes, used);
  const bool explores = now != nullptr && now->algorithm != kExplorer && kind.explorers++ < kMaxExplorers;
  return explores ? std::vector<TrialPlan>{{std::string(kExplorer), ""}} : std::vector<TrialPlan>();
}

/// The plan that the planner chooses at these rates, unless it is like the plan in use or was judged already.
std::vector<TrialPlan> PlanTrials::proposeBy(Kind& kind, const TrialPlan& used, const std::string& rates) {
  const std::shared_ptr<const Plan> now = trialPlan(kind.bytes, used);
  const std::shared_ptr<const Plan> best = trialPlan(kind.bytes, {"", rates});
  if (now == nullptr || best == nullptr) return {};
  const auto isNew = [&](const Plan& plan) {
    return !areAlike(plan, *now) && std::none_of(kind.judged.begin(), kind.judged.end(),
                                                 [&](const auto& judged) { return areAlike(plan, *judged); });
  };
  return isNew(*best) ? std::vector<TrialPlan>{{"", rates}} : std::vector<TrialPlan>();
}

// ---- For people ----------------------------------------------------------------------------------------------------

std::string PlanTrials::json() const {
  std::string text = fmt::format(R"({{"compares": {}, "plans_tried": {}, "plans_adopted": {}, "calls": [)", wanted_,
                                 record_.tried(), record_.adopted());
  std::string_view comma;
  for (const auto& [bytes, kind] : kinds_) {
    text += fmt::format(R"({}{{"bytes": {}, "started": {}, "algorithm": "{}", "settled": {}}})",
                        std::exchange(comma, ", "), bytes, kind->started, kind->runs, kind->settled());
  }
  text += R"(], "trials": [)";
  comma = "";
  for (const TrialFinding& found : record_.findings()) {
    text += fmt::format(R"({}{{"bytes": {}, "call": {}, "tried": "{}", "seconds": {:.6f}, )"
                        R"("against": "{}", "against_seconds": {:.6f}, "adopted": {}}})",
                        std::exchange(comma, ", "), found.bytes, found.call, found.tried, found.tried_s, found.against,
                        found.against_s, found.adopted);
  }
  return text + "]}";
}

} // namespace goss

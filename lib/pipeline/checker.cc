#include "pipeline/checker.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "pipeline/invalid.h"
#include "pipeline/walk.h"

namespace goss::pipeline {

namespace {

using Kind = ActionKind;

/// Checks sizes and numbers, so that the code behind it may index without checks.
Status checkShape(const Schedule& s) {
  if (s.ranks < 1 || s.micro_batches < 1 || s.stage_rank.empty()) return invalid("the schedule is empty");
  if (s.per_rank.size() != static_cast<std::size_t>(s.ranks)) {
    return invalid("the schedule has {} ranks, but {} lists of actions", s.ranks, s.per_rank.size());
  }
  std::vector<int> seen(s.stage_rank.size(), 0);
  for (const auto& chain : s.chains) {
    for (const int stage : chain) {
      if (stage < 0 || stage >= s.stages()) return invalid("a chain names stage {} of {}", stage, s.stages());
      ++seen[static_cast<std::size_t>(stage)];
    }
  }
  for (int stage = 0; stage < s.stages(); ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    if (seen[at] != 1) return invalid("stage {} is in {} chains instead of one", stage, seen[at]);
    if (s.stage_rank[at] < 0 || s.stage_rank[at] >= s.ranks) {
      return invalid("stage {} is on rank {}, which does not exist", stage, s.stage_rank[at]);
    }
  }
  return Status::ok();
}

Status checkActions(const Schedule& s) {
  const std::vector<StagePlace> places = stagePlaces(s);
  for (int rank = 0; rank < s.ranks; ++rank) {
    for (const Action& action : s.per_rank[static_cast<std::size_t>(rank)]) {
      if (action.stage >= s.stages()) {
        return invalid("rank {}: {} is about a stage that does not exist", rank, toText(action));
      }
      if (action.micro_batch < 0 || action.micro_batch >= s.micro_batches) {
        return invalid("rank {}: {} is about a micro-batch that does not exist", rank, toText(action));
      }
      if (s.stage_rank[action.stage] != rank) {
        return invalid("rank {}: {} is about a stage of rank {}", rank, toText(action), s.stage_rank[action.stage]);
      }
      if (action.chain != places[action.stage].chain) {
        return invalid("rank {}: {} says chain {}, but its stage is in chain {}", rank, toText(action), action.chain,
                       places[action.stage].chain);
      }
    }
  }
  return Status::ok();
}

/// Which actions of one (stage, micro-batch) are done so far in its rank's list.
struct Progress {
  int version = 0;
  bool forward = false, recompute = false, input = false, weight = false, whole = false;
  bool received_forward = false, received_backward = false, sent_forward = false, sent_backward = false;
  bool stepped = false;
  [[nodiscard]] bool inputDone() const { return input || whole; }
  [[nodiscard]] bool weightDone() const { return weight || whole; }
};

/// State of one stage while its rank's list is read.
struct StageState {
  int steps = 0;         ///< number of steps done
  int covered = -1;      ///< last micro-batch that a step took
  std::vector<int> open; ///< weight gradients computed since the last step
};

/// Reads the list of one rank from the start to the end.
class RankChecker {
 public:
  RankChecker(const Schedule& schedule, int rank, const CheckLimits& limits)
      : s_(schedule),
        places_(stagePlaces(schedule)),
        rank_(rank),
        limits_(limits),
        stages_(schedule.stage_rank.size()),
        progress_(schedule.stage_rank.size() * static_cast<std::size_t>(schedule.micro_batches)),
        last_use_(schedule.stage_rank.size()) {}

  Status run() {
    const std::vector<Action>& order = s_.per_rank[static_cast<std::size_t>(rank_)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (isCompute(order[i].kind)) last_use_[order[i].stage][order[i].version] = i;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (Status status = take(order[i], i); !status.isOk()) return status;
    }
    return checkEnd();
  }
  [[nodiscard]] int peakActivations() const { return peak_; }
  [[nodiscard]] int liveVersions() const { return live_versions_; }

 private:
  Progress& of(const Action& a) { return of(a.stage, a.micro_batch); }
  Progress& of(int stage, int micro_batch) {
    return progress_[static_cast<std::size_t>(stage) * static_cast<std::size_t>(s_.micro_batches) +
                     static_cast<std::size_t>(micro_batch)];
  }
  [[nodiscard]] bool isRemote(int stage, int other) const {
    return other >= 0 &&
           s_.stage_rank[static_cast<std::size_t>(stage)] != s_.stage_rank[static_cast<std::size_t>(other)];
  }
  Status refuse(const Action& action, const char* why) const {
    return invalid("rank {}: {} {}", rank_, toText(action), why);
  }

  Status take(const Action& a, std::size_t position) {
    switch (a.kind) {
      case Kind::forward:
        return takeForward(a, position);
      case Kind::recompute:
        return takeRecompute(a, position);
      case Kind::backward:
      case Kind::backwardInput:
      case Kind::backwardWeight:
        return takeBackward(a, position);
      case Kind::reduce:
        return takesExactly(a);
      case Kind::step:
        return takeStep(a, position);
      default:
        return takeMessage(a);
    }
  }

  Status takeForward(const Action& a, std::size_t position) {
    Progress& p = of(a);
    if (p.forward) return refuse(a, "is done twice");
    if (isRemote(a.stage, places_[a.stage].previous) && !p.received_forward) {
      return refuse(a, "comes before its input is received");
    }
    p.forward = true;
    p.version = a.version;
    if (Status status = useVersion(a, position); !status.isOk()) return status;
    return isRecomputed(a) ? Status::ok() : hold(a);
  }
  Status takeRecompute(const Action& a, std::size_t position) {
    Progress& p = of(a);
    if (!p.forward) return refuse(a, "comes before its forward");
    if (p.recompute) return refuse(a, "is done twice");
    if (p.inputDone()) return refuse(a, "comes after its backward");
    p.recompute = true;
    if (Status status = useVersion(a, position); !status.isOk()) return status;
    return hold(a);
  }
  Status takeBackward(const Action& a, std::size_t position) {
    Progress& p = of(a);
    if (!p.forward) return refuse(a, "comes before its forward");
    if (a.version != p.version) {
      return invalid("rank {}: {} uses version {} of the weights, but its forward used version {}", rank_, toText(a),
                     a.version, p.version);
    }
    const bool is_whole = a.kind == Kind::backward;
    if (a.kind == Kind::backwardWeight) {
      if (!p.input) return refuse(a, "comes before the gradient of the input");
      if (p.weight) return refuse(a, "is done twice");
    } else {
      if (p.inputDone()) return refuse(a, "is a second backward of its micro-batch");
      if (isRecomputed(a) && !p.recompute) return refuse(a, "comes before its recomputation");
      if (isRemote(a.stage, places_[a.stage].next) && !p.received_backward) {
        return refuse(a, "comes before the gradient of its output is received");
      }
    }
    if (Status status = useVersion(a, position); !status.isOk()) return status;
    (is_whole ? p.whole : a.kind == Kind::backwardInput ? p.input : p.weight) = true;
    if (is_whole || a.kind == Kind::backwardWeight) {
      --held_;
      stages_[a.stage].open.push_back(a.micro_batch);
    }
    return Status::ok();
  }

  Status takeMessage(const Action& a) {
    Progress& p = of(a);
    const StagePlace& place = places_[a.stage];
    const bool is_toward_next = a.kind == Kind::sendForward || a.kind == Kind::recvBackward;
    if (!isRemote(a.stage, is_toward_next ? place.next : place.previous)) {
      return refuse(a, "has no other rank at its other end");
    }
    bool& done = a.kind == Kind::sendForward    ? p.sent_forward
                 : a.kind == Kind::recvForward  ? p.received_forward
                 : a.kind == Kind::sendBackward ? p.sent_backward
                                                : p.received_backward;
    if (done) return refuse(a, "is done twice");
    if (a.kind == Kind::sendForward && !p.forward) return refuse(a, "comes before its forward");
    if (a.kind == Kind::sendBackward && !p.inputDone()) return refuse(a, "comes before its backward");
    done = true;
    return Status::ok();
  }

  /// Checks that the open gradients are those of the micro-batches behind the last step up to this one's.
  Status takesExactly(const Action& a) {
    const StageState& state = stages_[a.stage];
    std::vector<int> open = state.open;
    std::sort(open.begin(), open.end());
    int expected = 0;
    for (int k = state.covered + 1; k <= a.micro_batch; ++k) {
      if (!runsHere(a.stage, k)) continue;
      ++expected;
      if (!std::binary_search(open.begin(), open.end(), k)) {
        return invalid("rank {}: {} comes before the gradient of micro-batch {}", rank_, toText(a), k);
      }
    }
    if (static_cast<int>(open.size()) != expected) {
      return invalid("rank {}: {} would also take the gradient of micro-batch {}", rank_, toText(a), open.back());
    }
    return Status::ok();
  }
  Status takeStep(const Action& a, std::size_t position) {
    StageState& state = stages_[a.stage];
    if (a.version != state.steps + 1) {
      return invalid("rank {}: {} makes version {} of the weights, but the next is {}", rank_, toText(a), a.version,
                     state.steps + 1);
    }
    if (Status status = takesExactly(a); !status.isOk()) return status;
    state.open.clear();
    state.covered = a.micro_batch;
    ++state.steps;
    return countVersions(a, position);
  }

  Status useVersion(const Action& a, std::size_t position) {
    if (a.version < 0 || a.version > stages_[a.stage].steps) {
      return invalid("rank {}: {} uses version {} of the weights, which is not made yet", rank_, toText(a), a.version);
    }
    return countVersions(a, position);
  }
  /// Counts the versions alive: the newest, and every older one that is used at or after `position`.
  Status countVersions(const Action& a, std::size_t position) {
    const int newest = stages_[a.stage].steps;
    int alive = 1;
    for (const auto& [version, last] : last_use_[a.stage])
      alive += version < newest && last >= position ? 1 : 0;
    while (!last_use_[a.stage].empty() && last_use_[a.stage].begin()->second < position)
      last_use_[a.stage].erase(last_use_[a.stage].begin());
    live_versions_ = std::max(live_versions_, alive);
    if (limits_.versions > 0 && alive > limits_.versions) {
      return invalid("rank {}: at {}, {} versions of the weights are alive, more than the limit of {}", rank_,
                     toText(a), alive, limits_.versions);
    }
    return Status::ok();
  }

  Status hold(const Action& a) {
    peak_ = std::max(peak_, ++held_);
    if (limits_.activations > 0 && held_ > limits_.activations) {
      return invalid("rank {}: at {}, {} activations are held, more than the limit of {}", rank_, toText(a), held_,
                     limits_.activations);
    }
    return Status::ok();
  }

  /// Whether an action of the list recomputes it.
  bool isRecomputed(const Action& a) {
    if (recomputed_.empty()) {
      recomputed_.assign(progress_.size(), false);
      for (const Action& other : s_.per_rank[static_cast<std::size_t>(rank_)]) {
        if (other.kind != Kind::recompute) continue;
        recomputed_[static_cast<std::size_t>(&of(other) - progress_.data())] = true;
      }
    }
    return recomputed_[static_cast<std::size_t>(&of(a) - progress_.data())];
  }
  /// Whether the micro-batch runs in this chain: with several chains it runs in one of them; checkEnd of the other
  /// chains finds a missing one.
  bool runsHere(int stage, int k) { return s_.chains.size() == 1 || of(stage, k).forward; }

  Status checkEnd() {
    for (int stage = 0; stage < s_.stages(); ++stage) {
      if (s_.stage_rank[static_cast<std::size_t>(stage)] != rank_) continue;
      for (int k = 0; k < s_.micro_batches; ++k) {
        if (Status status = checkComplete(stage, k); !status.isOk()) return status;
      }
      if (!stages_[static_cast<std::size_t>(stage)].open.empty()) {
        return invalid("rank {}: no step of stage {} takes the gradient of micro-batch {}", rank_, stage,
                       stages_[static_cast<std::size_t>(stage)].open.front());
      }
    }
    return Status::ok();
  }
  Status checkComplete(int stage, int k) {
    const Progress& p = of(stage, k);
    const StagePlace& place = places_[static_cast<std::size_t>(stage)];
    if (!runsHere(stage, k)) return Status::ok();
    const auto missing = [&](const char* what) {
      return invalid("rank {}: stage {} has no {} of micro-batch {}", rank_, stage, what, k);
    };
    if (!p.forward) return missing("forward");
    if (!p.inputDone()) return missing("backward");
    if (!p.weightDone()) return missing("weight gradient");
    if (isRemote(stage, place.next) && !p.sent_forward) return missing("send of the output");
    if (isRemote(stage, place.previous) && !p.sent_backward) return missing("send of the input's gradient");
    return Status::ok();
  }

  const Schedule& s_;
  std::vector<StagePlace> places_;
  int rank_;
  CheckLimits limits_;
  std::vector<StageState> stages_;
  std::vector<Progress> progress_;                   ///< [stage * micro_batches + micro_batch]
  std::vector<std::map<int, std::size_t>> last_use_; ///< [stage] version -> position of its last use
  std::vector<bool> recomputed_;
  int held_ = 0;
  int peak_ = 0;
  int live_versions_ = 0;
};

/// Checks that every micro-batch is in exactly one chain, on all its stages.
Status checkChains(const Schedule& s) {
  std::vector<int> chain_of(static_cast<std::size_t>(s.micro_batches), -1);
  std::vector<int> stages_done(chain_of.size(), 0);
  for (const auto& order : s.per_rank) {
    for (const Action& a : order) {
      if (a.kind != Kind::forward) continue;
      const auto k = static_cast<std::size_t>(a.micro_batch);
      if (chain_of[k] >= 0 && chain_of[k] != a.chain) {
        return invalid("micro-batch {} runs in chain {} and in chain {}", k, chain_of[k], a.chain);
      }
      chain_of[k] = a.chain;
      ++stages_done[k];
    }
  }
  for (std::size_t k = 0; k < chain_of.size(); ++k) {
    if (chain_of[k] < 0) return invalid("no stage has a forward of micro-batch {}", k);
    const std::size_t stages = s.chains[static_cast<std::size_t>(chain_of[k])].size();
    if (static_cast<std::size_t>(stages_done[k]) != stages) {
      return invalid("micro-batch {} passes {} of {} stages", k, stages_done[k], stages);
    }
  }
  return Status::ok();
}

using Message = std::tuple<bool, int, int>; ///< (forward, receiving stage, micro-batch)

/// Checks that, between two ranks, receives come in the order of the sends.
Status checkPairs(const Schedule& s, std::size_t& messages) {
  const std::vector<StagePlace> places = stagePlaces(s);
  std::map<std::pair<int, int>, std::pair<std::vector<Message>, std::vector<Message>>> pairs;
  for (int rank = 0; rank < s.ranks; ++rank) {
    for (const Action& a : s.per_rank[static_cast<std::size_t>(rank)]) {
      if (!isSend(a.kind) && !isRecv(a.kind)) continue;
      const bool is_forward = a.kind == Kind::sendForward || a.kind == Kind::recvForward;
      const bool is_toward_next = a.kind == Kind::sendForward || a.kind == Kind::recvBackward;
      const int other = is_toward_next ? places[a.stage].next : places[a.stage].previous;
      const int other_rank = s.stage_rank[static_cast<std::size_t>(other)];
      if (isSend(a.kind)) {
        pairs[{rank, other_rank}].first.emplace_back(is_forward, other, a.micro_batch);
        ++messages;
      } else {
        pairs[{other_rank, rank}].second.emplace_back(is_forward, a.stage, a.micro_batch);
      }
    }
  }
  for (const auto& [ranks, both] : pairs) {
    const auto& [sent, received] = both;
    for (std::size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
      if (i < sent.size() && i < received.size() && sent[i] == received[i]) continue;
      return invalid("message {} from rank {} to rank {} is not the one that is received there: {} sends, {} receives",
                     i, ranks.first, ranks.second, sent.size(), received.size());
    }
  }
  return Status::ok();
}

} // namespace

Result<CheckReport> check(const Schedule& schedule, const CheckLimits& limits) {
  CheckReport report;
  if (Status status = checkShape(schedule); !status.isOk()) return status;
  if (Status status = checkActions(schedule); !status.isOk()) return status;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    RankChecker checker(schedule, rank, limits);
    if (Status status = checker.run(); !status.isOk()) return status;
    report.peak_activations.push_back(checker.peakActivations());
    report.live_versions.push_back(checker.liveVersions());
  }
  if (Status status = checkChains(schedule); !status.isOk()) return status;
  if (Status status = checkPairs(schedule, report.messages); !status.isOk()) return status;
  if (Status status = walk(schedule, [](int, const Action&) {}); !status.isOk()) return status;
  return report;
}

} // namespace goss::pipeline

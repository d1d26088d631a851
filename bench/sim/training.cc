#include "bench/sim/training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "bench/sim/recovery.h"
#include "bench/sim/simulated_abi.h"
#include "sync/methods.h"
#include "sync/synchronizer.h"

namespace goss::bench::sim {

namespace {

/// Tensors of a rank. Each has kTensorElems elements where gradients are exchanged in buckets, which then hold one.
constexpr std::size_t kMaxTensors = 8;
constexpr std::size_t kTensorElems = 256; // 1 KiB, the smallest bucket
constexpr std::size_t kFewElems = 8;
constexpr std::size_t kDrawnRanks = 32;
/// The part of a step's time that the backward pass takes; it follows the forward pass.
constexpr double kBackwardPart = 2.0 / 3;

/// Small tensors that represent the model, and the spec, with a bucket size that gives as many buckets as tensors.
struct StandIn {
  std::string spec;
  std::size_t tensors = 1;
  std::size_t elems = kFewElems;
  [[nodiscard]] double scale(double parameters) const { return parameters / static_cast<double>(tensors * elems); }
};

Result<StandIn> standInFor(const TrainingOptions& options) {
  Result<sync::Made> made = sync::makeComposition(options.sync);
  if (!made.isOk()) return made.status();
  const sync::Composition& composition = made.value().composition;
  if (composition.tuning.has_value())
    return Status::error(GOSS_ERR_UNSUPPORTED, "'auto' measures real time; give goss-sim the methods that it tries");
  StandIn model{made.value().spec, kMaxTensors};
  if (composition.layout.fragments > kMaxTensors) model.tensors = composition.layout.fragments;
  const std::size_t at = model.spec.find("bucket_kb=");
  if (at == std::string::npos) return model;
  const double buckets = 4 * options.parameters / static_cast<double>(composition.layout.bucket_bytes);
  model.tensors = static_cast<std::size_t>(std::clamp(std::ceil(buckets), 1.0, double{kMaxTensors}));
  model.elems = kTensorElems;
  model.spec.replace(at, model.spec.find_first_of(",", at) - at, "bucket_kb=1");
  return model;
}

class Training {
 public:
  Training(Sites sites, const TrainingOptions& options, StandIn model)
      : options_(options),
        model_(std::move(model)),
        cluster_(std::move(sites), {options.seed, model_.scale(options.parameters), options.silence_s},
                 [this](int rank) { runRank(rank); }),
        random_(options.seed ^ 0x5eed) {
    const int ranks = cluster_.network().sites().ranks();
    slowdown_.assign(at(ranks), 1);
    for (auto slow = static_cast<int>(std::lround(options.straggling * ranks)); slow > 0;) {
      double& one = slowdown_[random_.below(slowdown_.size())];
      if (options.slowdown > 1 && one > 1) continue;
      one = options.slowdown;
      --slow;
    }
    result_.timelines.resize(std::min<std::size_t>(kDrawnRanks, static_cast<std::size_t>(ranks)));
    computed_s_.resize(static_cast<std::size_t>(ranks));
    ended_s_.resize(static_cast<std::size_t>(ranks));
    has_ended_.resize(static_cast<std::size_t>(ranks));
    saved_.resize(static_cast<std::size_t>(ranks));
    world_ = cluster_.makeGroup(cluster_.living());
    if (options.churn_per_s > 0) planNextDeath();
  }

  Result<TrainingResult> run() {
    const bool ended = cluster_.loop().run();
    if (!failure_.isOk()) return failure_;
    if (!ended) return Status::error(GOSS_ERR_INTERNAL, "the simulated ranks wait for each other for ever");
    double lived_s = 0;
    double computed_s = 0;
    for (std::size_t rank = 0; rank < ended_s_.size(); ++rank) {
      result_.time_s = std::max(result_.time_s, ended_s_[rank]);
      lived_s += ended_s_[rank];
      computed_s += computed_s_[rank];
    }
    result_.utilisation = lived_s > 0 ? computed_s / lived_s : 0;
    result_.survivors = static_cast<int>(cluster_.living().size());
    result_.traffic = cluster_.traffic();
    return std::move(result_);
  }

 private:
  double draw() { return random_.unit(); }
  [[nodiscard]] double now() { return cluster_.loop().now_s(); }

  void planNextDeath() {
    const std::vector<int> living = cluster_.living();
    if (living.size() < 2 || done_) return;
    const double gap_s = -std::log1p(-draw()) / (options_.churn_per_s * static_cast<double>(living.size()));
    cluster_.loop().at(now() + gap_s, [this] {
      const std::vector<int> left = cluster_.living();
      if (left.size() > 1 && !done_) {
        die(left[static_cast<std::size_t>(draw() * static_cast<double>(left.size()))]);
        planNextDeath();
      }
    });
  }

  void die(int rank) {
    gone_.push_back(rank);
    cluster_.kill(rank);
    ended_s_[at(rank)] = now();
    leave(rank);
  }

  /// A shrinking communicator no longer waits for the rank.
  void leave(int rank) {
    if (shrinking_ == nullptr || shrinking_->has_called[at(rank)]) return;
    if (--shrinking_->waits_for == 0) shrink();
  }

  void note(int rank, double from_s, Interval::Kind kind) {
    if (static_cast<std::size_t>(rank) < result_.timelines.size() && now() > from_s)
      result_.timelines[static_cast<std::size_t>(rank)].push_back({from_s, now(), kind});
  }

  /// A rank's whole life.
  void runRank(int rank) {
    std::uint64_t step = 0;
    while (!cluster_.isDead(rank)) {
      const std::shared_ptr<Group> group = world_;
      const Status status = runSteps(rank, group, step);
      if (status.isOk() || cluster_.isDead(rank)) break;
      if (group->failure.kind() != GOSS_ERR_PEER_LOST) return fail(status);
      const double from_s = now();
      if (!awaitShrink(rank)) return;
      note(rank, from_s, Interval::Kind::recovering);
      step = resumed_step_;
    }
    if (cluster_.isDead(rank)) return;
    ended_s_[at(rank)] = now();
    has_ended_[at(rank)] = true;
    done_ = true;
    leave(rank);
  }

  void fail(const Status& status) {
    if (failure_.isOk()) failure_ = status;
  }

  struct Vectors {
    std::vector<std::vector<float>> parameters, gradients;
  };

  Status runSteps(int rank, const std::shared_ptr<Group>& group, std::uint64_t& step) {
    const auto& ranks = group->world_ranks;
    const auto place = std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin();
    const std::unique_ptr<goss_comm, goss_status (*)(goss_comm_t)> comm(
        makeCommunicator(cluster_, group, static_cast<int>(place)), goss_comm_destroy);
    const auto codec = [this](std::string_view spec) -> Result<Compression> {
      const auto found = cluster_.network().codec(spec);
      if (!found.isOk()) return found.status();
      return found.value()->contribution;
    };
    Vectors model; // outlives the synchronizer
    auto made = sync::Synchronizer::create(comm.get(), model_.spec, codec, std::chrono::milliseconds(0));
    if (!made.isOk()) return made.status();
    const std::unique_ptr<sync::Synchronizer> sync = made.take();
    model.parameters.assign(model_.tensors, std::vector<float>(model_.elems, 1.0f));
    model.gradients.assign(model_.tensors, std::vector<float>(model_.elems));
    for (std::size_t i = 0; i < model_.tensors; ++i) {
      const auto added =
          sync->add({std::to_string(i), model.parameters[i], model.gradients[i], static_cast<std::int32_t>(i)});
      if (!added.isOk()) return added.status();
    }
    if (const auto saved = saved_[at(rank)].find(step); step > 0 && saved != saved_[at(rank)].end()) {
      const std::string_view own = saved->second;
      if (const auto imported = sync->importAll({&own, 1}); !imported.isOk()) return imported.status();
    }
    if (Status status = sync->start(); !status.isOk()) return status;
    begun(step);
    for (; step < options_.steps; ++step) {
      if (Status status = oneStep(rank, *sync, model); !status.isOk()) return status;
      std::vector<double>& ends_s = result_.step_ends_s;
      if (ends_s.size() <= step) ends_s.resize(step + 1);
      ends_s[step] = std::max(ends_s[step], now());
      if (Status status = save(rank, *sync, step + 1); !status.isOk()) return status;
    }
    return Status::ok();
  }

  /// Keeps the synchronizer's state, and the one before: another rank may have died before it saved.
  Status save(int rank, sync::Synchronizer& sync, std::uint64_t done) {
    if (options_.churn_per_s == 0 || done % options_.checkpoint != 0) return Status::ok();
    Result<std::string> state = sync.exportState();
    if (!state.isOk()) return state.status();
    std::map<std::uint64_t, std::string>& kept = saved_[at(rank)];
    kept[done] = state.take();
    if (kept.size() > 2) kept.erase(kept.begin());
    return Status::ok();
  }
  [[nodiscard]] std::uint64_t lastSaved(int rank) const {
    const auto& kept = saved_[at(rank)];
    return kept.empty() ? 0 : kept.rbegin()->first;
  }

  void begun(std::uint64_t step) {
    if (step == 0 && result_.recoveries == 0) result_.start_s = std::max(result_.start_s, now());
    if (recovering_since_s_ >= 0) result_.recovering_s += now() - recovering_since_s_;
    recovering_since_s_ = -1;
  }

  Status oneStep(int rank, sync::Synchronizer& sync, Vectors& model) {
    const Result<bool> computes = sync.computes();
    if (!computes.isOk()) return computes.status();
    double waited_from_s = now();
    if (computes.value()) {
      const double step_s = options_.step_s * slowdown_[at(rank)] * (1 + options_.step_jitter * draw());
      if (Status status = sync.tellStepTime(step_s); !status.isOk()) return status;
      const double began_s = now();
      const bool in_buckets = sync.info().gradients != 0; // else nothing leaves during the backward pass
      compute(rank, step_s * (in_buckets ? 1 - kBackwardPart : 1));
      for (std::size_t i = model_.tensors; i-- > 0;) {
        if (in_buckets) compute(rank, step_s * kBackwardPart / static_cast<double>(model_.tensors));
        std::fill(model.gradients[i].begin(), model.gradients[i].end(), 1e-3f * static_cast<float>(rank % 7));
        if (Status status = sync.gradientReady(static_cast<std::int32_t>(i)); !status.isOk()) return status;
      }
      note(rank, began_s, Interval::Kind::computing);
      if (cluster_.isDead(rank)) return Status::error(GOSS_ERR_PEER_LOST, "this rank has died");
      waited_from_s = now();
      if (Status status = sync.gradients(); !status.isOk()) return status;
      for (std::size_t i = 0; i < model_.tensors; ++i)
        for (std::size_t k = 0; k < model_.elems; ++k)
          model.parameters[i][k] -= 1e-3f * model.gradients[i][k];
      ++result_.steps_computed;
    }
    const Status status = sync.step();
    note(rank, waited_from_s, Interval::Kind::waiting);
    return status;
  }

  void compute(int rank, double seconds) {
    if (cluster_.isDead(rank)) return;
    const double from_s = now();
    cluster_.loop().sleepUntil(from_s + seconds);
    computed_s_[at(rank)] += now() - from_s;
  }

  struct Shrinking {
    std::vector<bool> has_called; ///< By world rank.
    int waits_for = 0;
    std::uint64_t step = 0; ///< The latest that all have saved.
    std::vector<int> waiting = {};
  };

  [[nodiscard]] std::vector<int> goingOn() const {
    std::vector<int> ranks;
    for (const int rank : world_->world_ranks)
      if (!cluster_.isDead(rank) && !has_ended_[at(rank)]) ranks.push_back(rank);
    return ranks;
  }

  /// goss_comm_shrink: ends when all that go on have called it and agreed. False: the rank has died, or the run ends.
  bool awaitShrink(int rank) {
    if (shrinking_ == nullptr) {
      shrinking_ = std::make_unique<Shrinking>(
          Shrinking{std::vector<bool>(slowdown_.size()), static_cast<int>(goingOn().size()), lastSaved(rank)});
      recovering_since_s_ = now();
    }
    shrinking_->has_called[at(rank)] = true;
    shrinking_->step = std::min(shrinking_->step, lastSaved(rank));
    shrinking_->waiting.push_back(rank);
    if (--shrinking_->waits_for == 0) shrink();
    cluster_.loop().block();
    return !cluster_.isDead(rank) && failure_.isOk();
  }

  void shrink() {
    const std::unique_ptr<Shrinking> ended = std::move(shrinking_);
    const AgreementCost cost = agree(cluster_.network(), world_->world_ranks, gone_);
    if (!cost.goes_on) fail(Status::error(GOSS_ERR_PEER_LOST, "too few ranks are left to go on (docs/shrink.md)"));
    ++result_.recoveries;
    result_.agreement_messages += cost.messages;
    resumed_step_ = ended->step;
    gone_.clear();
    world_ = cluster_.makeGroup(goingOn());
    for (const int rank : ended->waiting)
      cluster_.loop().wake(rank, now() + cost.time_s);
  }

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  TrainingOptions options_;
  StandIn model_;
  Cluster cluster_;
  base::SplitMix64 random_;
  std::vector<double> slowdown_, computed_s_, ended_s_; // by rank
  std::shared_ptr<Group> world_;
  std::vector<bool> has_ended_;                             // by rank: it has made all steps
  std::vector<std::map<std::uint64_t, std::string>> saved_; // by rank, by steps done
  std::vector<int> gone_;                                   // since the last agreement
  std::unique_ptr<Shrinking> shrinking_;                    ///< Null: no communicator shrinks.
  double recovering_since_s_ = -1;
  std::uint64_t resumed_step_ = 0;
  bool done_ = false;
  Status failure_;
  TrainingResult result_;
};

} // namespace

Result<TrainingResult> train(Sites sites, const TrainingOptions& options) {
  Result<StandIn> model = standInFor(options);
  if (!model.isOk()) return model.status();
  return Training(std::move(sites), options, model.take()).run();
}

} // namespace goss::bench::sim

#include "trainer/run/run_checkpoints.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/files/pretrained.h"

namespace goss::trainer {

namespace {

/// Bytes of the parameters and two moments; states of synchronizers come on top.
std::size_t bytesOf(const ParameterTable& table) { return 3 * table.count() * sizeof(float); }

void moveText(Group& group, std::string& text, int peer, Group::Direction direction) {
  std::uint64_t bytes = text.size();
  group.move(&bytes, sizeof bytes, peer, direction);
  text.resize(bytes);
  group.move(text.data(), bytes, peer, direction);
}

void moveRank(Group& group, RankState& rank, int peer, Group::Direction direction) {
  moveText(group, rank.sync, peer, direction);
  moveText(group, rank.activations, peer, direction);
}

std::string_view methodOf(std::string_view spec) { return spec.substr(0, spec.find(':')); }

} // namespace

bool areEqual(Group& group, const std::vector<float>& vector) {
  return group.allEqual(XXH3_64bits(vector.data(), vector.size() * sizeof(float)));
}

void moveVectors(Group& group, ReplicaState& replica, int peer, Group::Direction direction) {
  for (std::vector<float>* vector : {&replica.parameters, &replica.first_moments, &replica.second_moments})
    group.move(vector->data(), vector->size() * sizeof(float), peer, direction);
}

RunCheckpoints::RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report)
    : options_(options), table_(table), group_(group), report_(report) {
  if (group.rank() != 0 || options.checkpoint.empty()) return;
  writer_.emplace(CheckpointStore(options.checkpoint, options.keep), options.model, table);
}

/// Rank 0 checks that the directory can hold a checkpoint of this model, and loads the latest one if there is one and
/// --resume was given, or else takes --init's parameters or makes the seed's. The other ranks get vectors of the same
/// sizes.
TrainingState RunCheckpoints::load(const std::string& settings) {
  TrainingState state;
  state.first_moments.resize(table_.count());
  state.second_moments.resize(table_.count());
  // The other ranks get rank 0's where theirs differ.
  state.parameters = options_.init.empty() || group_.rank() != 0
                         ? table_.initialValues(options_.seed)
                         : readPretrainedWeights(options_.init, options_.model, table_);
  if (writer_) writer_->store().prepare(bytesOf(table_));
  if (!writer_ || !options_.resume) return state;
  std::optional<LoadedCheckpoint> loaded = writer_->store().loadLatest(options_.model, table_);
  if (!loaded) {
    report_.note(fmt::format("no checkpoint in {} yet: starting from step 0", options_.checkpoint));
    return state;
  }
  for (const std::string& text : loaded->damaged)
    report_.note(fmt::format("note: {}; going back to an earlier checkpoint", text));
  report_.note(fmt::format("resumed from step {} of {}", loaded->state.step, options_.checkpoint));
  if (loaded->state.settings != settings)
    report_.note(fmt::format("note: the checkpoint was written with other settings: {}", loaded->state.settings));
  return std::move(loaded->state);
}

RunCheckpoints::Start RunCheckpoints::start(const std::string& settings, const std::string& sync,
                                            const std::string& grid) {
  TrainingState state = load(settings);
  const bool has_all = state.ranks.size() * (state.others.size() + 1) == static_cast<std::size_t>(group_.size());
  const bool is_own = has_all && state.sync == sync && state.grid == grid;
  if (is_own && !haveEqualSamples(state.settings, settings)) forgetActivations(state, "with other samples");
  std::vector<std::string> inherited;
  if (!is_own && !(state.ranks.empty() && state.others.empty())) inherited = share(state, sync);
  std::uint64_t head[] = {state.step, writer_ ? 1u : 0u, is_own ? 1u : 0u, inherited.size()};
  group_.broadcast(head, sizeof head);
  saved_step_ = head[0];
  saves_ = head[1] != 0;
  inherited.resize(head[3]);
  for (std::string& text : inherited) {
    std::uint64_t bytes = text.size();
    group_.broadcast(&bytes, sizeof bytes);
    text.resize(bytes);
    group_.broadcast(text.data(), bytes);
  }
  Start mine;
  mine.step = saved_step_;
  mine.sync = {std::move(inherited), false};
  distribute(state, head[2] != 0, mine);
  return mine;
}

/// Gives every rank the one state, or its own.
void RunCheckpoints::distribute(TrainingState& state, bool is_own, Start& mine) {
  std::uint64_t differ = state.others.empty() ? 0 : 1;
  group_.broadcast(&differ, sizeof differ);
  const std::size_t ranks = state.ranks.size(); // ranks of a copy
  for (int peer = 1; differ != 0 && group_.rank() == 0 && peer < group_.size(); ++peer) {
    const std::size_t copy = static_cast<std::size_t>(peer) / ranks;
    moveVectors(group_, copy == 0 ? state : state.others[copy - 1], peer, Group::Direction::fromRoot);
  }
  if (differ != 0 && group_.rank() != 0) moveVectors(group_, state, group_.rank(), Group::Direction::fromRoot);
  if (differ == 0) {
    // In a new run all ranks have made the same parameters of the seed, and moments of zero.
    for (std::vector<float>* vector : {&state.parameters, &state.first_moments, &state.second_moments}) {
      if (!areEqual(group_, *vector)) group_.broadcast(vector->data(), vector->size() * sizeof(float));
    }
  }
  if (is_own) {
    RankState own;
    for (int peer = 1; group_.rank() == 0 && peer < group_.size(); ++peer) {
      const auto rank = static_cast<std::size_t>(peer);
      ReplicaState& copy = rank < ranks ? state : state.others[rank / ranks - 1];
      moveRank(group_, copy.ranks[rank % ranks], peer, Group::Direction::fromRoot);
    }
    if (group_.rank() == 0) {
      own = std::move(state.ranks.front());
    } else {
      moveRank(group_, own, group_.rank(), Group::Direction::fromRoot);
    }
    mine.activations = std::move(own.activations);
    mine.sync.is_own = true;
    if (!own.sync.empty()) mine.sync.states = {std::move(own.sync)};
  }
  state.ranks.clear();
  mine.model = std::move(state);
}

void RunCheckpoints::gatherRanks(RankState mine, const std::vector<ReplicaState*>& replicas) {
  if (group_.rank() != 0) return moveRank(group_, mine, group_.rank(), Group::Direction::toRoot);
  const std::size_t ranks = static_cast<std::size_t>(group_.size()) / replicas.size();
  for (ReplicaState* replica : replicas)
    replica->ranks.resize(ranks);
  replicas.front()->ranks.front() = std::move(mine);
  for (int peer = 1; peer < group_.size(); ++peer) {
    const auto rank = static_cast<std::size_t>(peer);
    moveRank(group_, replicas[rank / ranks]->ranks[rank % ranks], peer, Group::Direction::toRoot);
  }
}

void RunCheckpoints::save(std::size_t step, TrainingState state) {
  saved_step_ = step;
  if (!writer_) return;
  finish();
  writer_->start(std::move(state));
}

void RunCheckpoints::poll() {
  if (!writer_) return;
  if (const std::optional<std::size_t> step = writer_->poll()) report_.checkpoint(*step);
}

void RunCheckpoints::finish() {
  if (!writer_) return;
  if (const std::optional<std::size_t> step = writer_->finish()) report_.checkpoint(*step);
}

void RunCheckpoints::forgetActivations(TrainingState& state, const std::string& of) {
  bool has_any = false;
  const auto forget = [&](ReplicaState& replica) {
    for (RankState& rank : replica.ranks) {
      has_any = has_any || !rank.activations.empty();
      rank.activations.clear();
    }
  };
  forget(state);
  std::ranges::for_each(state.others, forget);
  if (!has_any) return;
  report_.note(
      fmt::format("note: the checkpoint is {}: its activations are of no use here, and every sample's next "
                  "visit is sent whole",
                  of));
}

/// Turns a state in which copies differ into one that all ranks share. Returns what the synchronizers of all ranks
/// kept.
std::vector<std::string> RunCheckpoints::share(TrainingState& state, const std::string& sync) {
  std::vector<std::string> kept;
  forgetActivations(state, "of " + state.grid);
  const auto take = [&](ReplicaState& replica) {
    for (RankState& rank : replica.ranks)
      if (!rank.sync.empty()) kept.push_back(std::move(rank.sync));
    replica.ranks.clear();
  };
  take(state);
  for (ReplicaState& other : state.others)
    take(other);
  if (!kept.empty()) {
    const bool is_kin = methodOf(state.sync) == methodOf(sync);
    report_.note(
        fmt::format("note: the checkpoint is of {} with '{}': all ranks go on from the mean of their "
                    "parameters and moments; what its synchronizer kept is {}",
                    state.grid, state.sync, is_kin ? "cut anew" : "reset"));
    if (!is_kin) kept.clear();
  }
  for (std::vector<float> ReplicaState::*vector :
       {&ReplicaState::parameters, &ReplicaState::first_moments, &ReplicaState::second_moments}) {
    std::vector<float>& mean = state.*vector;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double sum = mean[i]; // exact for equal values, and so is the mean
      for (const ReplicaState& other : state.others)
        sum += (other.*vector)[i];
      mean[i] = static_cast<float>(sum / static_cast<double>(state.others.size() + 1));
    }
  }
  state.others.clear();
  return kept;
}

} // namespace goss::trainer
